"""A channel for values of which any will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self

from stepgraph.channels.base import BaseChannel, Value
from stepgraph.channels.fold import overwritten
from stepgraph.values.missing import MISSING

__all__ = ("AnyValue",)


class AnyValue(Generic[Value], BaseChannel[Value, Value, Value]):
    """Holds the last value of a step, taking all writes of it for equal; empty after a step without a write."""

    __slots__ = ("value",)

    value: Value | Any

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.value = MISSING

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyValue)

    @property
    def ValueType(self) -> Any:
        """The type of the value."""
        return self.typ

    @property
    def UpdateType(self) -> Any:
        """The type of a write."""
        return self.typ

    def from_checkpoint(self, checkpoint: Value | Any) -> Self:
        """A channel like this one with a stored value."""
        channel = self.__class__(self.typ, self.key)
        channel.value = checkpoint
        return channel

    def update(self, values: Sequence[Value]) -> bool:
        """Take the last of a step's writes; without a write, become empty."""
        if not values:
            changed = self.value is not MISSING
            self.value = MISSING
            return changed
        value = overwritten(self.key, values)
        self.value = values[-1] if value is MISSING else value
        return True

    def get(self) -> Value:
        """The value."""
        if self.value is MISSING:
            raise self._empty()
        value: Value = self.value
        return value

    def is_available(self) -> bool:
        """Whether there is a value."""
        return self.value is not MISSING

    def checkpoint(self) -> Value | Any:
        """The value to store."""
        return self.value
