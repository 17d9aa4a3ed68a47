"""Channels that hold the last value written: one write a step, and the form that shows it only at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from stepgraph.channels.base import Fold, Value
from stepgraph.channels.fold import last_value, only_value, overwritten
from stepgraph.channels.one_value import OneValue
from stepgraph.values.missing import MISSING

__all__ = ("LastValue", "LastValueAfterFinish")


class LastValue(OneValue[Value]):
    """Holds the last value; takes one write a step. The channel of a field without a reducer."""

    __slots__ = ()

    step_sensitive: ClassVar[bool] = False

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.value = MISSING

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LastValue)

    def from_checkpoint(self, checkpoint: Value | Any) -> Self:
        """A channel like this one with a stored value."""
        channel = self.__class__(self.typ, self.key)
        channel.value = checkpoint
        return channel

    def update(self, values: Sequence[Value]) -> bool:
        """Take the write of a step."""
        if not values:
            return False
        self.value = only_value(self.key, values)
        return True

    def folder(self) -> Fold | None:
        """One write a step."""
        return last_value(self.key) if type(self) is LastValue else None


class LastValueAfterFinish(OneValue[Value]):
    """Holds the last value, but shows it only once the run has nothing else to do; then once."""

    __slots__ = ("finished",)

    finished: bool
    step_sensitive: ClassVar[bool] = False

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.value = MISSING
        self.finished = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LastValueAfterFinish)

    def checkpoint(self) -> tuple[Value, bool] | Any:
        """The value and whether it is shown."""
        return MISSING if self.value is MISSING else (self.value, self.finished)

    def from_checkpoint(self, checkpoint: tuple[Value, bool] | Any) -> Self:
        """A channel like this one with a stored value."""
        channel = self.__class__(self.typ, self.key)
        if checkpoint is not MISSING:
            channel.value, channel.finished = checkpoint
        return channel

    def update(self, values: Sequence[Value | Any]) -> bool:
        """Take the last of a step's writes, and hide it."""
        if not values:
            return False
        value = overwritten(self.key, values)
        self.finished = False
        self.value = values[-1] if value is MISSING else value
        return True

    def consume(self) -> bool:
        """Drop a value that was shown."""
        if not self.finished:
            return False
        self.finished = False
        self.value = MISSING
        return True

    def finish(self) -> bool:
        """Show the value."""
        if self.finished or self.value is MISSING:
            return False
        self.finished = True
        return True

    def is_available(self) -> bool:
        """Whether the value is shown."""
        return self.finished and self.value is not MISSING
