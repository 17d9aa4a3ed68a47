"""Connections of a store, for threads: one that the person made, a pool, or a URL; and the carrying out of requests.

Rules of this file: what the statements say is decided in `stepgraph.store.sql.program` and `migrations`. A request is one
transaction and travels as one message where the client library can do that. Inside a transaction that the connection's
owner has open, it is a part of that transaction.

A connection that the server has cut while it was idle is found before it is used, and replaced where it came from a URL
or a pool.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import psycopg
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool

from stepgraph.checkpoint.sqlite.locks import connection_lock
from stepgraph.store.base.program import Program, run
from stepgraph.store.postgres.dialect import lengths_differ, parameters, rows_of, statement
from stepgraph.store.postgres.migrations import Ask, Do
from stepgraph.store.sql.statements import Change, Query

Outcome = TypeVar("Outcome")
Connection = psycopg.Connection[Any]
Pool = ConnectionPool[Any]
AnyConnection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]

ONE_STATE = b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
TRIES = 10
"""So often a write is tried that the server undid because of another one's."""
AGAIN = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)
Status = psycopg.pq.TransactionStatus


def can_pipeline() -> bool:
    """Whether the client library sends several statements as one message."""
    return bool(psycopg.capabilities.has_pipeline())


class Connections:
    """Where a store's connections come from.

    Args:
        source: A connection, a pool, or a function that opens a connection.
        owner: The store.
    """

    def __init__(self, source: Connection | Pool | Callable[[], Connection], owner: Any) -> None:
        self.pool = source if isinstance(source, ConnectionPool) else None
        self._open = None if isinstance(source, (ConnectionPool, psycopg.Connection)) else source
        self._connection = source if isinstance(source, psycopg.Connection) else None
        if self._open is not None:
            self._connection = self._open()
        self.lock = connection_lock(self.current, owner)
        self.pipelines = can_pipeline()
        self.settings: tuple[str, ...] = ()

    @property
    def current(self) -> Connection | Pool:
        """The connection, or the pool."""
        current = self.pool or self._connection
        assert current is not None
        return current

    def close(self) -> None:
        """Close the connection, if it was opened here."""
        if self._open is not None and self._connection is not None:
            self._connection.close()

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """A connection for one request, for this thread alone."""
        if self.pool is None:
            with self.lock:
                yield self._living()
            return
        connection = self._taken(self.pool)
        try:
            with connection:  # a pool's connection is left without a transaction
                yield connection
        finally:
            self.pool.putconn(connection)

    def _taken(self, pool: Pool) -> Connection:
        connection: Connection = pool.getconn()
        for _ in range(pool.max_size):
            if not is_cut(connection):
                break
            connection.close()
            pool.putconn(connection)
            connection = pool.getconn()
        return connection

    def _living(self) -> Connection:
        connection = self._connection
        assert connection is not None
        if self._open is not None and (connection.closed or is_cut(connection)):
            connection.close()
            connection = self._connection = self._open()
        if connection.closed:
            raise psycopg.OperationalError(closed_text())
        return connection

    def read(self, queries: list[Query]) -> list[list[tuple[Any, ...]]]:
        """Rows of some queries, all from one state of the database."""
        with explained("read"), self.use() as connection:
            if len(queries) == 1 and connection.autocommit and not self.settings:
                with connection.cursor(row_factory=tuple_row) as cursor:
                    cursor.execute(statement(queries[0].sql), parameters(queries[0].params))
                    return [rows_of(cursor.fetchall())]
            is_first = not is_part(connection)
            with self._together(connection), connection.transaction():
                if len(queries) > 1 and is_first:
                    connection.execute(ONE_STATE)
                for setting in self.settings:
                    connection.execute(setting.encode())
                cursors = [connection.cursor(row_factory=tuple_row) for _ in queries]
                for cursor, query in zip(cursors, queries):
                    cursor.execute(statement(query.sql), parameters(query.params))
            return [rows_of(cursor.fetchall()) for cursor in cursors]

    def write(self, changes: list[Change]) -> int:
        """Make changes in one transaction; returns how many rows the last one touched."""
        for tries_left in reversed(range(TRIES)):
            with explained("write"), self.use() as connection:
                can_repeat = tries_left and not is_part(connection)
                try:
                    with self._together(connection), connection.transaction():
                        for change in changes:
                            cursor = connection.cursor(row_factory=tuple_row)
                            cursor.executemany(
                                statement(change.sql), [parameters(row) for row in change.rows]
                            )
                    return cursor.rowcount
                except AGAIN:
                    if not can_repeat:
                        raise
        raise AssertionError("the last try returns or raises")

    def setup(self, program: Program[Outcome]) -> Outcome:
        """Run a program of statements in one transaction."""
        with explained("set up"), self.use() as connection, connection.transaction():
            cursor = connection.cursor(row_factory=tuple_row)

            def perform(request: Ask | Do) -> list[Any]:
                cursor.execute(statement(request.sql), request.params or None)
                return cursor.fetchall() if isinstance(request, Ask) else []

            return run(program, perform)

    def _together(self, connection: Connection) -> AbstractContextManager[Any]:
        return connection.pipeline() if self.pipelines else nullcontext()


def is_part(connection: AnyConnection) -> bool:
    """Whether the connection's owner has a transaction open, of which a request becomes a part."""
    return connection.info.transaction_status in (Status.INTRANS, Status.INERROR)


def is_cut(connection: AnyConnection) -> bool:
    """Whether the server has ended an idle connection; asks nobody, and waits for nothing."""
    if connection.closed:
        return True
    try:
        for _ in range(2):  # what the server said last is read first, the end of the connection then
            if not _has_something_to_read(connection.fileno()):
                return False
            connection.pgconn.consume_input()
    except psycopg.OperationalError:
        return True
    return connection.pgconn.status != psycopg.pq.ConnStatus.OK


def _has_something_to_read(handle: int) -> bool:
    if not hasattr(select, "poll"):
        return bool(select.select([handle], [], [], 0)[0])
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(0))


def closed_text() -> str:
    """What to say of a connection that is closed and was not opened here."""
    return (
        "The connection of the store is closed. Make a store on another connection; a store that is made with"
        " `from_conn_string(URL)` or on a pool opens another by itself."
    )


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Errors of the server with what they mean for the store."""
    try:
        yield
    except psycopg.DataError as error:
        ours = lengths_differ(str(error))
        if ours is None:
            raise
        raise ours from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise type(error)(
            f"The store may not {what} its tables: {error}. Let a role that may create tables and extensions call"
            " store.setup() once."
        ) from error
    except psycopg.OperationalError as error:
        raise type(error)(
            f"The store could not {what}: {error}. What was to be written is stored as a whole or not at all; reading and"
            " writing can be tried again."
        ) from error
