"""A task with policies in an asynchronous driver: the twin of `attempts.py`, where the order of things is described.

A node that raises `CancelledError` although nobody cancelled its run has failed with `NodeCancelledError`: its handler gets
that, and it is not tried again.
"""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import TYPE_CHECKING

from stepgraph.errors import NodeCancelledError
from stepgraph.pregel.caching import cache_key, cache_of, enclosing_ticket, kept_writes, take_cached
from stepgraph.pregel.call import aexecute
from stepgraph.pregel.drivers import attempts
from stepgraph.pregel.drivers.aio import in_context, offload, path_off_loop, prefers_thread
from stepgraph.pregel.drivers.limits_aio import run_limited
from stepgraph.pregel.drivers.slots import RunSlot, Slots, node_slots
from stepgraph.pregel.drivers.sync import explain_failure
from stepgraph.pregel.handling import begin_handling, finish_handling, has_handler
from stepgraph.pregel.observing import UNSEEN
from stepgraph.pregel.policies import limits_of, seconds_before_retry
from stepgraph.pregel.task import CURRENT

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task


async def attempt_async(task: Task) -> None:
    """Run a task as its node's policies say; raises what is left of its failure."""
    if attempts.is_only_observed(task):
        await observed(task)
        return
    if task.handler is None:
        try:
            await reuse_or_run(task)
        except Exception as error:
            if not has_handler(task, error):
                raise
            explain_failure(task, error)
            begin_handling(task, error)
            recorder = task.machine.recorder
            if recorder is not None and recorder.waits:
                await recorder.abetween_steps()
            await handle(task)
    else:
        await handle(task)


async def handle(task: Task) -> None:
    """Run the error handler of a task that failed."""
    handler = task.handler
    assert handler is not None
    if prefers_thread(handler):
        await offload(task.machine, attempts.run_attempts, handler)
    else:
        await run_attempts(handler)
    finish_handling(task)


async def reuse_or_run(task: Task) -> None:
    """Take the task's result from the cache, or make it and keep it there."""
    policy = task.node.policy
    cache = None if policy is None or policy.cache is None else cache_of(task.machine)
    if cache is None:
        await run_attempts(task)
        return
    from stepgraph.cache.lookup_aio import alook_up

    assert policy is not None
    assert policy.cache is not None
    key = cache_key(task)
    found = await alook_up(cache, key, enclosing_ticket(task))
    if found.ticket is None:
        take_cached(task, found.value)
        return
    with found.ticket:
        task.ticket = found.ticket
        try:
            await run_attempts(task)
        finally:
            task.ticket = None
        kept = kept_writes(task)
        if kept is not None:
            await cache.aset({key: (kept, policy.cache.ttl)})
            found.ticket.finish()


async def run_attempts(task: Task) -> None:
    """Attempts until one succeeds or the node's policies allow no further one."""
    clock = task.machine.scope.clock
    policy = task.node.policy
    if task.first_attempt_time is None:
        task.first_attempt_time = clock.time()
    while True:
        try:
            await _attempt(task)
            return
        except asyncio.CancelledError as error:
            if is_being_cancelled(task):
                raise
            raise NodeCancelledError(task.node.name) from error
        except Exception as error:
            wait = (
                None
                if policy is None
                else seconds_before_retry(policy.retry, error, task.attempt, clock.random)
            )
            if wait is None:
                raise
        task.reset()
        task.attempt += 1
        await clock.asleep(wait)


def is_being_cancelled(task: Task) -> bool:
    """Whether a CancelledError that arrives here comes from outside of the node."""
    current = asyncio.current_task()
    return task.cancelled or (current is not None and current.cancelling() > 0)


async def _attempt(task: Task) -> None:
    """One attempt, once there is a slot for it."""
    nodes = node_slots(task)
    if nodes is None:
        await _attempt_in_run(task)
        return
    await wait_for(nodes)
    try:
        await _attempt_in_run(task)
    finally:
        nodes.give_back()


async def _attempt_in_run(task: Task) -> None:
    slots = task.machine.scope.slots
    if slots is None:
        await _attempt_in_time(task)
        return
    await wait_for(slots)
    task.run_slot = held = RunSlot(slots)
    try:
        await _attempt_in_time(task)
    finally:
        held.end()
        task.run_slot = None


async def _attempt_in_time(task: Task) -> None:
    limits = limits_of(task)
    if limits is None:
        context = copy_context()
        context.run(CURRENT.set, task)
        await in_context(context, observed(task))
    else:
        await run_limited(task, limits, observed)


async def observed(task: Task) -> None:
    """The attempt itself."""
    observer = task.machine.scope.observer
    if observer is None or observer is UNSEEN:
        await aexecute(task, path_off_loop)
    else:
        from stepgraph.pregel.observed import aexecute_observed

        await aexecute_observed(task, observer, path_off_loop)


async def regain(held: RunSlot) -> None:
    """A graph has ended that a task waited for: take a slot again."""
    if held.needs_slot():
        await wait_for(held.slots)
        held.regained()


async def wait_for(slots: Slots) -> None:
    """Take a slot, waiting for it without blocking the event loop."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not future.done():
            future.set_result(None)

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:  # its event loop is closed: whoever waited there is gone
            slots.give_back()

    if slots.take(wake):
        return
    try:
        await future
    except BaseException:
        slots.leave(wake)
        raise
