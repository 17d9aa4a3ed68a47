"""A channel for values that are never stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from stepgraph.channels.base import Value
from stepgraph.channels.ephemeral_value import guard_error
from stepgraph.channels.fold import overwritten
from stepgraph.channels.one_value import OneValue
from stepgraph.values.missing import MISSING

__all__ = ("UntrackedValue",)


class UntrackedValue(OneValue[Value]):
    """Holds the last value as long as the run lasts; checkpoints do not contain it.

    Args:
        typ: The type of the value.
        guard: Whether a second write in a step is an error; else the last one wins.
    """

    __slots__ = ("guard",)

    guard: bool
    step_sensitive: ClassVar[bool] = False

    def __init__(self, typ: Any, guard: bool = True) -> None:
        super().__init__(typ)
        self.guard = guard
        self.value = MISSING

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntrackedValue) and other.guard == self.guard

    def copy(self) -> Self:
        """A channel of the same state, the value included."""
        channel = self.from_checkpoint(MISSING)
        channel.value = self.value
        return channel

    def checkpoint(self) -> Any:
        """Nothing is stored."""
        return MISSING

    def from_checkpoint(self, checkpoint: Value | Any) -> Self:
        """A channel like this one, empty whatever was stored."""
        channel = self.__class__(self.typ, self.guard)
        channel.key = self.key
        return channel

    def update(self, values: Sequence[Value]) -> bool:
        """Take a step's write."""
        if not values:
            return False
        value = overwritten(self.key, values)
        if value is MISSING:
            if self.guard and len(values) > 1:
                raise guard_error(self)
            value = values[-1]
        self.value = value
        return True
