"""Tasks of one run that share a nested graph's memory take turns, in the order of their paths.

A graph compiled with `checkpointer=True` keeps one history for all calls of its node. Parallel tasks of that node would
tear it apart, so each waits until its earlier siblings have ended. Siblings are started in the order of their paths,
so an earlier one is always running or done, and the wait ends.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task

_LOOK_AGAIN_SECONDS = 0.001


def has_turn(task: Task | None) -> bool:
    """Whether every earlier sibling of the same node has ended, at the task's level and at those above."""
    while task is not None:
        for sibling in task.machine.tasks:
            if sibling is task:
                break
            if sibling.node is task.node and not _ended(sibling):
                return False
        task = task.machine.parent
    return True


def _ended(task: Task) -> bool:
    return (
        task.finished
        or task.restored
        or task.interrupts is not None
        or task.error is not None
        or bool(task.commands)
        or task.machine.stop_requested
    )


def take_turn(task: Task) -> None:
    """Wait on this thread until it is the task's turn."""
    while not has_turn(task):
        time.sleep(_LOOK_AGAIN_SECONDS)


async def atake_turn(task: Task) -> None:
    """Wait on the event loop until it is the task's turn."""
    from asyncio import sleep

    while not has_turn(task):
        await sleep(_LOOK_AGAIN_SECONDS)
