"""Running programs on connections that block: one, those of a pool, or some of our own.

Rules: knows programs of statements and batches; what is stored is none of its business.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any, Protocol

from stepgraph.checkpoint.postgres.driver import (
    BEGIN_READ,
    BEGIN_WRITE,
    MAX_CONNECTIONS,
    explained,
    in_transaction,
    is_dead,
    is_unusual,
    native,
    options_of,
    psycopg,
    tuple_row,
    where,
)
from stepgraph.checkpoint.postgres.programs import PostgresPrograms
from stepgraph.checkpoint.postgres.schema import migrate
from stepgraph.checkpoint.sql.statements import R, Statement, StatementProgram
from stepgraph.checkpoint.sqlite.locks import connection_lock

if TYPE_CHECKING:
    from stepgraph.checkpoint.step_saver import Encoded

__all__ = ("Connections", "Lender", "OneConnection", "OwnConnections", "PoolOfConnections")


class Lender(Protocol):
    """Lends connections, each to one borrower at a time.

    Attributes:
        reconnects: Whether a broken connection is replaced.
        lock: Held while the one connection is lent; of no use where there are several.
    """

    reconnects: bool
    lock: Any

    def connection(self) -> Any:
        """A context manager that lends a connection."""

    def close(self) -> None:
        """Close the connections that are ours."""


class OneConnection:
    """A connection that somebody else opened; its users take turns."""

    reconnects = False

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self.lock = connection_lock(connection, self)

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend it."""
        with self.lock:
            yield self._connection

    def close(self) -> None:
        """Who opened it closes it."""


class PoolOfConnections:
    """A pool of `psycopg_pool` that somebody else opened. What the server cut while it was idle is not used."""

    reconnects = True

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.lock = Lock()

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend one."""
        connection = self._pool.getconn()
        for _ in range(self._pool.max_size):
            if not is_dead(connection):
                break
            connection.close()
            self._pool.putconn(connection)
            connection = self._pool.getconn()
        try:
            with connection:
                yield connection
        finally:
            self._pool.putconn(connection)

    def close(self) -> None:
        """Who opened it closes it."""


class OwnConnections:
    """Connections that are opened when they are needed, and kept while they work.

    A process that was forked from the one that opened them opens its own: two that speak on one connection break it.

    Args:
        url: Where to.
    """

    reconnects = True

    def __init__(self, url: str) -> None:
        self._process = os.getpid()
        self._of_parent: list[psycopg.Connection[Any]] = []
        self._url = url
        self.lock = Lock()
        self._idle: list[psycopg.Connection[Any]] = []
        self._guard = Lock()
        self._places = BoundedSemaphore(MAX_CONNECTIONS)

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend one."""
        with self._places:
            connection = self._take() or psycopg.connect(self._url, **options_of())
            try:
                yield connection
            except BaseException:
                if in_transaction(connection):
                    connection.close()
                raise
            finally:
                if not connection.closed:
                    with self._guard:
                        self._idle.append(connection)

    def _take(self) -> psycopg.Connection[Any] | None:
        while True:
            with self._guard:
                self._leave_to_parent()
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if not is_dead(connection):
                return connection
            connection.close()

    def _leave_to_parent(self) -> None:
        if self._process != os.getpid():
            self._process = os.getpid()
            self._of_parent, self._idle = self._idle, []

    def close(self) -> None:
        """Close them."""
        with self._guard:
            self._leave_to_parent()
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        self.close()


class Connections:
    """A database and the connections to it.

    Args:
        lender: Where connections come from.
        programs: The programs.
    """

    def __init__(self, lender: Lender, programs: PostgresPrograms) -> None:
        self.lender = lender
        self.programs = programs
        self.ready = False
        self._setting_up = Lock()

    def set_up(self) -> None:
        """Make or migrate the tables, once."""
        if self.ready:
            return
        with self._setting_up, explained("making the tables", self.lender.reconnects):
            if not self.ready:
                with self.lender.connection() as connection:
                    _transact(connection, migrate(), BEGIN_WRITE)
                self.ready = True

    def read(self, program: StatementProgram[R]) -> R:
        """Run a program that reads, on one state of the database."""
        self.set_up()
        with (
            explained("reading checkpoints", self.lender.reconnects),
            self.lender.connection() as connection,
        ):
            return _transact(connection, program, BEGIN_READ)

    def glance(self, program: StatementProgram[R]) -> R:
        """Run a program that reads, whose statements need not see the same state."""
        self.set_up()
        with (
            explained("reading checkpoints", self.lender.reconnects),
            self.lender.connection() as connection,
        ):
            if connection.autocommit and not in_transaction(connection):
                return _run(connection, program)
            return _transact(connection, program, BEGIN_READ)

    def write(self, program: StatementProgram[R], *, durable: bool = True) -> R:
        """Run a program in one transaction: all of it or nothing.

        Args:
            program: The program.
            durable: Whether a loss of power after this returns must not undo it.
        """
        self.set_up()
        with (
            explained("changing checkpoints", self.lender.reconnects),
            self.lender.connection() as connection,
        ):
            return _transact(connection, self.programs.settled(program, durable), BEGIN_WRITE)

    def store(self, batch: Sequence[Encoded], durable: bool, known: Mapping[int, int]) -> dict[int, int]:
        """Store a batch: in one statement where it is an ordinary one.

        Args:
            batch: What was encoded.
            durable: Whether a loss of power after this returns must not undo it.
            known: The counters of deletions, as they were last seen.

        Returns:
            The counters of deletions as they are.
        """
        self.set_up()
        once = self.programs.at_once(batch, durable, known)
        with (
            explained(f"storing in {where(batch)}", self.lender.reconnects),
            self.lender.connection() as connection,
        ):
            if once is not None and not in_transaction(connection):
                try:
                    return once.counted(_once(connection, once.statement))
                except psycopg.Error as error:
                    if not is_unusual(error):
                        raise
            program = self.programs.settled(self.programs.store_batch(batch), durable)
            return _transact(connection, program, BEGIN_WRITE)

    def close(self) -> None:
        """Close the connections that are ours."""
        self.lender.close()


def _once(connection: psycopg.Connection[Any], statement: Statement) -> tuple[Any, ...]:
    """Run one statement that is a transaction by itself; its one row."""
    cursor = psycopg.Cursor(connection, row_factory=tuple_row)
    try:
        row = cursor.execute(native(statement.sql), statement.params, binary=True).fetchone()
        if not connection.autocommit:
            connection.commit()
    except BaseException:
        _undo(connection)
        raise
    assert row is not None
    return row


def _transact(connection: psycopg.Connection[Any], program: StatementProgram[R], level: str) -> R:
    if in_transaction(connection):
        with connection.transaction():
            return _run(connection, program)
    connection.execute(("BEGIN " if connection.autocommit else "SET TRANSACTION ") + level)
    try:
        result = _run(connection, program)
        connection.commit()
    except BaseException:
        _undo(connection)
        raise
    return result


def _undo(connection: psycopg.Connection[Any]) -> None:
    """Roll back, unless the connection is gone."""
    if not connection.closed and in_transaction(connection):
        try:
            connection.rollback()
        except psycopg.Error:
            connection.close()


def _run(connection: psycopg.Connection[Any], program: StatementProgram[R]) -> R:
    cursor = psycopg.Cursor(connection, row_factory=tuple_row)
    reply: Any = None
    try:
        while True:
            sql, params, many = program.send(reply)
            if many:
                cursor.executemany(native(sql), params)
                reply = cursor.rowcount
            else:
                cursor.execute(native(sql), params or None, binary=True)
                reply = cursor.fetchall() if cursor.description is not None else []
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        program.close()
        cursor.close()
