"""Running programs on connections that are awaited: one, those of a pool, or some of our own.

The twin of `connections`: what the two have in common is in `driver`.

Rules: knows programs of statements and batches; what is stored is none of its business.
"""

from __future__ import annotations

from asyncio import BoundedSemaphore, Lock, get_running_loop
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

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
from stepgraph.checkpoint.sql.runners import LoopRunner
from stepgraph.checkpoint.sql.statements import R, Statement, StatementProgram

if TYPE_CHECKING:
    from stepgraph.checkpoint.step_saver import Encoded

__all__ = ("AsyncLender", "AsyncPool", "AwaitedRunner", "OneAsyncConnection", "OwnAsyncConnections")

_locks: WeakKeyDictionary[psycopg.AsyncConnection[Any], Lock] = WeakKeyDictionary()


class AsyncLender(Protocol):
    """Lends connections, each to one borrower at a time.

    Attributes:
        reconnects: Whether a broken connection is replaced.
        lock: Held while the one connection is lent; of no use where there are several.
    """

    reconnects: bool
    lock: Any

    def connection(self) -> Any:
        """An asynchronous context manager that lends a connection."""


class OneAsyncConnection:
    """A connection that somebody else opened; its users take turns."""

    reconnects = False

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection
        self.lock = _locks.setdefault(connection, Lock())

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """Lend it."""
        async with self.lock:
            yield self._connection


class AsyncPool:
    """A pool of `psycopg_pool` that somebody else opened. What the server cut while it was idle is not used."""

    reconnects = True

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.lock = Lock()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """Lend one."""
        connection = await self._pool.getconn()
        for _ in range(self._pool.max_size):
            if not is_dead(connection):
                break
            await connection.close()
            await self._pool.putconn(connection)
            connection = await self._pool.getconn()
        try:
            async with connection:
                yield connection
        finally:
            await self._pool.putconn(connection)


class OwnAsyncConnections:
    """Connections that are opened when they are needed, and kept while they work.

    Args:
        url: Where to.
    """

    reconnects = True

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[psycopg.AsyncConnection[Any]] = []
        self._places = BoundedSemaphore(MAX_CONNECTIONS)
        self.lock = Lock()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """Lend one."""
        async with self._places:
            connection = await self._take()
            if connection is None:
                connection = await psycopg.AsyncConnection.connect(self._url, **options_of())
            try:
                yield connection
            except BaseException:
                if in_transaction(connection):
                    await connection.close()
                raise
            finally:
                if not connection.closed:
                    self._idle.append(connection)

    async def _take(self) -> psycopg.AsyncConnection[Any] | None:
        while self._idle:
            connection = self._idle.pop()
            if not is_dead(connection):
                return connection
            await connection.close()
        return None

    async def close(self) -> None:
        """Close them."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()


class AwaitedRunner(LoopRunner):
    """Runs programs on connections that are awaited.

    Args:
        lender: Where connections come from.
        programs: The programs.

    Attributes:
        known: The counters of deletions, as they were last seen.
    """

    known: Mapping[int, int]

    def __init__(self, lender: AsyncLender, programs: PostgresPrograms) -> None:
        super().__init__(
            "This AsyncPostgresSaver works on the event loop that it was made on, so its synchronous methods can only be"
            " called from another thread, while that loop runs. Await the method with an a in front (aget_tuple, aput, ...),"
            " or use PostgresSaver."
        )
        self.lender = lender
        self.programs = programs
        self._setting_up = Lock()

    async def aset_up(self) -> None:
        """Make or migrate the tables, once."""
        if self.ready:
            return
        async with self._setting_up:
            if not self.ready:
                self._loop = self._loop or get_running_loop()
                with explained("making the tables", self.lender.reconnects):
                    async with self.lender.connection() as connection:
                        await _transact(connection, migrate(), BEGIN_WRITE)
                self.ready = True

    async def aread(self, program: StatementProgram[R]) -> R:
        """Run a program that reads, on one state of the database."""
        await self.aset_up()
        with explained("reading checkpoints", self.lender.reconnects):
            async with self.lender.connection() as connection:
                return await _transact(connection, program, BEGIN_READ)

    async def aglance(self, program: StatementProgram[R]) -> R:
        """Run a program that reads, whose statements need not see the same state."""
        await self.aset_up()
        with explained("reading checkpoints", self.lender.reconnects):
            async with self.lender.connection() as connection:
                if connection.autocommit and not in_transaction(connection):
                    return await _run(connection, program)
                return await _transact(connection, program, BEGIN_READ)

    def glance(self, program: StatementProgram[R]) -> R:
        """The same, for callers in other threads than the event loop's."""
        return self._wait(self.aglance(program))

    async def awrite(self, program: StatementProgram[R], *, durable: bool = True) -> R:
        """Run a program in one transaction: all of it or nothing."""
        await self.aset_up()
        with explained("changing checkpoints", self.lender.reconnects):
            async with self.lender.connection() as connection:
                return await _transact(connection, self.programs.settled(program, durable), BEGIN_WRITE)

    async def astore(self, batch: Sequence[Encoded], *, durable: bool) -> Mapping[int, int]:
        """Store a batch: in one statement where it is an ordinary one."""
        await self.aset_up()
        once = self.programs.at_once(batch, durable, self.known)
        with explained(f"storing in {where(batch)}", self.lender.reconnects):
            async with self.lender.connection() as connection:
                if once is not None and not in_transaction(connection):
                    try:
                        return once.counted(await _once(connection, once.statement))
                    except psycopg.Error as error:
                        if not is_unusual(error):
                            raise
                program = self.programs.settled(self.programs.store_batch(batch), durable)
                return await _transact(connection, program, BEGIN_WRITE)


async def _once(connection: psycopg.AsyncConnection[Any], statement: Statement) -> tuple[Any, ...]:
    """Run one statement that is a transaction by itself; its one row."""
    cursor = psycopg.AsyncCursor(connection, row_factory=tuple_row)
    try:
        await cursor.execute(native(statement.sql), statement.params, binary=True)
        row = await cursor.fetchone()
        if not connection.autocommit:
            await connection.commit()
    except BaseException:
        await _undo(connection)
        raise
    assert row is not None
    return row


async def _transact(connection: psycopg.AsyncConnection[Any], program: StatementProgram[R], level: str) -> R:
    if in_transaction(connection):
        async with connection.transaction():
            return await _run(connection, program)
    await connection.execute(("BEGIN " if connection.autocommit else "SET TRANSACTION ") + level)
    try:
        result = await _run(connection, program)
        await connection.commit()
    except BaseException:
        await _undo(connection)
        raise
    return result


async def _undo(connection: psycopg.AsyncConnection[Any]) -> None:
    """Roll back, unless the connection is gone."""
    if not connection.closed and in_transaction(connection):
        try:
            await connection.rollback()
        except psycopg.Error:
            await connection.close()


async def _run(connection: psycopg.AsyncConnection[Any], program: StatementProgram[R]) -> R:
    cursor = psycopg.AsyncCursor(connection, row_factory=tuple_row)
    reply: Any = None
    try:
        while True:
            sql, params, many = program.send(reply)
            if many:
                await cursor.executemany(native(sql), params)
                reply = cursor.rowcount
            else:
                await cursor.execute(native(sql), params or None, binary=True)
                reply = await cursor.fetchall() if cursor.description is not None else []
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        program.close()
        await cursor.close()
