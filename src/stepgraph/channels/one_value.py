"""What channels have in common that hold one value, read as it was written."""

from __future__ import annotations

from typing import Any, Generic

from stepgraph.channels.base import BaseChannel, Value
from stepgraph.values.missing import MISSING

__all__ = ("OneValue",)


class OneValue(Generic[Value], BaseChannel[Value, Value, Value]):
    """Base of channels that are their value: `MISSING` while there is none."""

    __slots__ = ("value",)

    value: Value | Any

    @property
    def ValueType(self) -> Any:
        """The type of the value."""
        return self.typ

    @property
    def UpdateType(self) -> Any:
        """The type of a write."""
        return self.typ

    def get(self) -> Value:
        """The value."""
        if not self.is_available():
            raise self._empty()
        value: Value = self.value
        return value

    def is_available(self) -> bool:
        """Whether there is a value."""
        return self.value is not MISSING

    def checkpoint(self) -> Any:
        """The value to store."""
        return self.value
