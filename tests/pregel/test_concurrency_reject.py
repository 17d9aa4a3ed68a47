"""`compile(concurrency="reject")`: a second run of a thread in one process is refused before it starts."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import ThreadBusyError
from stepgraph.graph import START, StateGraph

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def a_graph(fails: bool = False) -> Any:
    def second(state: State) -> State:
        if fails:
            raise KeyError("lost")
        return {"log": ["b"]}

    builder = StateGraph(State).add_node("a", lambda state: {"log": ["a"]}).add_node("b", second)
    builder.add_edge(START, "a").add_edge("a", "b")
    return builder.compile(InMemorySaver(), concurrency="reject")


def test_a_second_run_is_refused_while_a_stream_is_open() -> None:
    graph = a_graph()
    stream = graph.stream({}, THREAD)
    next(stream)
    with pytest.raises(ThreadBusyError, match="in use") as refused:
        graph.invoke({}, THREAD)
    assert (refused.value.thread_id, refused.value.cause) == ("1", "lease")
    assert list(stream) == [{"b": {"log": ["b"]}}]
    assert graph.invoke({}, THREAD) == {"log": ["a", "b", "a", "b"]}


def test_another_thread_is_free() -> None:
    graph = a_graph()
    stream = graph.stream({}, THREAD)
    next(stream)
    assert graph.invoke({}, {"configurable": {"thread_id": "2"}}) == {"log": ["a", "b"]}
    stream.close()


@pytest.mark.parametrize("events", [0, 1, 2])
def test_a_closed_stream_leaves_at_once(events: int) -> None:
    graph = a_graph()
    stream = graph.stream({}, THREAD)
    for _ in range(events):
        next(stream)
    stream.close()
    assert graph.invoke({"log": ["c"]}, THREAD)["log"][-2:] == ["a", "b"]


@pytest.mark.parametrize("use", ["invoke", "stream", "ainvoke", "astream"])
def test_a_failed_run_leaves_at_once(use: str) -> None:
    graph = a_graph(fails=True)
    for _ in range(2):
        with pytest.raises(KeyError, match="lost"):
            run(graph, use)


@pytest.mark.parametrize("use", ["invoke", "stream", "ainvoke", "astream"])
def test_a_finished_run_leaves_at_once(use: str) -> None:
    graph = a_graph()
    run(graph, use)
    run(graph, use)
    assert graph.get_state(THREAD).values == {"log": ["a", "b", "a", "b"]}


def test_a_closed_async_stream_leaves_at_once() -> None:
    graph = a_graph()

    async def closed_after(events: int) -> None:
        stream = graph.astream({}, THREAD)
        for _ in range(events):
            await anext(stream)
        await stream.aclose()
        await graph.ainvoke({}, THREAD)

    asyncio.run(closed_after(1))
    asyncio.run(closed_after(2))


def run(graph: Any, use: str) -> None:
    if use == "invoke":
        graph.invoke({}, THREAD)
    elif use == "stream":
        list(graph.stream({}, THREAD))
    elif use == "ainvoke":
        asyncio.run(graph.ainvoke({}, THREAD))
    else:

        async def all_of_it() -> None:
            async for _ in graph.astream({}, THREAD):
                pass

        asyncio.run(all_of_it())
