"""What tasks wrote, without their ids: a task's id follows from where it ran, so it need not be stored.

Rules: plain data, made by the engine once a superstep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from stepgraph.values.names import NO_WRITES, TASKS
from stepgraph.values.task_ids import pull_path, push_path, task_id

__all__ = ("FanWrites", "Placed", "PlacedWrites", "expanded")

Pairs: TypeAlias = Sequence[tuple[str, Any]]


class PlacedWrites:
    """What one task wrote.

    Args:
        step: The number of the superstep.
        name: The node.
        pairs: Its writes as (channel, value); `None` if the task was alone and they are the values of the checkpoint that
            folds them, in the order in which it holds them.
        index: The number of the `Send` that the task was made by; -1 where a channel triggered its node.
        sends: The `Send`s that it wrote behind that.
    """

    __slots__ = ("index", "name", "pairs", "sends", "step")

    def __init__(
        self, step: int, name: str, pairs: Pairs | None, index: int = -1, sends: Sequence[Any] = ()
    ) -> None:
        self.step = step
        self.name = name
        self.pairs = pairs
        self.index = index
        self.sends = sends

    def all_pairs(self) -> Pairs:
        """Its writes, the `Send`s among them."""
        pairs = self.pairs or ()
        return [*pairs, *[(TASKS, send) for send in self.sends]] if self.sends else pairs


class FanWrites:
    """What many tasks of one node wrote, that were made by `Send`s in a row and wrote to the same channels.

    Args:
        step: The number of the superstep.
        name: The node.
        first: The number of the first `Send`.
        columns: Channel, and the values that the tasks wrote to it, one each.
        tail: What every one of them wrote behind that.
    """

    __slots__ = ("columns", "first", "name", "step", "tail")

    def __init__(
        self,
        step: int,
        name: str,
        first: int,
        columns: list[tuple[str, list[Any]]],
        tail: list[tuple[str, Any]],
    ) -> None:
        self.step = step
        self.name = name
        self.first = first
        self.columns = columns
        self.tail = tail

    def __len__(self) -> int:
        return len(self.columns[0][1])

    def pairs(self) -> Iterator[list[tuple[str, Any]]]:
        """The writes of each task."""
        channels = [channel for channel, _ in self.columns]
        for values in zip(*[column for _, column in self.columns]):
            yield [*zip(channels, values), *self.tail]


Placed: TypeAlias = PlacedWrites | FanWrites


def expanded(
    placed: Placed, checkpoint_id: str, namespace: str, values: Pairs
) -> Iterator[tuple[str, str, Pairs]]:
    """The id, path and writes of each task.

    Args:
        placed: What they wrote.
        checkpoint_id: The checkpoint in which they ran.
        namespace: Where it is stored.
        values: The values of the checkpoint that folds the writes.
    """
    step, name = placed.step, placed.name
    if isinstance(placed, FanWrites):
        for index, pairs in enumerate(placed.pairs(), placed.first):
            path = push_path(index)
            yield task_id(checkpoint_id, namespace, step, name, path), path, pairs
        return
    path = pull_path(name) if placed.index < 0 else push_path(placed.index)
    written = values if placed.pairs is None else placed.all_pairs()
    yield task_id(checkpoint_id, namespace, step, name, path), path, written or [(NO_WRITES, None)]
