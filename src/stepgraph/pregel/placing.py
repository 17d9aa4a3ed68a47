"""What the tasks of a superstep wrote, in the forms in which the ledger hands it over.

Rules of this file: pure functions of tasks and values, on the hot path: what they do for each task is as little as can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.placed import FanWrites
from stepgraph.pregel.results import wire_writes
from stepgraph.values.missing import MISSING

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task

MANY_TASKS = 8
"""From so many on, tasks that were made by Sends are looked at as a whole."""


def fan_writes(step: int, tasks: Sequence[Task]) -> FanWrites | None:
    """What tasks made by Sends wrote, if they ran the same node in a row and wrote to the same channels."""
    if not tasks:
        return None
    head = tasks[0]
    node, targets, number = head.node, head.targets, head.index
    if type(head.updates) is not dict or not head.updates:
        return None
    channels = list(head.updates)
    for task in tasks:
        if (
            task.node is not node
            or task.index != number
            or task.targets is not targets
            or task.sends is not None
            or type(task.updates) is not dict
            or list(task.updates) != channels
            or task.handler is not None
        ):
            return None
        number += 1
    written: list[Any] = [task.updates for task in tasks]
    columns = [(channel, [updates[channel] for updates in written]) for channel in channels]
    return FanWrites(step, node.name, head.index, columns, wire_writes(head)[len(channels) :])


def note_values(returned: set[int], values: Iterable[Any]) -> None:
    """Add the ids of objects that may have been changed in place: values that nodes returned, and their elements."""
    for value in values:
        kind = type(value)
        if kind is list or kind is tuple:
            returned.update(map(id, value))
        elif kind is dict:
            returned.add(id(value))
            returned.update(map(id, value.values()))
        elif kind is not str and kind is not int and kind is not float and value is not None:
            returned.add(id(value))


def are_same(updates: Any, folded: dict[str, Any]) -> bool:
    """Whether the folded values are the very values that a task wrote, each once."""
    if type(updates) is not dict:
        return False
    for key, value in updates.items():  # noqa: SIM110 (a generator costs more than it compares)
        if folded.get(key, MISSING) is not value:
            return False
    return True
