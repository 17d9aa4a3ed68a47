"""Running programs on SQLite: one connection that writes, a few that read, from any thread.

A file is in WAL mode: readers see the last committed state and never wait for the writer. Each read of several statements
is one transaction, so it sees one state. A database in memory has one connection for all.

Rules: knows programs of statements and nothing of checkpoints.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from time import sleep
from typing import Any, Final, Literal

from stepgraph.checkpoint.sql.statements import R, StatementProgram
from stepgraph.checkpoint.sqlite.faults import explained
from stepgraph.checkpoint.sqlite.locks import connection_lock, file_lock
from stepgraph.checkpoint.sqlite.schema import is_current, migrate

__all__ = ("Connections", "connect", "file_of")

_WAIT: Final = 30.0
"""So many seconds a writer waits for another process."""
GIVES_BACK: Final = "PRAGMA auto_vacuum = FULL"
"""Lets a file shrink where something is deleted; only a file without any table takes it, or one that is vacuumed."""
VACUUM: Final = (GIVES_BACK, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
_IDLE: Final = 8
"""So many idle readers are kept."""


def connect(database: str, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection that any thread may use, one at a time, and that begins transactions only when told to."""
    connection = sqlite3.connect(
        database,
        timeout=_WAIT,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        uri=database.startswith("file:"),
    )
    if read_only:
        connection.execute("PRAGMA query_only = 1")
    return connection


def file_of(connection: sqlite3.Connection) -> str:
    """The file behind a connection; an empty text for a database in memory."""
    for _, name, path in connection.execute("PRAGMA database_list").fetchall():
        if name == "main":
            return path or ""
    return ""


class Connections:
    """A database and the connections to it.

    Args:
        connection: The connection that writes.
        owned: Whether `close()` closes it.
    """

    def __init__(self, connection: sqlite3.Connection, *, owned: bool = False) -> None:
        self.connection = connection
        self.owned = owned
        self.lock = connection_lock(connection, self)
        self._path: str | None = None
        self._file_lock: Any = None
        self.ready = False
        self._synchronous = ""
        self._idle: list[sqlite3.Connection] = []
        self._idle_lock = Lock()

    # ---- the file

    def set_up(self) -> None:
        """Make or migrate the tables, once."""
        if self.ready:
            return
        with self.lock:
            if self.ready:
                return
            with explained():
                self._path = file_of(self.connection)
                self._file_lock = file_lock(self._path or f":memory:{id(self.connection)}")
                _execute(self.connection, f"PRAGMA busy_timeout = {int(_WAIT * 1000)}")
                if not self.connection.execute("PRAGMA page_count").fetchone()[0]:
                    _execute(self.connection, GIVES_BACK)
                if self._path:
                    self._use_write_ahead_log()
                if not _run(self.connection, is_current()):
                    with self._file_lock:
                        self._transact(migrate())
            self.ready = True

    def _use_write_ahead_log(self) -> None:
        """Switching needs the file for itself, and SQLite does not wait for that by itself."""
        for attempt in range(200):
            try:
                _execute(self.connection, "PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or attempt == 199:
                    raise
                sleep(0.02)
            else:
                return

    def close(self) -> None:
        """Close the readers, and the writer if it is ours."""
        with self._idle_lock:
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()
        if self.owned:
            with self.lock:
                self.connection.close()

    def vacuum(self) -> None:
        """Write the file anew without what was deleted; from then on it gives back by itself."""
        self.set_up()
        with self._file_lock, self.lock, explained(self._path):
            for sql in VACUUM:
                self.connection.execute(sql).fetchall()

    # ---- running programs

    def write(self, program: StatementProgram[R], *, durable: bool = True) -> R:
        """Run a program in one transaction: all of it or nothing.

        Args:
            program: The program.
            durable: Whether a loss of power after this returns must not undo it.
        """
        self.set_up()
        with self._file_lock, self.lock, explained(self._path):
            self._synchronize("FULL" if durable else "NORMAL")
            return self._transact(program)

    def _synchronize(self, level: Literal["FULL", "NORMAL"]) -> None:
        if self._path and level != self._synchronous and not self.connection.in_transaction:
            _execute(self.connection, f"PRAGMA synchronous = {level}")
            self._synchronous = level

    def _transact(self, program: StatementProgram[R]) -> R:
        connection = self.connection
        if not connection.in_transaction:
            _execute(connection, "BEGIN IMMEDIATE")
        try:
            result = _run(connection, program)
            _execute(connection, "COMMIT")
        except BaseException:
            if connection.in_transaction:
                _execute(connection, "ROLLBACK")
            raise
        return result

    def read(self, program: StatementProgram[R]) -> R:
        """Run a program that reads, on one state of the database."""
        self.set_up()
        if not self._path:
            with self.lock, explained(self._path):
                return _run(self.connection, program)
        with explained(self._path), self._reader() as reader:
            reader.execute("BEGIN")
            try:
                return _run(reader, program)
            finally:
                if reader.in_transaction:
                    reader.execute("ROLLBACK")

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        with self._idle_lock:
            reader = self._idle.pop() if self._idle else None
        if reader is None:
            assert self._path is not None
            reader = connect(self._path, read_only=True)
        try:
            yield reader
        except sqlite3.Error:
            reader.close()
            raise
        except BaseException:
            self._give_back(reader)
            raise
        self._give_back(reader)

    def _give_back(self, reader: sqlite3.Connection) -> None:
        with self._idle_lock:
            if len(self._idle) < _IDLE:
                self._idle.append(reader)
                return
        reader.close()

    def __del__(self) -> None:
        for reader in self._idle:
            reader.close()


def _execute(connection: sqlite3.Connection, sql: str) -> None:
    connection.execute(sql).close()


def _run(connection: sqlite3.Connection, program: StatementProgram[R]) -> R:
    cursor = connection.cursor()
    cursor.row_factory = None
    reply: Any = None
    try:
        while True:
            sql, params, many = program.send(reply)
            if many:
                cursor.executemany(sql, params)
                reply = cursor.rowcount
            else:
                reply = cursor.execute(sql, params).fetchall()
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        cursor.close()
