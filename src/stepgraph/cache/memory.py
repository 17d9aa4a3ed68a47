"""`InMemoryCache`: a cache in this process's memory.

Rules of this file: it keeps bytes, not objects, so a value that a caller changes later is not changed in the cache.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from stepgraph.cache.base import BaseCache, ValueT
from stepgraph.cache.keys import FullKey, Namespace
from stepgraph.checkpoint.serde.base import SerializerProtocol

FIRST_PURGE = 256


class _Entry(NamedTuple):
    typed: tuple[str, bytes]
    expires_at: float | None


class InMemoryCache(BaseCache[ValueT]):
    """A cache that lives as long as this object. Safe to use from several threads and event loops.

    Args:
        serde: Makes bytes of values and back; left out, the library's own serializer.

    Example:
        >>> cache = InMemoryCache()
        >>> cache.set({(("graph", "node"), "key"): ("value", 60)})
        >>> cache.get([(("graph", "node"), "key")])
        {(('graph', 'node'), 'key'): 'value'}
    """

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self.clock: Callable[[], float] = time.time
        self._namespaces: dict[Namespace, dict[str, _Entry]] = {}
        self._lock = threading.Lock()
        self._added = 0
        self._purge_after = FIRST_PURGE

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """The values of those keys that are there and not expired."""
        now = self.clock()
        found: dict[FullKey, tuple[str, bytes]] = {}
        with self._lock:
            for namespace, key in keys:
                entries = self._namespaces.get(namespace)
                entry = entries.get(key) if entries else None
                if entry is None or entries is None:
                    continue
                if entry.expires_at is not None and entry.expires_at <= now:
                    del entries[key]
                else:
                    found[namespace, key] = entry.typed
        return self._load(found)

    def set(self, keys: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values, see `BaseCache.set`."""
        now = self.clock()
        entries = [
            (key, _Entry(self.serde.dumps_typed(value), None if ttl is None else now + ttl))
            for key, (value, ttl) in keys.items()
        ]
        with self._lock:
            for (namespace, key), entry in entries:
                self._namespaces.setdefault(namespace, {})[key] = entry
            self._added += len(entries)
            if self._added >= self._purge_after:
                self._purge(now)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget values, see `BaseCache.clear`."""
        with self._lock:
            if namespaces is None:
                self._namespaces.clear()
            else:
                for namespace in namespaces:
                    self._namespaces.pop(namespace, None)

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """As `get`: nothing is waited for."""
        return self.get(keys)

    async def aset(self, keys: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """As `set`: nothing is waited for."""
        self.set(keys)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """As `clear`: nothing is waited for."""
        self.clear(namespaces)

    def _purge(self, now: float) -> None:
        """Drop what is expired; the next time when as many entries were added as are left now."""
        left = 0
        for namespace, entries in list(self._namespaces.items()):
            kept = {
                key: entry
                for key, entry in entries.items()
                if entry.expires_at is None or entry.expires_at > now
            }
            left += len(kept)
            if kept:
                self._namespaces[namespace] = kept
            else:
                del self._namespaces[namespace]
        self._added = 0
        self._purge_after = max(FIRST_PURGE, left)
