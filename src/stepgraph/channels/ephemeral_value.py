"""A channel for values that live for one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from stepgraph.channels.base import BaseChannel, Value
from stepgraph.channels.fold import overwritten
from stepgraph.channels.one_value import OneValue
from stepgraph.errors import ErrorCode, InvalidUpdateError
from stepgraph.values.missing import MISSING
from stepgraph.values.names import START

__all__ = ("EphemeralValue",)


class EphemeralValue(OneValue[Value]):
    """Holds the value of the step before; empty after a step without a write.

    Args:
        typ: The type of the value.
        guard: Whether a second write in a step is an error; else the last one wins.
    """

    __slots__ = ("guard",)

    guard: bool

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard
        self.value = MISSING

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EphemeralValue) and other.guard == self.guard

    def from_checkpoint(self, checkpoint: Value | Any) -> Self:
        """A channel like this one with a stored value."""
        channel = self.__class__(self.typ, self.guard)
        channel.key = self.key
        channel.value = checkpoint
        return channel

    def update(self, values: Sequence[Value]) -> bool:
        """Take a step's write; without a write, become empty."""
        if not values:
            changed = self.value is not MISSING
            self.value = MISSING
            return changed
        # The graph's input passes through untouched: an Overwrite in it is meant for the fields behind.
        value = MISSING if self.key == START else overwritten(self.key, values)
        if value is MISSING:
            if self.guard and len(values) > 1:
                raise guard_error(self)
            value = values[-1]
        self.value = value
        return True


def guard_error(channel: BaseChannel[Any, Any, Any]) -> InvalidUpdateError:
    """The error of two writes to a guarded channel."""
    return InvalidUpdateError(
        f"At key {channel.key!r}: {type(channel).__name__}(guard=True) can receive only one value per step. Use"
        " guard=False if you want to store any one of multiple values.",
        key=channel.key,
        code=ErrorCode.INVALID_CONCURRENT_GRAPH_UPDATE,
    )
