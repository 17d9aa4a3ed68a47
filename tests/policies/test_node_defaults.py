"""`set_node_defaults`: policies for every node that has none of its own."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.cache.memory import InMemoryCache
from stepgraph.errors import NodeError
from stepgraph.graph import START, StateGraph
from stepgraph.types import CachePolicy, RetryPolicy

from .conftest import Runner


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def fails(state: State) -> State:
    raise ConnectionError("no")


def default(state: State, error: NodeError) -> State:
    return {"log": [f"default {error.node}"]}


def own(state: State, error: NodeError) -> State:
    return {"log": [f"own {error.node}"]}


@pytest.mark.parametrize("first", [True, False], ids=["before the nodes", "after the nodes"])
def test_defaults_serve_nodes_without_policies(runner: Runner, first: bool) -> None:
    builder = StateGraph(State)
    retry = RetryPolicy(max_attempts=4)
    if first:
        builder.set_node_defaults(error_handler=default, retry_policy=retry)
    builder.add_node("a", runner.node(fails)).add_edge(START, "a")
    builder.add_node("b", runner.node(fails), error_handler=own, retry_policy=RetryPolicy(max_attempts=2))
    builder.add_edge(START, "b")
    if not first:
        builder.set_node_defaults(error_handler=default, retry_policy=retry)
    graph = builder.compile()
    assert runner.invoke(graph, {"log": []}) == {"log": ["default a", "own b"]}
    assert len(runner.clock.slept) == 3 + 1


def test_a_default_handler_is_tried_again_but_not_handled(runner: Runner) -> None:
    runs = []

    def breaks(state: State, error: NodeError) -> State:
        runs.append(error.node)
        raise ConnectionError("handler")

    builder = StateGraph(State).add_node("a", runner.node(fails)).add_edge(START, "a")
    builder.set_node_defaults(error_handler=runner.node(breaks), retry_policy=RetryPolicy(max_attempts=2))
    with pytest.raises(ConnectionError, match="handler"):
        runner.invoke(builder.compile(), {"log": []})
    assert runs == ["a", "a"]


def test_a_default_cache_policy_and_time_limit_serve_all_nodes(runner: Runner) -> None:
    builder = StateGraph(State).add_node("a", runner.node(lambda state: {"log": ["a"]})).add_edge(START, "a")
    builder.set_node_defaults(cache_policy=CachePolicy(), timeout=60)
    graph = builder.compile(cache=InMemoryCache())
    policy = graph.plan.nodes["a"].policy
    assert policy is not None
    assert policy.timeout is not None
    assert policy.timeout.run_timeout == 60
    runner.invoke(graph, {"log": []})
    (part,) = runner.stream(graph, {"log": []}, stream_mode="updates")
    assert part == {"a": {"log": ["a"]}, "__metadata__": {"cached": True}}


def test_a_default_handler_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match="error_handler of every node"):
        StateGraph(State).set_node_defaults(error_handler="fails")
