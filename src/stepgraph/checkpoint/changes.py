"""What one superstep changed: the form in which the engine hands a checkpoint to a saver that stores by difference.

Cost follows what changed: a `StepChanges` names the channels that got a new version, not the whole state. It is made
once a superstep, so it is a plain slotted object.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from stepgraph.checkpoint.placed import Placed, expanded
from stepgraph.values.missing import MISSING

__all__ = ("EVERYTHING", "StepChanges", "StepShape", "TaskWrites", "Version", "add_returned")

Version: TypeAlias = str | int | float
TaskWrites: TypeAlias = tuple[str, str, Sequence[tuple[str, Any]]]
"""Task id, task path, and the task's writes as (channel, value)."""


class StepShape:
    """What supersteps have in common in which the same channels changed, and the same node ran alone.

    Args:
        names: The channels that changed: those that hold a value, in order, then those that hold nothing now.
        cleared: Those that hold nothing now.
        updated: The names of the channels that the superstep's task wrote.
        trigger: The channel that made the node run.

    Attributes:
        control: Control channel to `None`, for those that hold a value now.
        record: The record of such a step, once one was made.
    """

    __slots__ = ("cleared", "control", "names", "record", "trigger", "updated")

    def __init__(
        self,
        names: tuple[str, ...],
        cleared: list[str],
        updated: list[str],
        trigger: str,
        control: dict[str, Any],
    ) -> None:
        self.names = names
        self.cleared = cleared
        self.updated = updated
        self.trigger = trigger
        self.control = control
        self.record: bytes | None = None


class StepChanges:
    """The difference between a checkpoint and the stored one before it.

    Args:
        id: The id of the checkpoint to be stored. It must be greater than `parent_id`.
        parent_id: The stored checkpoint it differs from; `None` if it is complete in itself.
        ts: When it was made: ISO 8601 with a zone; empty where the id, a UUIDv6, says it. With the version of the
            checkpoint's form beside it, where that is not the usual one.
        values: Channel to value, for every changed channel that now holds one. The saver reads them before it returns
            and keeps references to lists and dicts that it may compare with later.
        versions: Channel to version, for every changed channel. One that is not in `values` now holds nothing.
        seen: Node to its complete map of seen versions, for the nodes whose map changed.
        updated: The names of the channels that the superstep's tasks wrote.
        writes: What the tasks wrote that finished against `parent_id` and whose writes were not stored by `put_writes`.
            They are stored in the same transaction, as pending writes of `parent_id`.
        returned: `id()` of the objects that nodes returned since the last stored step, down to the elements of the
            lists, tuples and dicts they returned: such an object may have been changed in place, so it is compared by
            content. `None` if that is not known: then every object is.
        expected_head: The id of the checkpoint that must still be the newest of this thread and namespace; `None` if
            there must be none; `MISSING` not to check.
        run_id: The run that stores it.
        cleared: The changed channels that hold nothing now, where every version is `id`; `None`: to be worked out.
        placed: What other such tasks wrote, whose ids follow from where they ran; `task_writes` gives all in one form.
        shape: What the step has in common with others; only if `ts` is empty, every version is `id`, and what the node has
            seen of its trigger is `parent_id`.
        common: The metadata without `source` and `step`, the same object for every step of a run, which nobody changes.
    """

    __slots__ = (
        "cleared",
        "common",
        "expected_head",
        "id",
        "parent_id",
        "placed",
        "returned",
        "run_id",
        "seen",
        "shape",
        "ts",
        "updated",
        "values",
        "versions",
        "writes",
    )

    def __init__(  # one parameter a field, all by keyword
        self,
        *,
        id: str,
        parent_id: str | None,
        ts: str | tuple[str, int],
        values: dict[str, Any],
        versions: dict[str, Version],
        seen: dict[str, dict[str, Version]],
        updated: list[str] | None,
        writes: Sequence[TaskWrites] = (),
        returned: set[int] | None = None,
        expected_head: Any = MISSING,
        run_id: str | None = None,
        cleared: list[str] | None = None,
        placed: Sequence[Placed] = (),
        shape: StepShape | None = None,
        common: dict[str, Any] | None = None,
    ) -> None:
        self.id = id
        self.parent_id = parent_id
        self.ts = ts
        self.values = values
        self.versions = versions
        self.seen = seen
        self.updated = updated
        self.writes = writes
        self.returned = returned
        self.expected_head = expected_head
        self.run_id = run_id
        self.cleared = cleared
        self.placed = placed
        self.shape = shape
        self.common = common

    def task_writes(self, namespace: str) -> Sequence[TaskWrites]:
        """What the step's tasks wrote, `placed` included.

        Args:
            namespace: Where the checkpoint is stored; ids of tasks follow from it.
        """
        tasks = list(self.writes)
        for placed in self.placed:
            tasks += expanded(placed, self.parent_id or "", namespace, list(self.values.items()))
        return tasks


class _Everything(set[int]):
    """A set that holds every id, and cannot be changed."""

    def __contains__(self, item: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        return not any(True for _ in other)

    def update(self, *others: Iterable[int]) -> None:
        """Do nothing."""

    def add(self, item: int) -> None:
        """Do nothing."""


EVERYTHING: Final[set[int]] = _Everything()
"""For `StepChanges.returned`: any object may have been changed in place, and later steps will say which."""

_IMMUTABLE = frozenset((str, int, float, bool, type(None), bytes, complex))


def add_returned(returned: set[int], value: Any) -> None:
    """Note in `returned` that a node handed back `value`.

    Args:
        returned: The set of ids to add to.
        value: What the node wrote to one channel.
    """
    kind = type(value)
    if kind in _IMMUTABLE:
        return
    returned.add(id(value))
    if kind is list or kind is tuple:
        returned.update(map(id, value))
    elif kind is dict:
        returned.update(map(id, value.values()))
