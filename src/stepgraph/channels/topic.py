"""A channel that collects values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, Self

from stepgraph.channels.base import BaseChannel, Value
from stepgraph.channels.fold import overwritten
from stepgraph.values.missing import MISSING

__all__ = ("Topic",)


class Topic(Generic[Value], BaseChannel[Sequence[Value], Value | list[Value], list[Value]]):
    """Collects the values of a step, in order; a write may be a value or a list of them.

    Args:
        typ: The type of one value.
        accumulate: Whether values stay; else each step starts from an empty list.
    """

    __slots__ = ("accumulate", "values")

    values: list[Value]
    accumulate: bool

    def __init__(self, typ: type[Value], accumulate: bool = False) -> None:
        super().__init__(typ)
        self.accumulate = accumulate
        self.values = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topic) and other.accumulate == self.accumulate

    @property
    def ValueType(self) -> Any:
        """The type of the value."""
        return Sequence[self.typ]  # type: ignore[name-defined]

    @property
    def UpdateType(self) -> Any:
        """The type of a write."""
        return self.typ | list[self.typ]  # type: ignore[name-defined]

    def copy(self) -> Self:
        """A channel of the same values that changes independently of this one."""
        return self.from_checkpoint(self.values)

    def checkpoint(self) -> list[Value]:
        """The values to store."""
        return self.values

    def from_checkpoint(self, checkpoint: list[Value] | Any) -> Self:
        """A channel like this one with stored values."""
        channel = self.__class__(self.typ, self.accumulate)
        channel.key = self.key
        if checkpoint is not MISSING:
            # An older form of stored topics was a pair, whose second part were the values.
            stored = checkpoint[1] if isinstance(checkpoint, tuple) else checkpoint
            channel.values = list(stored)
        return channel

    def update(self, values: Sequence[Value | list[Value]]) -> bool:
        """Collect the writes of a step."""
        before = self.values
        replacement = overwritten(self.key, values)
        if replacement is not MISSING:
            self.values = list(_flat([replacement]))
            return True
        if self.accumulate:
            added = list(_flat(values))
            if added:
                self.values = before + added
            return bool(added)
        self.values = list(_flat(values))
        return bool(values) or bool(before)

    def get(self) -> Sequence[Value]:
        """The values, as a list of the reader's own."""
        if not self.values:
            raise self._empty()
        return list(self.values)

    def is_available(self) -> bool:
        """Whether there are values."""
        return bool(self.values)


def _flat(values: Sequence[Value | list[Value]]) -> Iterator[Value]:
    for value in values:
        if isinstance(value, list):
            yield from value
        else:
            yield value
