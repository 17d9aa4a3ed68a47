"""Carrying out a store's requests on connections that block.

Rules of this file: what the statements say is decided in `stepgraph.store.sql.program` and `migrations`; where connections
come from, in `stepgraph.checkpoint.postgres.connections`. A request is one transaction, and travels as one message where the
client library can do that. Inside a transaction that the connection's owner has open, it is a part of that one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeAlias, TypeVar

from stepgraph.checkpoint.postgres.connections import Lender, OneConnection, OwnConnections, PoolOfConnections
from stepgraph.checkpoint.postgres.driver import (
    explained,
    in_transaction,
    native,
    psycopg,
    psycopg_pool,
    tuple_row,
)
from stepgraph.store.base.program import Program, run
from stepgraph.store.postgres.dialect import lengths_differ, parameters, rows_of
from stepgraph.store.postgres.migrations import Ask, Do
from stepgraph.store.sql.statements import Change, Query

Outcome = TypeVar("Outcome")
Conn: TypeAlias = psycopg.Connection[Any] | psycopg_pool.ConnectionPool[Any] | OwnConnections
"""What a store works on: one connection, a pool, or connections that it opens itself."""

ONE_STATE = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
TRIES = 10
"""So often a write is tried that the server undid because of another one's."""
AGAIN = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)


def lender_of(conn: Conn) -> Lender:
    """Where a store's connections come from.

    Raises:
        TypeError: If it is no connection and no pool.
    """
    if isinstance(conn, OwnConnections):
        return conn
    if isinstance(conn, psycopg_pool.ConnectionPool):
        return PoolOfConnections(conn)
    if isinstance(conn, psycopg.Connection):
        return OneConnection(conn)
    raise TypeError(
        f"PostgresStore works on a psycopg.Connection or a psycopg_pool.ConnectionPool, got {type(conn).__name__}."
        " For a URL use PostgresStore.from_conn_string(url); for async ones there is AsyncPostgresStore."
    )


class Connections:
    """A database and the connections to it.

    Args:
        lender: Where they come from.

    Attributes:
        settings: Statements to run before each read.
    """

    def __init__(self, lender: Lender) -> None:
        self.lender = lender
        self.pipelines = bool(psycopg.capabilities.has_pipeline())
        self.settings: tuple[str, ...] = ()

    def read(self, queries: list[Query]) -> list[list[tuple[Any, ...]]]:
        """Rows of some queries, all from one state of the database."""
        with self._lent("reading items") as connection:
            if len(queries) == 1 and connection.autocommit and not self.settings:
                cursor = psycopg.Cursor(connection, row_factory=tuple_row)
                cursor.execute(native(queries[0].sql), parameters(queries[0].params))
                return [rows_of(cursor.fetchall())]
            is_part = in_transaction(connection)
            cursors = [psycopg.Cursor(connection, row_factory=tuple_row) for _ in queries]
            with self._together(connection), connection.transaction():
                if len(queries) > 1 and not is_part:
                    connection.execute(ONE_STATE)
                for setting in self.settings:
                    connection.execute(native(setting))
                for cursor, query in zip(cursors, queries):
                    cursor.execute(native(query.sql), parameters(query.params))
            return [rows_of(cursor.fetchall()) for cursor in cursors]

    def write(self, changes: list[Change]) -> int:
        """Make changes in one transaction; returns how many rows the last one touched."""
        for tries_left in reversed(range(TRIES)):
            with self._lent("writing items") as connection:
                can_repeat = tries_left and not in_transaction(connection)
                cursor = psycopg.Cursor(connection, row_factory=tuple_row)
                try:
                    with self._together(connection), connection.transaction():
                        for change in changes:
                            cursor.executemany(native(change.sql), [parameters(row) for row in change.rows])
                    return cursor.rowcount
                except AGAIN:
                    if not can_repeat:
                        raise
        raise AssertionError("the last try returns or raises")

    def setup(self, program: Program[Outcome]) -> Outcome:
        """Run a program of statements in one transaction."""
        with self._lent("making the tables") as connection, connection.transaction():
            cursor = psycopg.Cursor(connection, row_factory=tuple_row)

            def perform(request: Ask | Do) -> list[Any]:
                cursor.execute(native(request.sql), request.params or None)
                return cursor.fetchall() if isinstance(request, Ask) else []

            return run(program, perform)

    @contextmanager
    def _lent(self, what: str) -> Iterator[psycopg.Connection[Any]]:
        with (
            explained(what, self.lender.reconnects, "store"),
            in_our_words(),
            self.lender.connection() as connection,
        ):
            yield connection

    def _together(self, connection: psycopg.Connection[Any]) -> AbstractContextManager[Any]:
        return connection.pipeline() if self.pipelines else nullcontext()


@contextmanager
def in_our_words() -> Iterator[None]:
    """Errors of the server with what they mean for a store."""
    try:
        yield
    except psycopg.DataError as error:
        ours = lengths_differ(str(error))
        if ours is None:
            raise
        raise ours from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise type(error)(
            f"The store has not the rights that it needs: {error}. Let a role that may create tables and extensions call"
            " store.setup() once, and give this one rights on the tables."
        ) from error
