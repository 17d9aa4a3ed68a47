"""Time limits in a synchronous driver: the attempt runs on a thread of its own, this one waits no longer than it may."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING

from stepgraph.pregel.drivers.guard import Guard, guarded, hand_over
from stepgraph.pregel.drivers.pool import POOL

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task
    from stepgraph.values.policies import TimeoutPolicy


def run_limited(task: Task, limits: TimeoutPolicy, run: Callable[[Task], None]) -> None:
    """One attempt with a limit.

    Raises:
        NodeTimeoutError: A limit has passed; the thread may still run, but nothing of it counts.
    """
    guard = Guard(limits, task.machine.guard)
    twin = guarded(task, guard)
    ended = threading.Event()
    raised: list[BaseException] = []
    context = copy_context()

    def job() -> None:
        try:
            context.run(run, twin)
        except BaseException as error:
            raised.append(error)
        ended.set()

    POOL.submit(job)
    try:
        while not ended.wait(guard.seconds_left()):
            late = guard.close_if_overdue(task.node.name, ended.is_set)
            if late is not None:
                raise late
    except BaseException:
        guard.close()
        raise
    hand_over(twin, task)
    for error in raised:
        raise error
