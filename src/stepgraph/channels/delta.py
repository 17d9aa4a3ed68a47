"""The channel of a field whose reducer takes all writes of a step at once.

In the model this channel exists to store only what changed. Here every channel is stored so by the savers themselves, so
what is left of it is the batch reducer: the channel's checkpoint is its whole value, and `snapshot_frequency` is kept
for programs that give it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Self

from stepgraph.channels.base import BaseChannel, Fold, Value
from stepgraph.channels.empty import empty_value, optional_container
from stepgraph.channels.fold import batch_reducer, overwrite_of
from stepgraph.values.missing import MISSING

__all__ = ("DeltaChannel",)


class DeltaSnapshot(NamedTuple):
    """A value as others stored it: the whole of a delta channel at one checkpoint."""

    value: Any


class DeltaChannel(Generic[Value], BaseChannel[Value, Any, Any]):
    """Folds all writes of a step into its value with one call of its reducer.

    Args:
        reducer: Called as `reducer(value, writes)`. Grouping must not matter: folding two batches one after the other
            must give the same as folding them as one.
        typ: The type of the value; a list, if not given.
        snapshot_frequency: Accepted, and without effect on what is stored.

    Raises:
        ValueError: `snapshot_frequency` is not positive.
    """

    __slots__ = ("reducer", "snapshot_frequency", "value")

    value: Value | Any
    reducer: Callable[[Any, Sequence[Any]], Any]
    snapshot_frequency: int
    step_sensitive: ClassVar[bool] = False

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any],
        typ: type[Value] | None = None,
        *,
        snapshot_frequency: int = 100,
    ) -> None:
        if snapshot_frequency <= 0:
            raise ValueError(f"snapshot_frequency must be a positive int, got {snapshot_frequency!r}")
        super().__init__(list if typ is None else typ)
        self.reducer = reducer
        self.snapshot_frequency = snapshot_frequency
        self.value = MISSING

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeltaChannel)
            and other.reducer == self.reducer
            and other.snapshot_frequency == self.snapshot_frequency
        )

    @property
    def ValueType(self) -> Any:
        """The type of the value."""
        return self.typ

    @property
    def UpdateType(self) -> Any:
        """The type of a write."""
        return self.typ

    def start(self) -> Any:
        """A new empty value of the type, `MISSING` if it has none."""
        return empty_value(self.typ)

    def copy(self) -> Self:
        """A channel of the same state, which may be none."""
        channel = self.from_checkpoint(self.value)
        channel.value = self.value
        return channel

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """A channel like this one with a stored value."""
        channel = self.__class__(self.reducer, self.typ, snapshot_frequency=self.snapshot_frequency)
        channel.key = self.key
        if isinstance(checkpoint, DeltaSnapshot):
            channel.value = checkpoint.value
        else:
            channel.value = self.start() if checkpoint is MISSING else checkpoint
        return channel

    def checkpoint(self) -> Any:
        """The value to store."""
        return self.value

    def update(self, values: Sequence[Any]) -> bool:
        """Fold the writes of a step."""
        if not values:
            return False
        self.value = self._folding()(self.value, values, {})
        return True

    def replay_writes(self, writes: Sequence[tuple[str, str, Any]]) -> None:
        """Fold stored writes `(task id, channel, value)` of many steps; an `Overwrite` starts over from its value."""
        base: Any = self.value
        batch: list[Any] = []
        for _, _, write in writes:
            is_overwrite, value = overwrite_of(write)
            if is_overwrite:
                base, batch = value, []
            else:
                batch.append(write)
        self.value = self._folding()(base, batch, {}) if batch else base

    def get(self) -> Any:
        """The value."""
        if self.value is MISSING:
            raise self._empty()
        return self.value

    def is_available(self) -> bool:
        """Whether there is a value."""
        return self.value is not MISSING

    def folder(self) -> Fold | None:
        """The reducer, once a step."""
        return self._folding() if type(self) is DeltaChannel else None

    def _folding(self) -> Fold:
        return batch_reducer(self.reducer, self._batch_start, self.key)

    def _batch_start(self) -> Any:
        value = self.start()
        if value is MISSING:
            container = optional_container(self.typ)
            return None if container is None else container()
        return value
