"""`AsyncSqliteSaver`: for programs that await it.

It works in one of two ways. With connections of its own it runs a whole program in a worker thread, one hand-over each.
On a connection of `aiosqlite` that it is given it awaits statement by statement, so that it shares that connection's
transactions and works for databases in memory.

Rules: `aiosqlite` is never imported: who passes a connection has it.
"""

from __future__ import annotations

from asyncio import Lock, get_running_loop, to_thread
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.sql.runners import LoopRunner, ThreadRunner
from stepgraph.checkpoint.sql.saver import BaseSqlSaver
from stepgraph.checkpoint.sql.statements import R, StatementProgram
from stepgraph.checkpoint.sqlite.connections import GIVES_BACK, VACUUM, Connections, connect
from stepgraph.checkpoint.sqlite.faults import explained
from stepgraph.checkpoint.sqlite.programs import SqlitePrograms
from stepgraph.checkpoint.sqlite.schema import is_current, migrate

if TYPE_CHECKING:
    import aiosqlite

    from stepgraph.checkpoint.holds import TimeToLive
    from stepgraph.checkpoint.serde.base import SerializerProtocol
    from stepgraph.checkpoint.step_saver import Encoded

__all__ = ("AsyncSqliteSaver",)


class AwaitedRunner(LoopRunner):
    """Runs programs on a connection of `aiosqlite`.

    Args:
        connection: The connection.
    """

    def __init__(self, connection: aiosqlite.Connection) -> None:
        super().__init__(
            "This AsyncSqliteSaver works on a connection of aiosqlite, so its synchronous methods can only be called"
            " from another thread than its event loop's, while that loop runs. Await the method with an a in front"
            " (aget_tuple, aput, ...), or use AsyncSqliteSaver.from_conn_string(path) or SqliteSaver."
        )
        self.connection = connection
        self.lock = Lock()
        self._synchronous = ""
        self.programs = SqlitePrograms()

    # ---- async

    async def aset_up(self) -> None:
        """Make or migrate the tables, once."""
        if self.ready:
            return
        async with self.lock:
            if self.ready:
                return
            with explained():
                self._loop = get_running_loop()
                if not self._is_open():
                    await self.connection
                await self._execute("PRAGMA busy_timeout = 30000")
                if not (await self.connection.execute_fetchall("PRAGMA page_count"))[0][0]:  # type: ignore[index]
                    await self._execute(GIVES_BACK)
                await self._execute("PRAGMA journal_mode = WAL")
                if not await self._run(is_current()):
                    await self._transact(migrate())
                self.ready = True

    def _is_open(self) -> bool:
        try:
            return self.connection.in_transaction is not None
        except ValueError:
            return False

    async def avacuum(self) -> None:
        """Write the file anew without what was deleted; from then on it gives back by itself."""
        await self.aset_up()
        async with self.lock:
            for sql in VACUUM:
                await self.connection.execute_fetchall(sql)

    async def aread(self, program: StatementProgram[R]) -> R:
        """Run a program that reads: as one transaction, so that it sees one state."""
        await self.aset_up()
        async with self.lock:
            with explained():
                if self.connection.in_transaction:
                    return await self._run(program)
                await self._execute("BEGIN")
                try:
                    return await self._run(program)
                finally:
                    await self._execute("COMMIT")

    async def awrite(self, program: StatementProgram[R], *, durable: bool = True) -> R:
        """Run a program in one transaction: all of it or nothing."""
        await self.aset_up()
        async with self.lock:
            with explained():
                level = "FULL" if durable else "NORMAL"
                if level != self._synchronous and not self.connection.in_transaction:
                    await self._execute(f"PRAGMA synchronous = {level}")
                    self._synchronous = level
                return await self._transact(program)

    async def astore(self, batch: Sequence[Encoded], *, durable: bool) -> Mapping[int, int]:
        """Store a batch in one transaction."""
        return await self.awrite(self.programs.store_batch(batch), durable=durable)

    async def _transact(self, program: StatementProgram[R]) -> R:
        if not self.connection.in_transaction:
            await self._execute("BEGIN IMMEDIATE")
        try:
            result = await self._run(program)
            await self.connection.commit()
        except BaseException:
            if self.connection.in_transaction:
                await self.connection.rollback()
            raise
        return result

    async def _run(self, program: StatementProgram[R]) -> R:
        connection = self.connection
        reply: Any = None
        try:
            while True:
                sql, params, many = program.send(reply)
                if many:
                    cursor = await connection.executemany(sql, params)
                    reply = cursor.rowcount
                    await cursor.close()
                else:
                    found = await connection.execute_fetchall(sql, params)
                    reply = [tuple(row) for row in found]
        except StopIteration as end:
            result: R = end.value
            return result

    async def _execute(self, sql: str) -> None:
        cursor = await self.connection.execute(sql)
        await cursor.close()


class AsyncSqliteSaver(BaseSqlSaver):
    """Keeps checkpoints in a SQLite database, by difference, for async programs.

    Many tasks, threads, savers and processes may use one file at once. Its tables begin with `stepgraph_`, so the file may
    hold others too.

    Args:
        conn: A connection of `aiosqlite`. Who opened it closes it. `from_conn_string` needs none, and is quicker.
        serde: Turns values into bytes and back; by default `JsonPlusSerializer()`.
        ttl: How long threads live after the last write to them, or the end of their last run: minutes, a `timedelta`, or
            `{"default_ttl": ..., "sweep_interval_minutes": ...}`. An expired thread reads as if it had never been; its
            place is given back by `sweep_ttl()` or a background sweeper (`start_ttl_sweeper()`). By default for ever.

    Example:
        >>> import asyncio
        >>> async def main():
        ...     async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        ...         return await saver.aget_tuple({"configurable": {"thread_id": "1"}})
        >>> asyncio.run(main()) is None
        True
    """

    def __init__(
        self, conn: aiosqlite.Connection, *, serde: SerializerProtocol | None = None, ttl: TimeToLive = None
    ) -> None:
        runner = conn if isinstance(conn, ThreadRunner) else AwaitedRunner(conn)
        super().__init__(runner, runner.programs, serde=serde, ttl=ttl)
        self.conn = runner.connections.connection if isinstance(runner, ThreadRunner) else conn
        self.lock = runner.lock if isinstance(runner, AwaitedRunner) else Lock()

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, ttl: TimeToLive = None
    ) -> AsyncIterator[AsyncSqliteSaver]:
        """Open a database for as long as the block lasts.

        Args:
            conn_string: A path, `":memory:"`, or a URI that begins with `file:`.
            ttl: How long threads live, as for the class.
        """
        connections = Connections(connect(conn_string), owned=True)
        saver = cls(ThreadRunner(connections, SqlitePrograms()), ttl=ttl)  # type: ignore[arg-type]
        try:
            yield saver
        finally:
            await saver.astop_ttl_sweeper()
            connections.close()

    async def vacuum(self) -> None:
        """Give all unused space of the file back to the system.

        Files give back what is deleted by themselves. One that was made by another program does after this; it takes as long
        as writing the file anew, and nobody else may write meanwhile.
        """
        if isinstance(self._runner, AwaitedRunner):
            await self._runner.avacuum()
        else:
            await to_thread(self._runner.connections.vacuum)  # type: ignore[attr-defined]

    async def setup(self) -> None:
        """Make or migrate the tables. Called by itself when it is needed."""
        await self._runner.aset_up()
