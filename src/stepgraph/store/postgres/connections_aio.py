"""Connections of a store, for an event loop, and the carrying out of requests.

Rules of this file: as in `connections`, of which this is the async twin: it waits where that one waits.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, TypeVar

import psycopg
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool

from stepgraph.store.base.program import Program, arun
from stepgraph.store.postgres.connections import (
    AGAIN,
    ONE_STATE,
    TRIES,
    can_pipeline,
    closed_text,
    explained,
    is_cut,
    is_part,
)
from stepgraph.store.postgres.dialect import parameters, rows_of, statement
from stepgraph.store.postgres.migrations import Ask, Do
from stepgraph.store.sql.statements import Change, Query

Outcome = TypeVar("Outcome")
Connection = psycopg.AsyncConnection[Any]
Pool = AsyncConnectionPool[Any]

_locks: weakref.WeakKeyDictionary[Any, asyncio.Lock] = weakref.WeakKeyDictionary()
"""One lock for each connection, for all stores that share it."""


class AsyncConnections:
    """Where a store's connections come from.

    Args:
        source: A connection, or a pool.
    """

    def __init__(self, source: Connection | Pool) -> None:
        self.current = source
        self.lock = _locks.setdefault(source, asyncio.Lock())
        self.pipelines = can_pipeline()
        self.settings: tuple[str, ...] = ()
        self._open: Callable[[], Awaitable[Connection]] | None = None

    def open_with(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        """Open connections in place of those that were cut."""
        self._open = connect

    async def close(self) -> None:
        """Close the connection."""
        await self.current.close()

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Connection]:
        """A connection for one request."""
        if not isinstance(self.current, AsyncConnectionPool):
            async with self.lock:
                yield await self._living(self.current)
            return
        pool = self.current
        connection = await self._taken(pool)
        try:
            async with connection:  # a pool's connection is left without a transaction
                yield connection
        finally:
            await pool.putconn(connection)

    async def _taken(self, pool: Pool) -> Connection:
        connection: Connection = await pool.getconn()
        for _ in range(pool.max_size):
            if not is_cut(connection):
                break
            await connection.close()
            await pool.putconn(connection)
            connection = await pool.getconn()
        return connection

    async def _living(self, connection: Connection) -> Connection:
        if self._open is not None and is_cut(connection):
            await connection.close()
            connection = self.current = await self._open()
        if connection.closed:
            raise psycopg.OperationalError(closed_text())
        return connection

    async def read(self, queries: list[Query]) -> list[list[tuple[Any, ...]]]:
        """Rows of some queries, all from one state of the database."""
        with explained("read"):
            async with self.use() as connection:
                if len(queries) == 1 and connection.autocommit and not self.settings:
                    async with connection.cursor(row_factory=tuple_row) as cursor:
                        await cursor.execute(statement(queries[0].sql), parameters(queries[0].params))
                        return [rows_of(await cursor.fetchall())]
                is_first = not is_part(connection)
                async with self._together(connection), connection.transaction():
                    if len(queries) > 1 and is_first:
                        await connection.execute(ONE_STATE)
                    for setting in self.settings:
                        await connection.execute(setting.encode())
                    cursors = [connection.cursor(row_factory=tuple_row) for _ in queries]
                    for cursor, query in zip(cursors, queries):
                        await cursor.execute(statement(query.sql), parameters(query.params))
                return [rows_of(await cursor.fetchall()) for cursor in cursors]

    async def write(self, changes: list[Change]) -> int:
        """Make changes in one transaction; returns how many rows the last one touched."""
        for tries_left in reversed(range(TRIES)):
            with explained("write"):
                async with self.use() as connection:
                    can_repeat = tries_left and not is_part(connection)
                    try:
                        async with self._together(connection), connection.transaction():
                            for change in changes:
                                cursor = connection.cursor(row_factory=tuple_row)
                                rows = [parameters(row) for row in change.rows]
                                await cursor.executemany(statement(change.sql), rows)
                        return cursor.rowcount
                    except AGAIN:
                        if not can_repeat:
                            raise
        raise AssertionError("the last try returns or raises")

    async def setup(self, program: Program[Outcome]) -> Outcome:
        """Run a program of statements in one transaction."""
        with explained("set up"):
            async with self.use() as connection, connection.transaction():
                cursor = connection.cursor(row_factory=tuple_row)

                async def perform(request: Ask | Do) -> list[Any]:
                    await cursor.execute(statement(request.sql), request.params or None)
                    return await cursor.fetchall() if isinstance(request, Ask) else []

                return await arun(program, perform)

    def _together(self, connection: Connection) -> AbstractAsyncContextManager[Any]:
        return connection.pipeline() if self.pipelines else nullcontext()
