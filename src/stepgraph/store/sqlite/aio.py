"""`AsyncSqliteStore`: a store in a SQLite file, for an event loop.

Rules of this file: it carries out the requests of `stepgraph.store.sql.program` on one `aiosqlite` connection, one
transaction at a time. What the statements say is decided there.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

from stepgraph.checkpoint.sqlite.faults import explained
from stepgraph.store.base.config import TTLConfig
from stepgraph.store.sql.aio import AsyncSqlStore
from stepgraph.store.sql.program import Deserializer
from stepgraph.store.sql.statements import Change, Query
from stepgraph.store.sqlite import migrations
from stepgraph.store.sqlite.base import BaseSqliteStore, SqliteIndexConfig, transaction_statements
from stepgraph.store.sqlite.dialect import vector_extension_path

try:
    import aiosqlite
except ImportError as error:
    raise ImportError(
        'AsyncSqliteStore needs the package aiosqlite. Install it with: pip install "stepgraph[sqlite]"'
    ) from error


class AsyncSqliteStore(BaseSqliteStore, AsyncSqlStore):
    """A store in a SQLite file, for an event loop. Calls that are made at the same time become one batch.

    Sync methods work from any thread but the event loop's own.

    Args:
        conn: An open connection of `aiosqlite`.
        deserializer: Makes a value from the stored text; left out, the text is JSON.
        index: How to embed values for search; left out, there is no vector search.
        ttl: How items expire; left out, only items that are written with a `ttl` do.

    Example:
        ```python
        async with AsyncSqliteStore.from_conn_string("memory.db") as store:
            await store.aput(("users", "7"), "food", {"likes": "figs"})
        ```
    """

    supports_ttl = True

    def __init__(
        self,
        conn: aiosqlite.Connection,
        *,
        deserializer: Deserializer | None = None,
        index: SqliteIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        self.conn = conn
        self._configure(index, ttl, deserializer)
        self._lock = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls,
        conn_string: str,
        *,
        index: SqliteIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> AsyncIterator[AsyncSqliteStore]:
        """Open a store on a file, and close it at the end of the `async with` block.

        Args:
            conn_string: The path of the file, or `":memory:"`.
            index: As for the constructor.
            ttl: As for the constructor.
        """
        async with aiosqlite.connect(conn_string, isolation_level=None) as conn:
            await conn.execute_fetchall("PRAGMA journal_mode = WAL")
            async with cls(conn, index=index, ttl=ttl) as store:
                yield store

    async def __aenter__(self) -> AsyncSqliteStore:
        return self

    async def setup(self) -> None:
        """Create or bring up to date the tables. The first use does it too."""
        async with self._lock:
            if self._is_ready:
                return
            for name, arguments, function in self._dialect.functions():
                await self.conn.create_function(name, arguments, function, deterministic=True)
            if self._indexing is not None:
                self._dialect.has_vector_extension = await load_vector_extension(self.conn)
            async with self._transaction("IMMEDIATE"):
                for table, statements in migrations.tables(self._indexing is not None):
                    await self._migrate(table, statements)
            self._is_ready = True

    async def _read(self, queries: list[Query]) -> list[list[Any]]:
        async with self._lock:
            try:
                if len(queries) == 1:
                    return [list(await self.conn.execute_fetchall(*queries[0]))]
                async with self._transaction("DEFERRED"):
                    return [list(await self.conn.execute_fetchall(*query)) for query in queries]
            except sqlite3.OperationalError as error:
                raise self._dialect.explain(error) from None

    async def _write(self, changes: list[Change]) -> int:
        touched = 0
        async with self._lock:
            with explained():
                async with self._transaction("IMMEDIATE"):
                    for sql, rows in changes:
                        async with self.conn.executemany(sql, rows) as cursor:
                            touched = cursor.rowcount
        return touched

    @asynccontextmanager
    async def _transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"]) -> AsyncIterator[None]:
        """All or nothing; inside a transaction that somebody else has open, a savepoint of it."""
        begin, commit, undo = transaction_statements(kind, self.conn.in_transaction)
        await self.conn.execute_fetchall(begin)
        try:
            yield
            await self.conn.execute_fetchall(commit)
        except BaseException:
            if self.conn.in_transaction:  # SQLite itself undoes some failed transactions
                for statement in undo:
                    await self.conn.execute_fetchall(statement)
            raise

    async def _migrate(self, table: str, statements: list[str]) -> None:
        await self.conn.execute_fetchall(migrations.create_version_table(table))
        rows = list(await self.conn.execute_fetchall(migrations.newest_version(table)))
        for version, statement in enumerate(statements):
            if version > rows[0][0]:
                await self.conn.execute_fetchall(statement)
                await self.conn.execute_fetchall(migrations.insert_version(table), (version,))


async def load_vector_extension(conn: aiosqlite.Connection) -> bool:
    """Load the extension `sqlite-vec` into a connection, if it is installed and this Python allows extensions."""
    path = vector_extension_path()
    if path is None or not hasattr(sqlite3.Connection, "enable_load_extension"):
        return False
    await conn.enable_load_extension(True)
    try:
        await conn.load_extension(path)
    except sqlite3.OperationalError:
        return False  # built for another platform: NumPy or Python computes the distances
    finally:
        await conn.enable_load_extension(False)
    return True
