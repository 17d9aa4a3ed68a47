"""`BaseCache`: what every cache offers, and what its subclasses share.

Rules of this file: no storage. Values become bytes by a serializer; an entry that cannot be read any more (its class is
gone, a byte is broken) counts as missing, with a warning: a cache may forget, it must not fail a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, cast
from warnings import warn

from stepgraph.cache.keys import FullKey, Namespace
from stepgraph.checkpoint.serde.base import SerializerProtocol

ValueT = TypeVar("ValueT")

__all__ = ["BaseCache", "FullKey", "Namespace"]


class DefaultSerializer:
    """The serializer of caches that are given none (safe, no pickle); made when it is first used."""

    def __init__(self) -> None:
        self._made: SerializerProtocol | None = None

    def __get__(self, cache: object, owner: type) -> SerializerProtocol:
        if self._made is None:
            from stepgraph.checkpoint.serde.jsonplus import (
                JsonPlusSerializer,  # loaded only by who uses a cache
            )

            self._made = JsonPlusSerializer(pickle_fallback=False)
        return self._made


class BaseCache(ABC, Generic[ValueT]):
    """Values by namespace and key, each for ever or for some seconds.

    A subclass implements `get`, `set` and `clear`. The async methods run them in a worker thread; a subclass that can do
    better overrides them.

    Args:
        serde: Makes bytes of values and back; left out, the library's own serializer.
    """

    if TYPE_CHECKING:
        serde: SerializerProtocol
    else:
        serde = DefaultSerializer()

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        if serde is not None:
            self.serde = serde

    @abstractmethod
    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """The values of those keys that are there and not expired."""

    @abstractmethod
    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values.

        Args:
            pairs: For each key its value and the seconds until it expires; `None` is never. A value that lives no time
                at all removes what is there.
        """

    @abstractmethod
    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget values.

        Args:
            namespaces: Forget what is in exactly these namespaces; left out, everything.
        """

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """As `get`, asynchronously."""
        from asyncio import to_thread  # a coroutine runs: the module is loaded

        return await to_thread(self.get, keys)

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """As `set`, asynchronously."""
        from asyncio import to_thread  # a coroutine runs: the module is loaded

        await to_thread(self.set, pairs)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """As `clear`, asynchronously."""
        from asyncio import to_thread  # a coroutine runs: the module is loaded

        await to_thread(self.clear, namespaces)

    def _load(self, stored: Mapping[FullKey, tuple[str, bytes]]) -> dict[FullKey, ValueT]:
        """Values from tags and bytes, without those that cannot be read."""
        values: dict[FullKey, ValueT] = {}
        for key, typed in stored.items():
            try:
                values[key] = cast("ValueT", self.serde.loads_typed(typed))
            except Exception as error:
                warn(
                    f"The cached value with key {key[1]!r} in namespace {key[0]} of {type(self).__name__} cannot be read"
                    f" ({type(error).__name__}: {error}); it counts as missing and is computed again.",
                    stacklevel=3,
                )
        return values
