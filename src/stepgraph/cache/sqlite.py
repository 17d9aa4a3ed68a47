"""`SqliteCache`: a cache in a SQLite file.

Rules of this file: one connection under a lock; keys and namespaces are parameters. Losing the newest entries in a power
cut is allowed, a damaged file is not: hence WAL with `synchronous = NORMAL`.
"""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence

from stepgraph.cache.base import BaseCache, ValueT
from stepgraph.cache.keys import FullKey, Namespace, namespace_text
from stepgraph.checkpoint.serde.base import SerializerProtocol

CREATE = """
CREATE TABLE IF NOT EXISTS cache (
    ns TEXT,
    key TEXT,
    expiry REAL,
    encoding TEXT NOT NULL,
    val BLOB NOT NULL,
    PRIMARY KEY (ns, key)
)
"""
SELECT = "SELECT encoding, val FROM cache WHERE ns = ? AND key = ? AND (expiry IS NULL OR expiry > ?)"
REPLACE = "INSERT OR REPLACE INTO cache (ns, key, expiry, encoding, val) VALUES (?, ?, ?, ?, ?)"
PURGE = "DELETE FROM cache WHERE expiry IS NOT NULL AND expiry <= ?"

PURGE_SECONDS = 60.0


class SqliteCache(BaseCache[ValueT]):
    """A cache in a SQLite file, shared by all processes that open it. Safe to use from several threads.

    Args:
        path: The path of the file, or `":memory:"`.
        serde: Makes bytes of values and back; left out, the library's own serializer.

    Example:
        >>> cache = SqliteCache(path=":memory:")
        >>> cache.set({(("graph", "node"), "key"): ("value", None)})
        >>> cache.get([(("graph", "node"), "key")])
        {(('graph', 'node'), 'key'): 'value'}
        >>> cache.close()
    """

    def __init__(self, *, path: str, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self.clock: Callable[[], float] = time.time
        self._lock = threading.Lock()
        self._purged_at = 0.0
        self._conn = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        try:
            self._conn.execute("PRAGMA journal_mode = WAL")
            self._conn.execute("PRAGMA synchronous = NORMAL")
            self._conn.execute(CREATE)
        except sqlite3.Error:
            self._conn.close()
            raise
        self._closer = weakref.finalize(self, self._conn.close)

    def close(self) -> None:
        """Close the file. The cache cannot be used any more."""
        with self._lock:
            self._closer()

    def __enter__(self) -> SqliteCache[ValueT]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """The values of those keys that are there and not expired."""
        now = self.clock()
        found: dict[FullKey, tuple[str, bytes]] = {}
        with self._lock:
            for namespace, key in keys:
                row = self._conn.execute(SELECT, (namespace_text(namespace), key, now)).fetchone()
                if row is not None:
                    found[namespace, key] = row
        return self._load(found)

    def set(self, mapping: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values, see `BaseCache.set`."""
        now = self.clock()
        rows = []
        for (namespace, key), (value, ttl) in mapping.items():
            expiry = None if ttl is None else now + ttl
            rows.append((namespace_text(namespace), key, expiry, *self.serde.dumps_typed(value)))
        with self._lock, self._transaction():
            self._conn.executemany(REPLACE, rows)
            if now - self._purged_at >= PURGE_SECONDS:
                self._conn.execute(PURGE, (now,))
                self._purged_at = now

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget values, see `BaseCache.clear`."""
        with self._lock, self._transaction():
            if namespaces is None:
                self._conn.execute("DELETE FROM cache")
            else:
                texts = [(namespace_text(namespace),) for namespace in namespaces]
                self._conn.executemany("DELETE FROM cache WHERE ns = ?", texts)

    async def aset(self, mapping: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """As `set`, in a worker thread."""
        await super().aset(mapping)

    def _transaction(self) -> sqlite3.Connection:
        """Begin; the connection, as a context manager, commits or rolls back."""
        self._conn.execute("BEGIN IMMEDIATE")
        return self._conn
