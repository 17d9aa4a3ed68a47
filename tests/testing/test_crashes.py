"""Savers that die at a chosen moment, and the proof that a graph recovers from all of them."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from checkpoint.savers import open_saver
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import START, StateGraph
from stepgraph.testing import SimulatedCrash, assert_recovers, crash_after

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with open_saver(request.param, tmp_path) as face:
        yield face.saver


def a_graph(saver: Any, ran: list[str] | None = None) -> Any:
    """a, then b and c together, then d."""
    builder = StateGraph(State)

    def node(name: str) -> Any:
        def work(state: State) -> State:
            if ran is not None:
                ran.append(name)
            return {"log": [name]}

        return work

    for name in "abcd":
        builder.add_node(name, node(name))
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("a", "c").add_edge(["b", "c"], "d")
    return builder.compile(saver)


def die(saver: Any, use: str = "invoke", durability: Any = "sync", **moment: Any) -> None:
    graph = a_graph(crash_after(saver, **moment))
    with pytest.raises(SimulatedCrash):
        if use == "invoke":
            graph.invoke({}, THREAD, durability=durability)
        else:
            asyncio.run(graph.ainvoke({}, THREAD, durability=durability))


@pytest.mark.parametrize("use", ["invoke", "ainvoke"])
@pytest.mark.parametrize("durability", ["sync", "async"])
def test_after_a_step_that_step_is_the_newest(saver: Any, use: str, durability: str) -> None:
    die(saver, use, durability, step=1)
    found = a_graph(saver).get_state(THREAD)
    assert (found.metadata["step"], found.values, found.next) == (1, {"log": ["a"]}, ("b", "c"))


@pytest.mark.parametrize("use", ["invoke", "ainvoke"])
def test_after_a_task_of_a_parallel_step_that_task_does_not_run_again(use: str, tmp_path: Path) -> None:
    with open_saver("sqlite", tmp_path) as face:
        die(face.saver, use, tasks=1)
        ran: list[str] = []
        assert a_graph(face.saver, ran).invoke(None, THREAD) == {"log": ["a", "b", "c", "d"]}
    assert sorted(ran) in (["b", "d"], ["c", "d"])


def test_before_the_first_save_nothing_is_stored(saver: Any) -> None:
    die(saver, saves=0)
    assert saver.get_tuple(THREAD) is None


def test_the_saver_that_was_given_lives_on(saver: Any) -> None:
    mortal = crash_after(saver, saves=0)
    assert isinstance(mortal, type(saver))
    assert a_graph(saver).invoke({}, THREAD)["log"] == ["a", "b", "c", "d"]
    assert a_graph(mortal).get_state(THREAD).values["log"] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("moment", [{}, {"saves": 1, "step": 1}])
def test_one_moment_has_to_be_chosen(moment: Any) -> None:
    with pytest.raises(ValueError, match="Choose one moment"):
        crash_after(InMemorySaver(), **moment)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_sound_graph_recovers_from_every_moment(saver: Any, durability: str) -> None:
    runs = iter(range(1000))

    def fresh() -> Any:
        for found in list(saver.list(None)):
            saver.delete_thread(found.config["configurable"]["thread_id"])
        next(runs)
        return saver

    moments = assert_recovers(a_graph, {}, make_saver=fresh, durability=durability)
    assert next(runs) == moments + 1
    assert moments >= (1 if durability == "exit" else 4)


def test_a_graph_that_remembers_outside_of_its_state_does_not_recover() -> None:
    def build(saver: Any) -> Any:
        seen: list[str] = []

        def count(state: State) -> State:
            seen.append("x")
            return {"log": [f"{len(seen)}"]}

        builder = StateGraph(State).add_node("a", count).add_node("b", count)
        return builder.add_edge(START, "a").add_edge("a", "b").compile(saver)

    with pytest.raises(AssertionError, match="Does a node depend on something that is not in the state"):
        assert_recovers(build, {})
