"""`SqliteSaver`: for programs that call it from threads, one or many."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.sql.saver import BaseSqlSaver
from stepgraph.checkpoint.sql.statements import R, StatementProgram
from stepgraph.checkpoint.sqlite.connections import Connections, connect
from stepgraph.checkpoint.sqlite.programs import SqlitePrograms

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.base import SerializerProtocol
    from stepgraph.checkpoint.step_saver import Encoded

__all__ = ("SqliteSaver", "ThreadRunner")


class ThreadRunner:
    """Runs programs on connections that block: in the caller's thread, or for async callers in a worker thread."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.set_up = connections.set_up
        self.read = connections.read
        self.write = connections.write
        self.programs = SqlitePrograms()

    def store(self, batch: Sequence[Encoded], *, durable: bool) -> Mapping[int, int]:
        """Store a batch in one transaction."""
        return self.write(self.programs.store_batch(batch), durable=durable)

    async def astore(self, batch: Sequence[Encoded], *, durable: bool) -> Mapping[int, int]:
        """Store a batch in one transaction."""
        return await self.awrite(self.programs.store_batch(batch), durable=durable)

    def may_wait(self) -> bool:
        """Connections that block can be used from anywhere."""
        return True

    async def aset_up(self) -> None:
        """Make or migrate the tables, once."""
        from asyncio import to_thread

        await to_thread(self.set_up)

    async def aread(self, program: StatementProgram[R]) -> R:
        """Run a program that reads."""
        from asyncio import to_thread

        return await to_thread(self.read, program)

    async def awrite(self, program: StatementProgram[R], *, durable: bool = True) -> R:
        """Run a program that writes."""
        from asyncio import to_thread

        return await to_thread(self.write, program, durable=durable)


class SqliteSaver(BaseSqlSaver):
    """Keeps checkpoints in a SQLite database, by difference.

    Many threads, many savers and many processes may use one file at once: readers do not wait, writers take turns. Its
    tables begin with `stepgraph_`, so the file may hold others too. Async programs can use it as well; its async methods
    work in threads.

    Args:
        conn: A connection, opened with `check_same_thread=False`. Who opened it closes it.
        serde: Turns values into bytes and back; by default `JsonPlusSerializer()`.

    Example:
        >>> with SqliteSaver.from_conn_string(":memory:") as saver:
        ...     saver.get_tuple({"configurable": {"thread_id": "1"}}) is None
        True
    """

    def __init__(self, conn: sqlite3.Connection, *, serde: SerializerProtocol | None = None) -> None:
        self._connections = Connections(conn)
        runner = ThreadRunner(self._connections)
        super().__init__(runner, runner.programs, serde=serde)
        self.conn = conn
        self.lock = self._connections.lock

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str) -> Iterator[SqliteSaver]:
        """Open a database for as long as the block lasts.

        Args:
            conn_string: A path, `":memory:"`, or a URI that begins with `file:`.
        """
        connection = connect(conn_string)
        saver = cls(connection)
        saver._connections.owned = True
        try:
            yield saver
        finally:
            saver._connections.close()

    @property
    def is_setup(self) -> bool:
        """Whether the tables are known to be there."""
        return self._connections.ready

    def setup(self) -> None:
        """Make or migrate the tables. Called by itself when it is needed."""
        self._connections.set_up()

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[Any]:
        """A cursor on the connection, for statements of your own.

        Args:
            transaction: Whether to commit at the end of the block.
        """
        self.setup()
        with self.lock:
            cursor = self.conn.cursor()
            try:
                yield cursor
            finally:
                if transaction:
                    self.conn.commit()
                cursor.close()
