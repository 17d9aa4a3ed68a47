"""Leases of runs in an event loop, on savers that belong to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict

import pytest

from postgres_server import database
from stepgraph.errors import ThreadBusyError
from stepgraph.graph import START, StateGraph
from stepgraph.pregel.drivers import heart

THREAD: Any = {"configurable": {"thread_id": "1"}}
KINDS = ["async-sqlite", "aiosqlite", "async-postgres"]


class State(TypedDict, total=False):
    number: int


@asynccontextmanager
async def two_savers(kind: str, path: Path) -> AsyncIterator[tuple[Any, Any]]:
    """Two savers over the same data, as two processes have them."""
    from stepgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    place = str(path / "checkpoints.db")
    if kind == "async-sqlite":
        opened = AsyncSqliteSaver.from_conn_string
        async with opened(place) as one, opened(place) as other:
            yield one, other
    elif kind == "aiosqlite":
        import aiosqlite

        async with aiosqlite.connect(place) as one_connection, aiosqlite.connect(place) as other_connection:
            yield AsyncSqliteSaver(one_connection), AsyncSqliteSaver(other_connection)
    else:
        with database() as url:
            from stepgraph.checkpoint.postgres.aio import AsyncPostgresSaver

            async with (
                AsyncPostgresSaver.from_conn_string(url) as one_server,
                AsyncPostgresSaver.from_conn_string(url) as other_server,
            ):
                yield one_server, other_server


def a_graph(saver: Any, work: Any) -> Any:
    builder = StateGraph(State).add_node("n", work).add_edge(START, "n")
    return builder.compile(saver, concurrency="reject")


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_run_is_refused_while_the_lease_is_renewed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heart, "_BEATS", 1000.0)

    async def main() -> None:
        async with two_savers(kind, tmp_path) as (one, other):
            begun, go_on, renewed = asyncio.Event(), asyncio.Event(), asyncio.Event()
            loop, renew = asyncio.get_running_loop(), one.renew_holds

            def renew_and_tell(holds: Any) -> Any:
                lost = renew(holds)
                loop.call_soon_threadsafe(renewed.set)
                return lost

            monkeypatch.setattr(one, "renew_holds", renew_and_tell)

            async def work(state: State) -> State:
                begun.set()
                await go_on.wait()
                return {"number": 1}

            first = asyncio.ensure_future(a_graph(one, work).ainvoke({}, THREAD))
            await asyncio.wait_for(begun.wait(), 20)
            await asyncio.wait_for(renewed.wait(), 20)
            with pytest.raises(ThreadBusyError, match="maybe in another process"):
                await a_graph(other, work).ainvoke({}, THREAD)
            go_on.set()
            assert await asyncio.wait_for(first, 20) == {"number": 1}
            assert await asyncio.wait_for(a_graph(other, work).ainvoke({}, THREAD), 20) == {"number": 1}

    asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_run_and_a_closed_stream_leave_their_thread(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with two_savers(kind, tmp_path) as (one, other):
            begun = asyncio.Event()

            async def wait(state: State) -> State:
                begun.set()
                await asyncio.Event().wait()
                return {}

            task = asyncio.ensure_future(a_graph(one, wait).ainvoke({}, THREAD))
            await asyncio.wait_for(begun.wait(), 20)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

            stream = a_graph(other, lambda state: {"number": 2}).astream({}, THREAD)
            await anext(stream)
            await stream.aclose()
            assert await a_graph(one, lambda state: {"number": 3}).ainvoke({}, THREAD) == {"number": 3}

    asyncio.run(main())
