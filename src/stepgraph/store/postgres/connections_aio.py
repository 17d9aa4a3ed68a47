"""Carrying out a store's requests on connections that are awaited.

The twin of `connections`, and with the same rules.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, TypeAlias, TypeVar

from stepgraph.checkpoint.postgres.aio_connections import (
    AsyncLender,
    AsyncPool,
    OneAsyncConnection,
    OwnAsyncConnections,
)
from stepgraph.checkpoint.postgres.driver import (
    explained,
    in_transaction,
    native,
    psycopg,
    psycopg_pool,
    tuple_row,
)
from stepgraph.store.base.program import Program, arun
from stepgraph.store.postgres.connections import AGAIN, ONE_STATE, TRIES, in_our_words
from stepgraph.store.postgres.dialect import parameters, rows_of
from stepgraph.store.postgres.migrations import Ask, Do
from stepgraph.store.sql.statements import Change, Query

Outcome = TypeVar("Outcome")
AsyncConn: TypeAlias = (
    psycopg.AsyncConnection[Any] | psycopg_pool.AsyncConnectionPool[Any] | OwnAsyncConnections
)
"""What an async store works on: one connection, a pool, or connections that it opens itself."""


def async_lender_of(conn: AsyncConn) -> AsyncLender:
    """Where an async store's connections come from.

    Raises:
        TypeError: If it is no async connection and no async pool.
    """
    if isinstance(conn, OwnAsyncConnections):
        return conn
    if isinstance(conn, psycopg_pool.AsyncConnectionPool):
        return AsyncPool(conn)
    if isinstance(conn, psycopg.AsyncConnection):
        return OneAsyncConnection(conn)
    raise TypeError(
        "AsyncPostgresStore works on a psycopg.AsyncConnection or a psycopg_pool.AsyncConnectionPool, got"
        f" {type(conn).__name__}. For a URL use AsyncPostgresStore.from_conn_string(url); for others there is PostgresStore."
    )


class AsyncConnections:
    """A database and the connections to it.

    Args:
        lender: Where they come from.

    Attributes:
        settings: Statements to run before each read.
    """

    def __init__(self, lender: AsyncLender) -> None:
        self.lender = lender
        self.pipelines = bool(psycopg.capabilities.has_pipeline())
        self.settings: tuple[str, ...] = ()

    async def read(self, queries: list[Query]) -> list[list[tuple[Any, ...]]]:
        """Rows of some queries, all from one state of the database."""
        async with self._lent("reading items") as connection:
            if len(queries) == 1 and connection.autocommit and not self.settings:
                cursor = psycopg.AsyncCursor(connection, row_factory=tuple_row)
                await cursor.execute(native(queries[0].sql), parameters(queries[0].params))
                return [rows_of(await cursor.fetchall())]
            is_part = in_transaction(connection)
            cursors = [psycopg.AsyncCursor(connection, row_factory=tuple_row) for _ in queries]
            async with self._together(connection), connection.transaction():
                if len(queries) > 1 and not is_part:
                    await connection.execute(ONE_STATE)
                for setting in self.settings:
                    await connection.execute(native(setting))
                for cursor, query in zip(cursors, queries):
                    await cursor.execute(native(query.sql), parameters(query.params))
            return [rows_of(await cursor.fetchall()) for cursor in cursors]

    async def write(self, changes: list[Change]) -> int:
        """Make changes in one transaction; returns how many rows the last one touched."""
        for tries_left in reversed(range(TRIES)):
            async with self._lent("writing items") as connection:
                can_repeat = tries_left and not in_transaction(connection)
                cursor = psycopg.AsyncCursor(connection, row_factory=tuple_row)
                try:
                    async with self._together(connection), connection.transaction():
                        for change in changes:
                            rows = [parameters(row) for row in change.rows]
                            await cursor.executemany(native(change.sql), rows)
                    return cursor.rowcount
                except AGAIN:
                    if not can_repeat:
                        raise
        raise AssertionError("the last try returns or raises")

    async def setup(self, program: Program[Outcome]) -> Outcome:
        """Run a program of statements in one transaction."""
        async with self._lent("making the tables") as connection, connection.transaction():
            cursor = psycopg.AsyncCursor(connection, row_factory=tuple_row)

            async def perform(request: Ask | Do) -> list[Any]:
                await cursor.execute(native(request.sql), request.params or None)
                return await cursor.fetchall() if isinstance(request, Ask) else []

            return await arun(program, perform)

    @asynccontextmanager
    async def _lent(self, what: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        with explained(what, self.lender.reconnects, "store"), in_our_words():
            async with self.lender.connection() as connection:
                yield connection

    def _together(self, connection: psycopg.AsyncConnection[Any]) -> AbstractAsyncContextManager[Any]:
        return connection.pipeline() if self.pipelines else nullcontext()
