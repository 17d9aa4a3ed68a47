"""An orderly stop: at the border of a superstep, with everything stored, at any depth."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import GraphDrained
from stepgraph.graph import START, StateGraph
from stepgraph.runtime import RunControl, Runtime

from .conftest import Runner, chain, thread


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def stops(state: State, runtime: Runtime) -> State:
    assert runtime.control is not None
    runtime.control.request_drain("maintenance")
    return {"log": ["stops"]}


def after(state: State) -> State:
    return {"log": ["after"]}


def test_the_run_stops_at_the_next_border_and_goes_on_later(runner: Runner) -> None:
    graph = chain(State, runner.node(stops), runner.node(after)).compile(InMemorySaver())
    with pytest.raises(GraphDrained, match="maintenance") as raised:
        runner.invoke(graph, {"log": []}, thread(), control=RunControl())
    assert raised.value.reason == "maintenance"
    state = graph.get_state(thread())
    assert (state.values, state.next) == ({"log": ["stops"]}, ("after",))
    assert runner.invoke(graph, None, thread()) == {"log": ["stops", "after"]}


def test_a_control_is_there_without_being_given(runner: Runner) -> None:
    graph = chain(State, runner.node(stops), runner.node(after)).compile(InMemorySaver())
    with pytest.raises(GraphDrained):
        runner.invoke(graph, {"log": []}, thread())
    assert graph.get_state(thread()).next == ("after",)


def test_a_drain_asked_for_by_a_node_stops_a_run_that_stores_nothing(runner: Runner) -> None:
    graph = chain(State, runner.node(stops), runner.node(after)).compile()
    with pytest.raises(GraphDrained):
        runner.invoke(graph, {"log": []})


def test_a_request_from_outside_stops_the_run(runner: Runner) -> None:
    control = RunControl()

    def asked(state: State) -> State:
        control.request_drain()
        return {"log": ["asked"]}

    graph = chain(State, runner.node(asked), runner.node(after)).compile(InMemorySaver())
    with pytest.raises(GraphDrained, match="shutdown"):
        runner.invoke(graph, {"log": []}, thread(), control=control)
    assert runner.invoke(graph, None, thread()) == {"log": ["asked", "after"]}


def test_a_run_that_is_at_its_end_ends(runner: Runner) -> None:
    graph = chain(State, runner.node(stops)).compile(InMemorySaver())
    assert runner.invoke(graph, {"log": []}, thread(), control=RunControl()) == {"log": ["stops"]}


def test_a_run_that_was_asked_before_runs_no_node(runner: Runner) -> None:
    control = RunControl()
    control.request_drain("early")
    graph = chain(State, runner.node(after)).compile(InMemorySaver())
    for input in ({"log": []}, None):
        with pytest.raises(GraphDrained, match="early"):
            runner.invoke(graph, input, thread(), control=control)
        assert graph.get_state(thread()).values == {"log": []}
    assert runner.invoke(graph, None, thread()) == {"log": ["after"]}


def test_without_a_saver_the_run_stops_too(runner: Runner) -> None:
    with pytest.raises(GraphDrained):
        runner.invoke(chain(State, runner.node(stops), after).compile(), {"log": []}, control=RunControl())


def nested(runner: Runner) -> Any:
    inner = chain(State, runner.node(stops), runner.node(after)).compile()
    builder = StateGraph(State).add_node("inner", inner).add_node("outer", lambda state: {"log": ["outer"]})
    builder.add_node("sibling", runner.node(lambda state: {"log": ["sibling"]})).add_edge(START, "sibling")
    return builder.add_edge(START, "inner").add_edge("inner", "outer").compile(InMemorySaver())


def test_a_graph_inside_stops_at_its_own_border(runner: Runner) -> None:
    graph = nested(runner)
    with pytest.raises(GraphDrained):
        runner.invoke(graph, {"log": []}, thread(), control=RunControl())
    state = graph.get_state(thread(), subgraphs=True)
    assert (state.values, state.next) == ({"log": ["sibling"]}, ("inner",))
    inside = next(task.state for task in state.tasks if task.name == "inner")
    assert (inside.values, inside.next) == ({"log": ["stops"]}, ("after",))
    assert runner.invoke(graph, None, thread()) == {"log": ["stops", "after", "sibling", "outer"]}


def test_a_stream_shows_what_was_done_and_then_raises(runner: Runner) -> None:
    graph = chain(State, runner.node(stops), runner.node(after)).compile(InMemorySaver())
    parts: list[Any] = []
    with pytest.raises(GraphDrained):
        for part in _iterate(runner, graph):
            parts.append(part)
    assert parts == [{"stops": {"log": ["stops"]}}]


def _iterate(runner: Runner, graph: Any) -> Any:
    if runner.driver == "sync":
        yield from graph.stream({"log": []}, thread(), stream_mode="updates", control=RunControl())
        return
    import asyncio

    loop = asyncio.new_event_loop()
    try:
        stream = graph.astream({"log": []}, thread(), stream_mode="updates", control=RunControl())
        while True:
            try:
                yield loop.run_until_complete(anext(stream))
            except StopAsyncIteration:
                return
    finally:
        loop.close()


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_everything_is_stored_whatever_the_durability(runner: Runner, durability: str) -> None:
    graph = nested(runner)
    with pytest.raises(GraphDrained):
        runner.invoke(graph, {"log": []}, thread(), control=RunControl(), durability=durability)
    final = runner.invoke(graph, None, thread(), durability=durability)
    assert final == {"log": ["stops", "after", "sibling", "outer"]}
