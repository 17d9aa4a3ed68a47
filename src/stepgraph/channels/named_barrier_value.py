"""Channels that wait until every one of a set of names has been written: the waiting edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Self

from stepgraph.channels.base import BaseChannel, Value
from stepgraph.errors import InvalidUpdateError
from stepgraph.values.missing import MISSING

__all__ = ("NamedBarrierValue", "NamedBarrierValueAfterFinish")


class NamedBarrierValue(Generic[Value], BaseChannel[Value, Value, set[Value]]):
    """Becomes available (as `None`) once all names have been written; then starts over.

    Args:
        typ: The type of a name.
        names: The names to wait for.
    """

    __slots__ = ("names", "seen")

    names: set[Value]
    seen: set[Value]
    step_sensitive: ClassVar[bool] = False

    def __init__(self, typ: type[Value], names: set[Value]) -> None:
        super().__init__(typ)
        self.names = names
        self.seen = set()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedBarrierValue) and other.names == self.names

    @property
    def ValueType(self) -> Any:
        """The type of a name."""
        return self.typ

    @property
    def UpdateType(self) -> Any:
        """The type of a write."""
        return self.typ

    def copy(self) -> Self:
        """A channel of the same state that changes independently of this one."""
        return self.from_checkpoint(self.seen)

    def checkpoint(self) -> set[Value]:
        """The names written so far."""
        return self.seen

    def from_checkpoint(self, checkpoint: set[Value] | Any) -> Self:
        """A channel like this one with stored names."""
        channel = self.__class__(self.typ, self.names)
        channel.key = self.key
        if checkpoint is not MISSING:
            channel.seen = set(checkpoint)
        return channel

    def update(self, values: Sequence[Value]) -> bool:
        """Note the names that were written."""
        return note_names(self, values)

    def get(self) -> Value:
        """`None`, once all names are there."""
        if self.seen != self.names:
            raise self._empty()
        return None  # type: ignore[return-value]

    def is_available(self) -> bool:
        """Whether all names are there."""
        return self.seen == self.names

    def consume(self) -> bool:
        """Start over, if all names were there."""
        if self.seen != self.names:
            return False
        self.seen = set()
        return True


class NamedBarrierValueAfterFinish(Generic[Value], BaseChannel[Value, Value, tuple[set[Value], bool]]):
    """Like `NamedBarrierValue`, but available only once the run has nothing else to do.

    Args:
        typ: The type of a name.
        names: The names to wait for.
    """

    __slots__ = ("finished", "names", "seen")

    names: set[Value]
    seen: set[Value]
    finished: bool
    step_sensitive: ClassVar[bool] = False

    def __init__(self, typ: type[Value], names: set[Value]) -> None:
        super().__init__(typ)
        self.names = names
        self.seen = set()
        self.finished = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedBarrierValueAfterFinish) and other.names == self.names

    @property
    def ValueType(self) -> Any:
        """The type of a name."""
        return self.typ

    @property
    def UpdateType(self) -> Any:
        """The type of a write."""
        return self.typ

    def checkpoint(self) -> tuple[set[Value], bool]:
        """The names written so far, and whether the run had nothing else to do."""
        return self.seen, self.finished

    def from_checkpoint(self, checkpoint: tuple[set[Value], bool] | Any) -> Self:
        """A channel like this one with stored names."""
        channel = self.__class__(self.typ, self.names)
        channel.key = self.key
        if checkpoint is not MISSING:
            seen, channel.finished = checkpoint
            channel.seen = set(seen)
        return channel

    def update(self, values: Sequence[Value]) -> bool:
        """Note the names that were written."""
        return note_names(self, values)

    def get(self) -> Value:
        """`None`, once all names are there and the run has nothing else to do."""
        if not self.is_available():
            raise self._empty()
        return None  # type: ignore[return-value]

    def is_available(self) -> bool:
        """Whether all names are there and the run has nothing else to do."""
        return self.finished and self.seen == self.names

    def consume(self) -> bool:
        """Start over, if it was available."""
        if not self.is_available():
            return False
        self.finished = False
        self.seen = set()
        return True

    def finish(self) -> bool:
        """Become available, if all names are there."""
        if self.finished or self.seen != self.names:
            return False
        self.finished = True
        return True


def note_names(
    channel: NamedBarrierValue[Value] | NamedBarrierValueAfterFinish[Value], values: Sequence[Value]
) -> bool:
    """Add names to those a barrier has seen; returns whether one of them was not there yet."""
    changed = False
    for value in values:
        if value not in channel.names:
            raise InvalidUpdateError(
                f"At key {channel.key!r}: Value {value} not in {channel.names}", key=channel.key
            )
        if value not in channel.seen:
            channel.seen.add(value)
            changed = True
    return changed
