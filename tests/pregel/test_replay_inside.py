"""Replaying from a checkpoint inside a nested graph forks the thread: it stands where the replay pauses."""

from __future__ import annotations

from typing import Any

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.graph import START, StateGraph
from stepgraph.types import Command

from .both import Face, each_driver, thread
from .test_answers_inside import State, ask, chain, innermost, say


def before(graph: Any, inside: Any, node: str) -> Any:
    """The config of the checkpoint at which `node` of the graph inside is due."""
    level = {key: inside["configurable"][key] for key in ("thread_id", "checkpoint_ns")}
    history = graph.get_state_history({"configurable": level})
    return next(state.config for state in history if state.next == (node,))


@each_driver
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_a_replay_inside_that_pauses_is_answered_through_the_thread(
    driver: str, depth: int, durability: str
) -> None:
    nested = chain(a=say("a"), b=ask("b"), c=say("c"))
    for _ in range(depth - 1):
        nested = chain(inside=nested)
    graph = Face(chain(InMemorySaver(), child=nested, z=say("z")), driver)
    graph.invoke({"log": []}, thread())
    inside = innermost(graph, depth)
    graph.invoke(Command(resume=1), thread())
    asked = graph.invoke(None, before(graph, inside, "a"), durability=durability)["__interrupt__"]
    assert [question.value for question in asked] == ["b"]
    assert graph.get_state(thread()).next == ("child",)
    assert [question.id for question in graph.get_state(thread()).interrupts] == [asked[0].id]
    assert graph.invoke(Command(resume=2), thread())["log"] == ["a", "b=2", "c", "z"]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_siblings_of_what_is_replayed_keep_their_results(kind: str) -> None:
    ran: list[str] = []

    def sibling(state: State) -> State:
        ran.append("sibling")
        return {"log": ["sibling"]}

    with SqliteSaver.from_conn_string(":memory:") as sqlite:
        builder = StateGraph(State).add_node("child", chain(a=say("a"), b=ask("b"))).add_node(sibling)
        builder.add_edge(START, "child").add_edge(START, "sibling")
        graph = builder.compile(sqlite if kind == "sqlite" else InMemorySaver())
        graph.invoke({"log": []}, thread())
        inside = innermost(graph, 1)
        graph.invoke(Command(resume=1), thread())
        graph.invoke(None, before(graph, inside, "a"))
        assert graph.get_state(thread()).next == ("child",)
        assert graph.invoke(Command(resume=2), thread())["log"] == ["a", "b=2", "sibling"]
        assert ran == ["sibling"]
