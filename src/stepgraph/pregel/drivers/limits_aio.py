"""Time limits in an asynchronous driver: the attempt is a task of the event loop, which is cancelled and waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.drivers.aio import until_done
from stepgraph.pregel.drivers.guard import Guard, guarded, hand_over
from stepgraph.pregel.task import CURRENT

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task
    from stepgraph.values.policies import TimeoutPolicy


async def run_limited(
    task: Task, limits: TimeoutPolicy, run: Callable[[Task], Coroutine[Any, Any, None]]
) -> None:
    """One attempt with a limit.

    Raises:
        NodeTimeoutError: A limit has passed. The attempt was cancelled and has ended; threads that it used may still
            run, but nothing of them counts.
    """
    guard = Guard(limits, task.machine.guard)
    twin = guarded(task, guard)
    context = copy_context()
    context.run(CURRENT.set, twin)
    attempt = asyncio.get_running_loop().create_task(run(twin), context=context)
    try:
        while not attempt.done():
            await asyncio.wait((attempt,), timeout=guard.seconds_left())
            late = guard.close_if_overdue(task.node.name, attempt.done)
            if late is not None:
                attempt.cancel()
                await until_done(attempt)
                raise late
    except asyncio.CancelledError:
        attempt.cancel()
        await until_done(attempt)
        raise
    except BaseException:
        guard.close()
        attempt.cancel()
        raise
    hand_over(twin, task)
    attempt.result()
