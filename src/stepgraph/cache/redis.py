"""`RedisCache`: a cache on a Redis server.

Rules of this file: it speaks to a client that the person made, sync or async, and needs no import of the package itself.
A value is one Redis string, `tag:bytes`, that the server expires; its name is `prefix namespace : key`. Nothing blocks the
server: namespaces are cleared by `SCAN`, in pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepgraph.cache.base import BaseCache, ValueT
from stepgraph.cache.keys import FullKey, Namespace, namespace_text
from stepgraph.checkpoint.serde.base import SerializerProtocol

SCAN_COUNT = 500


class RedisCache(BaseCache[ValueT]):
    """A cache on a Redis server, shared by all machines that use the server.

    Args:
        redis: A client of the package `redis`: `redis.Redis` serves sync and async callers, `redis.asyncio.Redis` async
            callers only. It must return bytes (`decode_responses=False`, its default).
        serde: Makes bytes of values and back; left out, the library's own serializer.
        prefix: What the names of all entries start with.

    Example:
        ```python
        import redis

        cache = RedisCache(redis.Redis.from_url("redis://localhost:6379/0"))
        graph = builder.compile(cache=cache)
        ```
    """

    def __init__(
        self, redis: Any, *, serde: SerializerProtocol | None = None, prefix: str = "langgraph:cache:"
    ) -> None:
        super().__init__(serde=serde)
        self.redis = redis
        self.prefix = prefix
        self._is_async = type(redis).__module__.startswith("redis.asyncio")

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """The values of those keys that are there and not expired.

        Raises:
            TypeError: If the client is async.
        """
        self._require_sync("get")
        return self._found(keys, self.redis.mget(self._names(keys))) if keys else {}

    def set(self, mapping: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values, see `BaseCache.set`.

        Raises:
            TypeError: If the client is async.
        """
        self._require_sync("set")
        if mapping:
            self._fill(self.redis.pipeline(transaction=False), mapping).execute()

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget values, see `BaseCache.clear`.

        Raises:
            TypeError: If the client is async.
        """
        self._require_sync("clear")
        for pattern in self._patterns(namespaces):
            names: list[Any] = []
            for name in self.redis.scan_iter(match=pattern, count=SCAN_COUNT):
                names.append(name)
                if len(names) == SCAN_COUNT:
                    self.redis.delete(*names)
                    names.clear()
            if names:
                self.redis.delete(*names)

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """As `get`, asynchronously: with a sync client in a worker thread."""
        if not self._is_async:
            return await super().aget(keys)
        return self._found(keys, await self.redis.mget(self._names(keys))) if keys else {}

    async def aset(self, mapping: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """As `set`, asynchronously: with a sync client in a worker thread."""
        if not self._is_async:
            await super().aset(mapping)
        elif mapping:
            await self._fill(self.redis.pipeline(transaction=False), mapping).execute()

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """As `clear`, asynchronously: with a sync client in a worker thread."""
        if not self._is_async:
            await super().aclear(namespaces)
            return
        for pattern in self._patterns(namespaces):
            names = [name async for name in self.redis.scan_iter(match=pattern, count=SCAN_COUNT)]
            for start in range(0, len(names), SCAN_COUNT):
                await self.redis.delete(*names[start : start + SCAN_COUNT])

    def _require_sync(self, method: str) -> None:
        if self._is_async:
            raise TypeError(
                f"RedisCache.{method} was called, but its client is async. Use `a{method}` (run the graph with `ainvoke`"
                " or `astream`), or give the cache a `redis.Redis` client, which serves both."
            )

    def _names(self, keys: Sequence[FullKey]) -> list[str]:
        return [f"{self.prefix}{namespace_text(namespace)}:{key}" for namespace, key in keys]

    def _patterns(self, namespaces: Sequence[Namespace] | None) -> list[str]:
        """What the names of the entries of some namespaces look like; no namespace matches another's pattern."""
        if namespaces is None:
            return [escape_pattern(self.prefix) + "*"]
        return [
            escape_pattern(f"{self.prefix}{namespace_text(namespace)}:") + "*" for namespace in namespaces
        ]

    def _found(self, keys: Sequence[FullKey], answers: Sequence[Any]) -> dict[FullKey, ValueT]:
        stored: dict[FullKey, tuple[str, bytes]] = {}
        for key, answer in zip(keys, answers):
            if answer is None:
                continue
            if not isinstance(answer, bytes):
                raise TypeError(
                    f"The Redis client of RedisCache returned {type(answer).__name__}, not bytes."
                    " Make the client with decode_responses=False."
                )
            tag, _, data = answer.partition(b":")
            stored[key] = (tag.decode(), data)
        return self._load(stored)

    def _fill(self, pipeline: Any, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> Any:
        """Put the commands that keep values into a pipeline."""
        for name, (value, ttl) in zip(self._names(list(pairs)), pairs.values()):
            tag, data = self.serde.dumps_typed(value)
            if ttl is not None and ttl <= 0:
                pipeline.delete(name)
            else:
                lifetime = None if ttl is None else max(1, round(ttl * 1000))
                pipeline.set(name, tag.encode() + b":" + data, px=lifetime)
        return pipeline


def escape_pattern(text: str) -> str:
    """The Redis pattern that matches exactly a text.

    >>> escape_pattern("a*b[c]")
    'a\\\\*b\\\\[c\\\\]'
    """
    return "".join(f"\\{letter}" if letter in "\\*?[]^-" else letter for letter in text)
