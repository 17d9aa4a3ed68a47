"""The protocol of channels.

A channel is a named place for values between nodes. Within a superstep it does not change; at the step's end it gets all
the writes of the step at once. Its life, as the engine calls it:

- `update(values)`: the writes of a step in their order; `[]` if there are none.
- `consume()`: a task that was triggered by the channel has run.
- `finish()`: nothing triggers any more; a last chance to offer a value.
- `checkpoint()`, `from_checkpoint()`: to storage and back.

`update`, `consume` and `finish` say whether the channel changed. A channel knows nothing of nodes, steps or storage.

Two shortcuts let the engine leave channel objects out of its hot path, see `step_sensitive` and `folder`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from stepgraph.errors import EmptyChannelError
from stepgraph.values.missing import MISSING

__all__ = ("BaseChannel",)

Value = TypeVar("Value")
Update = TypeVar("Update")
Checkpoint = TypeVar("Checkpoint")

Fold: TypeAlias = Callable[[Any, Sequence[Any], dict[str, Any]], Any]
"""A pure function `(base, writes, memo) -> value`.

`base` is the value so far or `MISSING`, `writes` is not empty, `memo` is a dict that belongs to one channel of one run, in
which a reducer may keep an index of the value it returned last."""


class BaseChannel(ABC, Generic[Value, Update, Checkpoint]):
    """Base of all channels.

    Args:
        typ: The type of the values.
        key: The channel's name in its graph.
    """

    __slots__ = ("key", "typ")

    key: str
    typ: Any

    step_sensitive: ClassVar[bool] = True
    """Whether `update([])` at a step's end can change the channel. Where it cannot, the engine does not call it."""

    def __init__(self, typ: Any, key: str = "") -> None:
        self.typ = typ
        self.key = key

    @property
    @abstractmethod
    def ValueType(self) -> Any:
        """The type of what `get` returns."""

    @property
    @abstractmethod
    def UpdateType(self) -> Any:
        """The type of one write."""

    def copy(self) -> Self:
        """A channel of the same state that changes independently of this one."""
        return self.from_checkpoint(self.checkpoint())

    def checkpoint(self) -> Checkpoint | Any:
        """What to store, or `MISSING` if there is nothing to store."""
        try:
            return self.get()
        except EmptyChannelError:
            return MISSING

    @abstractmethod
    def from_checkpoint(self, checkpoint: Checkpoint | Any) -> Self:
        """A channel like this one in a stored state; `MISSING` is a fresh start."""

    @abstractmethod
    def get(self) -> Value:
        """The value that nodes read.

        Raises:
            EmptyChannelError: There is none (yet).
        """

    def is_available(self) -> bool:
        """Whether `get` would return a value."""
        try:
            self.get()
        except EmptyChannelError:
            return False
        return True

    @abstractmethod
    def update(self, values: Sequence[Update]) -> bool:
        """Take the writes of a step, `[]` if there are none.

        Returns:
            Whether the channel changed.

        Raises:
            InvalidUpdateError: The writes cannot be taken.
        """

    def consume(self) -> bool:
        """Note that a task triggered by this channel has run; returns whether that changed the channel."""
        return False

    def finish(self) -> bool:
        """Note that nothing triggers any more; returns whether that changed the channel."""
        return False

    def folder(self) -> Fold | None:
        """The pure function that does what `update` does, or `None` if the channel is more than its value.

        Given for the exact classes of this package only: a subclass may have overridden anything.
        """
        return None

    def start(self) -> Any:
        """A fresh start value, `MISSING` if there is none. Meaningful where there is a `folder`."""
        return MISSING

    def _empty(self) -> EmptyChannelError:
        return EmptyChannelError(f"Channel {self.key!r} has no value yet." if self.key else "No value yet.")
