"""Savers of every kind, behind one synchronous face, for tests that hold for all of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

from postgres_server import database
from stepgraph.checkpoint.base import CheckpointTuple
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.sqlite import AsyncSqliteSaver, SqliteSaver

__all__ = ("KINDS", "Face", "open_saver")


class Face:
    """Calls a saver's methods; of an async one, its async methods on an event loop of another thread."""

    def __init__(self, saver: Any, call: Callable[[Coroutine[Any, Any, Any]], Any] | None = None) -> None:
        self.saver = saver
        self._call = call

    def __getattr__(self, name: str) -> Any:
        call = self._call
        if call is None or name.startswith(("_", "encode_", "get_next")):
            return getattr(self.saver, name)
        if name == "list":
            return lambda *args, **options: iter(call(self._listed(*args, **options)))
        method = getattr(self.saver, "a" + name)
        return lambda *args, **options: call(method(*args, **options))

    async def _listed(self, *args: Any, **options: Any) -> list[CheckpointTuple]:
        return [found async for found in self.saver.alist(*args, **options)]


@contextmanager
def _memory(path: Path) -> Iterator[Face]:
    yield Face(InMemorySaver())


@contextmanager
def _sqlite_file(path: Path) -> Iterator[Face]:
    with SqliteSaver.from_conn_string(str(path / "checkpoints.db")) as saver:
        yield Face(saver)


@contextmanager
def _sqlite_memory(path: Path) -> Iterator[Face]:
    with SqliteSaver.from_conn_string(":memory:") as saver:
        yield Face(saver)


@contextmanager
def _on_a_loop(enter: Callable[[AsyncExitStack], Coroutine[Any, Any, Any]]) -> Iterator[Face]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def call(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(30)

    stack = AsyncExitStack()
    try:
        yield Face(call(enter(stack)), call)
    finally:
        call(stack.aclose())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def _async_sqlite(path: Path) -> Iterator[Face]:
    async def enter(stack: AsyncExitStack) -> Any:
        return await stack.enter_async_context(
            AsyncSqliteSaver.from_conn_string(str(path / "checkpoints.db"))
        )

    with _on_a_loop(enter) as face:
        yield face


def _aiosqlite(database: str) -> Any:
    @contextmanager
    def open_(path: Path) -> Iterator[Face]:
        import aiosqlite

        async def enter(stack: AsyncExitStack) -> Any:
            name = database or str(path / "checkpoints.db")
            return AsyncSqliteSaver(await stack.enter_async_context(aiosqlite.connect(name)))

        with _on_a_loop(enter) as face:
            yield face

    return open_


@contextmanager
def _postgres(path: Path) -> Iterator[Face]:
    with database() as url:
        from stepgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(url) as saver:
            yield Face(saver)


@contextmanager
def _postgres_connection(path: Path) -> Iterator[Face]:
    """A connection as a person may have opened it: with other rows, and transactions that begin by themselves."""
    with database() as url:
        import psycopg
        from psycopg.rows import dict_row

        from stepgraph.checkpoint.postgres import PostgresSaver

        with psycopg.connect(url, row_factory=dict_row) as connection:
            yield Face(PostgresSaver(connection))


@contextmanager
def _postgres_pool(path: Path) -> Iterator[Face]:
    with database() as url:
        from psycopg_pool import ConnectionPool

        from stepgraph.checkpoint.postgres import PostgresSaver

        with ConnectionPool(url, min_size=1, max_size=4, kwargs={"autocommit": True}) as pool:
            yield Face(PostgresSaver(pool))


@contextmanager
def _async_postgres(path: Path) -> Iterator[Face]:
    with database() as url:
        from stepgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        async def enter(stack: AsyncExitStack) -> Any:
            return await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(url))

        with _on_a_loop(enter) as face:
            yield face


@contextmanager
def _async_postgres_connection(path: Path) -> Iterator[Face]:
    with database() as url:
        import psycopg

        from stepgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        async def enter(stack: AsyncExitStack) -> Any:
            connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
            return AsyncPostgresSaver(await stack.enter_async_context(connection))

        with _on_a_loop(enter) as face:
            yield face


KINDS: dict[str, Any] = {
    "memory": _memory,
    "sqlite": _sqlite_file,
    "sqlite-memory": _sqlite_memory,
    "async-sqlite": _async_sqlite,
    "aiosqlite": _aiosqlite(""),
    "aiosqlite-memory": _aiosqlite(":memory:"),
    "postgres": _postgres,
    "postgres-connection": _postgres_connection,
    "postgres-pool": _postgres_pool,
    "async-postgres": _async_postgres,
    "async-postgres-connection": _async_postgres_connection,
}


def open_saver(kind: str, path: Path) -> Any:
    """A context manager that gives a saver of a kind, with its file in a directory."""
    return KINDS[kind](path)
