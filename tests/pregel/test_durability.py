"""What is stored when a node starts, by durability."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypedDict

import pytest

from stepgraph.checkpoint.sqlite import AsyncSqliteSaver, SqliteSaver
from stepgraph.graph import START, StateGraph

from .both import thread


class State(TypedDict, total=False):
    number: int


def counting(path: str, found: list[int], *, nested: bool, is_async: bool) -> StateGraph[Any]:
    """A graph whose nodes count, over a connection of their own, the checkpoints that are stored."""

    def look(state: State) -> State:
        with SqliteSaver.from_conn_string(path) as saver:
            found.append(len(list(saver.list({"configurable": {"thread_id": "1", "checkpoint_ns": ""}}))))
        return {"number": 1}

    async def alook(state: State) -> State:
        return look(state)

    node = alook if is_async else look
    inner = StateGraph(State).add_node("look", node).add_edge(START, "look").compile()
    builder = StateGraph(State).add_node("one", inner if nested else node).add_node("two", node)
    return builder.add_edge(START, "one").add_edge("one", "two")


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("method", ["invoke", "stream", "ainvoke", "astream", "ainvoke over an async saver"])
def test_with_sync_a_step_is_stored_before_the_next_one_starts(
    tmp_path: Path, method: str, is_async: bool, nested: bool
) -> None:
    path = str(tmp_path / "threads.db")
    found: list[int] = []
    builder = counting(path, found, nested=nested, is_async=is_async)

    async def run(saver: Any) -> None:
        graph = builder.compile(saver)
        if method == "astream":
            async for _ in graph.astream({"number": 0}, thread(), durability="sync"):
                pass
        else:
            await graph.ainvoke({"number": 0}, thread(), durability="sync")

    async def over_an_async_saver() -> None:
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            await run(saver)

    if method == "ainvoke over an async saver":
        asyncio.run(over_an_async_saver())
    else:
        with SqliteSaver.from_conn_string(path) as saver:
            if method.startswith("a"):
                asyncio.run(run(saver))
            else:
                graph = builder.compile(saver)
                call = (
                    graph.invoke
                    if method == "invoke"
                    else lambda *given, **more: list(graph.stream(*given, **more))
                )
                call({"number": 0}, thread(), durability="sync")
    assert found == [2, 3]
