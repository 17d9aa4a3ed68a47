"""A coroutine that calls a graph with `invoke` or `stream` blocks its event loop: what that graph awaits runs elsewhere."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import START, StateGraph

from .both import Face, each_driver


class State(TypedDict, total=False):
    x: int
    y: int
    z: int


async def add_one(state: State) -> State:
    await asyncio.sleep(0)
    return {"x": state["x"] + 1}


async def also(state: State) -> State:
    await asyncio.sleep(0)
    return {"y": 1}


def plain(state: State) -> State:
    return {"z": 1}


def graph_of(*nodes: Callable[..., Any], saver: Any = None) -> Any:
    builder = StateGraph(State)
    for node in nodes:
        builder.add_node(node)
        builder.add_edge(START, node.__name__)
    return builder.compile(saver)


def within_time(work: Callable[[], Any]) -> Any:
    """The result of `work`; a deadlock is a failure, not a test that hangs."""
    held: list[Any] = []
    thread = threading.Thread(target=lambda: held.append(work()), daemon=True)
    thread.start()
    thread.join(60)
    assert held, "the run did not end: it waits for a loop that waits for it"
    return held[0]


@pytest.fixture(autouse=True)
def no_loop_is_left() -> Any:
    yield
    assert [thread for thread in threading.enumerate() if thread.name == "stepgraph-loop"] == []


@each_driver
@pytest.mark.parametrize("saved", [False, True])
def test_a_coroutine_invokes_a_graph_of_coroutines(driver: str, saved: bool) -> None:
    inner = graph_of(add_one)

    async def outer(state: State) -> State:
        return inner.invoke({"x": state["x"]})

    graph = graph_of(outer, saver=InMemorySaver() if saved else None)
    config = {"configurable": {"thread_id": "1"}}
    assert within_time(lambda: Face(graph, driver).invoke({"x": 1}, config)) == {"x": 2}


@each_driver
def test_each_level_at_which_a_coroutine_invokes_has_a_loop_that_is_free(driver: str) -> None:
    inner = graph_of(add_one)

    async def middle(state: State) -> State:
        return inner.invoke({"x": state["x"] + 10})

    middle_graph = graph_of(middle)

    async def outer(state: State) -> State:
        return middle_graph.invoke({"x": state["x"] + 100})

    assert within_time(lambda: Face(graph_of(outer), driver).invoke({"x": 1})) == {"x": 112}


@each_driver
def test_parallel_coroutines_and_functions_of_an_invoked_graph_all_run(driver: str) -> None:
    inner = graph_of(add_one, also, plain)

    async def outer(state: State) -> State:
        return inner.invoke({"x": state["x"]})

    assert within_time(lambda: Face(graph_of(outer), driver).invoke({"x": 1})) == {"x": 2, "y": 1, "z": 1}


@each_driver
@pytest.mark.parametrize("modes", ["updates", ["custom", "updates"]])
def test_a_coroutine_iterates_over_a_graph_of_coroutines_and_awaits_in_between(
    driver: str, modes: Any
) -> None:
    inner = graph_of(add_one, also, plain)

    async def outer(state: State) -> State:
        seen = 0
        for _ in inner.stream({"x": state["x"]}, stream_mode=modes):
            seen += 1
            await asyncio.sleep(0)
        return {"x": seen}

    assert within_time(lambda: Face(graph_of(outer), driver).invoke({"x": 1})) == {"x": 3}
