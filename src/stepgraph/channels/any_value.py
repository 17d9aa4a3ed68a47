"""A channel for values of which any will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from stepgraph.channels.base import Value
from stepgraph.channels.fold import overwritten
from stepgraph.channels.one_value import OneValue
from stepgraph.values.missing import MISSING

__all__ = ("AnyValue",)


class AnyValue(OneValue[Value]):
    """Holds the last value of a step, taking all writes of it for equal; empty after a step without a write."""

    __slots__ = ()

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.value = MISSING

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyValue)

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
