"""`SqliteSaver`: for programs that call it from threads, one or many."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.sql.runners import ThreadRunner
from stepgraph.checkpoint.sql.saver import BaseSqlSaver
from stepgraph.checkpoint.sqlite.connections import Connections, connect
from stepgraph.checkpoint.sqlite.programs import SqlitePrograms

if TYPE_CHECKING:
    from stepgraph.checkpoint.holds import TimeToLive
    from stepgraph.checkpoint.serde.base import SerializerProtocol

__all__ = ("SqliteSaver",)


class SqliteSaver(BaseSqlSaver):
    """Keeps checkpoints in a SQLite database, by difference.

    Many threads, many savers and many processes may use one file at once: readers do not wait, writers take turns. Its
    tables begin with `stepgraph_`, so the file may hold others too. Async programs can use it as well; its async methods
    work in threads.

    Args:
        conn: A connection, opened with `check_same_thread=False`. Who opened it closes it.
        serde: Turns values into bytes and back; by default `JsonPlusSerializer()`.
        ttl: How long threads live after the last write to them, or the end of their last run: minutes, a `timedelta`, or
            `{"default_ttl": ..., "sweep_interval_minutes": ...}`. An expired thread reads as if it had never been; its
            place is given back by `sweep_ttl()` or a background sweeper (`start_ttl_sweeper()`). By default for ever.

    Example:
        >>> with SqliteSaver.from_conn_string(":memory:") as saver:
        ...     saver.get_tuple({"configurable": {"thread_id": "1"}}) is None
        True
    """

    def __init__(
        self, conn: sqlite3.Connection, *, serde: SerializerProtocol | None = None, ttl: TimeToLive = None
    ) -> None:
        self._connections = Connections(conn)
        programs = SqlitePrograms()
        super().__init__(ThreadRunner(self._connections, programs), programs, serde=serde, ttl=ttl)
        self.conn = conn
        self.lock = self._connections.lock

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str, *, ttl: TimeToLive = None) -> Iterator[SqliteSaver]:
        """Open a database for as long as the block lasts.

        Args:
            conn_string: A path, `":memory:"`, or a URI that begins with `file:`.
            ttl: How long threads live, as for the class.
        """
        connection = connect(conn_string)
        saver = cls(connection)
        saver.set_ttl(ttl)
        saver._connections.owned = True
        try:
            yield saver
        finally:
            saver.stop_ttl_sweeper()
            saver._connections.close()

    def setup(self) -> None:
        """Make or migrate the tables. Called by itself when it is needed."""
        self._connections.set_up()

    def vacuum(self) -> None:
        """Give all unused space of the file back to the system.

        Files give back what is deleted by themselves. One that was made by another program does after this; it takes as long
        as writing the file anew, and nobody else may write meanwhile.
        """
        self._connections.vacuum()

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
