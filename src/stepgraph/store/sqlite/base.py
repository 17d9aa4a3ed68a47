"""`SqliteStore`: a store in a SQLite file, for sync and async callers.

Rules of this file: it carries out the requests of `stepgraph.store.sql.program` on one connection, under that
connection's lock. What the statements say is decided there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from typing import Any, Literal, NamedTuple

from stepgraph.checkpoint.sqlite.faults import explained
from stepgraph.checkpoint.sqlite.locks import connection_lock
from stepgraph.store.base.config import IndexConfig, TTLConfig, utc_now
from stepgraph.store.base.embed import Embeddings
from stepgraph.store.base.indexing import Indexing
from stepgraph.store.sql.program import Deserializer, StorePlan
from stepgraph.store.sql.statements import Change, Query
from stepgraph.store.sql.sync import SqlStore
from stepgraph.store.sql.values import load_json
from stepgraph.store.sqlite import migrations
from stepgraph.store.sqlite.dialect import SqliteDialect, vector_extension_path

MIGRATIONS = migrations.MIGRATIONS
VECTOR_MIGRATIONS = migrations.VECTOR_MIGRATIONS
SAVEPOINT = "stepgraph_store"
_suffixes = count(1)


class SqliteIndexConfig(IndexConfig, total=False):
    """How a SQLite store embeds values for search, see `IndexConfig`."""


class PreparedGetQuery(NamedTuple):
    """A query for items of one namespace, with what it is for."""

    query: str
    params: tuple[Any, ...]
    namespace: tuple[str, ...]
    items: list[Any]
    kind: Literal["get", "refresh"]


class BaseSqliteStore:
    """What the sync and the async SQLite store share: configuration, tables and the ways of SQLite."""

    MIGRATIONS = MIGRATIONS
    VECTOR_MIGRATIONS = VECTOR_MIGRATIONS
    supports_ttl = True
    index_config: IndexConfig | None = None
    ttl_config: TTLConfig | None = None

    def _configure(
        self, index: IndexConfig | None, ttl: TTLConfig | None, deserializer: Deserializer | None
    ) -> None:
        self.index_config = index
        self.ttl_config = ttl
        self.clock: Callable[[], datetime] = utc_now
        self._deserializer = deserializer
        self._indexing = Indexing(index) if index else None
        suffix = f"_{next(_suffixes)}" if deserializer else ""
        self._dialect = SqliteDialect(deserializer or load_json, suffix)
        self._is_ready = False

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes vectors of texts, if the store has an index."""
        return self._indexing.embeddings if self._indexing else None

    def _plan(self) -> StorePlan:
        return StorePlan(self._dialect, self._indexing, self.ttl_config, self._deserializer, self.clock)


class SqliteStore(BaseSqliteStore, SqlStore):
    """A store in a SQLite file. Safe to use from several threads; its async methods run in worker threads.

    Items come back newest first, or by nearness where a search has a query.

    Args:
        conn: A connection that was made with `check_same_thread=False`.
        deserializer: Makes a value from the stored text; left out, the text is JSON.
        index: How to embed values for search; left out, there is no vector search.
        ttl: How items expire; left out, only items that are written with a `ttl` do.

    Example:
        >>> with SqliteStore.from_conn_string(":memory:") as store:
        ...     store.put(("users", "7"), "food", {"likes": "figs"})
        ...     [item.value for item in store.search(("users",), filter={"likes": {"$ne": "plums"}})]
        [{'likes': 'figs'}]
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        *,
        deserializer: Deserializer | None = None,
        index: SqliteIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        self.conn = conn
        self._configure(index, ttl, deserializer)
        self._lock = connection_lock(conn, self)

    @classmethod
    @contextmanager
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        index: SqliteIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> Iterator[SqliteStore]:
        """Open a store on a file, and close it at the end of the `with` block.

        Args:
            conn_string: The path of the file, or `":memory:"`.
            index: As for the constructor.
            ttl: As for the constructor.
        """
        conn = sqlite3.connect(conn_string, check_same_thread=False, isolation_level=None)
        try:
            conn.execute("PRAGMA journal_mode = WAL")
            store = cls(conn, index=index, ttl=ttl)
            try:
                yield store
            finally:
                store.stop_ttl_sweeper()
        finally:
            conn.close()

    def setup(self) -> None:
        """Create or bring up to date the tables. The first use does it too."""
        with self._lock:
            if self._is_ready:
                return
            for name, arguments, function in self._dialect.functions():
                self.conn.create_function(name, arguments, function, deterministic=True)
            if self._indexing is not None:
                self._dialect.has_vector_extension = load_vector_extension(self.conn)
            with self._transaction("IMMEDIATE"):
                for table, statements in migrations.tables(self._indexing is not None):
                    self._migrate(table, statements)
            self._is_ready = True

    def _read(self, queries: list[Query]) -> list[list[Any]]:
        with self._lock, explained():
            try:
                if len(queries) == 1:
                    return [self.conn.execute(*queries[0]).fetchall()]
                with self._transaction("DEFERRED"):
                    return [self.conn.execute(*query).fetchall() for query in queries]
            except sqlite3.OperationalError as error:
                raise self._dialect.explain(error) from None

    def _write(self, changes: list[Change]) -> int:
        touched = 0
        with self._lock, explained(), self._transaction("IMMEDIATE"):
            for sql, rows in changes:
                touched = self.conn.executemany(sql, rows).rowcount
        return touched

    @contextmanager
    def _transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"]) -> Iterator[None]:
        """All or nothing; inside a transaction that somebody else has open, a savepoint of it."""
        begin, commit, undo = transaction_statements(kind, self.conn.in_transaction)
        self.conn.execute(begin)
        try:
            yield
            self.conn.execute(commit)
        except BaseException:
            if self.conn.in_transaction:  # SQLite itself undoes some failed transactions
                for statement in undo:
                    self.conn.execute(statement)
            raise

    def _migrate(self, table: str, statements: list[str]) -> None:
        self.conn.execute(migrations.create_version_table(table))
        newest = self.conn.execute(migrations.newest_version(table)).fetchone()[0]
        for version, statement in enumerate(statements):
            if version > newest:
                self.conn.execute(statement)
                self.conn.execute(migrations.insert_version(table), (version,))


def transaction_statements(
    kind: Literal["IMMEDIATE", "DEFERRED"], is_nested: bool
) -> tuple[str, str, tuple[str, ...]]:
    """The statements that begin, end and undo a transaction."""
    if is_nested:
        release = f"RELEASE {SAVEPOINT}"
        return f"SAVEPOINT {SAVEPOINT}", release, (f"ROLLBACK TO {SAVEPOINT}", release)
    return f"BEGIN {kind}", "COMMIT", ("ROLLBACK",)


def load_vector_extension(conn: sqlite3.Connection) -> bool:
    """Load the extension `sqlite-vec` into a connection, if it is installed and this Python allows extensions."""
    path = vector_extension_path()
    if path is None or not hasattr(conn, "enable_load_extension"):
        return False
    conn.enable_load_extension(True)
    try:
        conn.load_extension(path)
    except sqlite3.OperationalError:
        return False  # built for another platform: NumPy or Python computes the distances
    finally:
        conn.enable_load_extension(False)
    return True
