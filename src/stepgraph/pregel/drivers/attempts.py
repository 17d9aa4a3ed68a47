"""A task with policies in a synchronous driver: cache, attempts, time limit, slots, and who handles a failure.

The order, from outside to inside: the cache (a hit skips all of it), the error handler, the attempts, and for each attempt
the slots, the time limit, the observer, the node. What to do is decided in `policies.py`, `caching.py` and `handling.py`;
this file waits and calls. `attempts_aio.py` is its twin, and differs in nothing but that.
"""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.caching import cache_key, cache_of, enclosing_ticket, kept_writes, take_cached
from stepgraph.pregel.call import execute
from stepgraph.pregel.drivers.guard import AttemptGivenUpError
from stepgraph.pregel.drivers.limits import run_limited
from stepgraph.pregel.drivers.slots import RunSlot, node_slots
from stepgraph.pregel.drivers.sync import as_failure, explain_failure, is_stopping, loop_host
from stepgraph.pregel.handling import begin_handling, finish_handling, has_handler
from stepgraph.pregel.observing import UNSEEN
from stepgraph.pregel.policies import limits_of, seconds_before_retry
from stepgraph.pregel.task import CURRENT

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task


def attempt_sync(task: Task) -> None:
    """Run a task as its node's policies say; raises what is left of its failure."""
    if task.node.has_async:
        _on_a_loop(task)
        return
    if is_only_observed(task):
        copy_context().run(observed, task)
        return
    if task.handler is None:
        try:
            reuse_or_run(task)
        except Exception as error:
            if not has_handler(task, error):
                raise
            explain_failure(task, error)
            begin_handling(task, error)
            recorder = task.machine.recorder
            if recorder is not None and recorder.waits:
                recorder.between_steps()
            handle(task)
    else:
        handle(task)


def is_only_observed(task: Task) -> bool:
    """Whether there is nothing to do for a task but to run it once, seen by an observer."""
    return (
        task.node.policy is None
        and task.timeout is None
        and task.handler is None
        and task.machine.scope.slots is None
    )


def handle(task: Task) -> None:
    """Run the error handler of a task that failed."""
    handler = task.handler
    assert handler is not None
    if handler.node.has_async:
        _on_a_loop(handler)
    else:
        run_attempts(handler)
    finish_handling(task)


def _on_a_loop(task: Task) -> None:
    from stepgraph.pregel.drivers.attempts_aio import attempt_async

    context = copy_context()
    context.run(CURRENT.set, task)
    loop_host(task.machine).run(lambda: attempt_async(task), context, lambda: is_stopping(task.machine))


def reuse_or_run(task: Task) -> None:
    """Take the task's result from the cache, or make it and keep it there."""
    policy = task.node.policy
    cache = None if policy is None or policy.cache is None else cache_of(task.machine)
    if cache is None:
        run_attempts(task)
        return
    from stepgraph.cache.lookup import look_up

    assert policy is not None
    assert policy.cache is not None
    key = cache_key(task)
    found = look_up(cache, key, enclosing_ticket(task))
    if found.ticket is None:
        take_cached(task, found.value)
        return
    with found.ticket:
        task.ticket = found.ticket
        try:
            run_attempts(task)
        finally:
            task.ticket = None
        kept = kept_writes(task)
        if kept is not None:
            cache.set({key: (kept, policy.cache.ttl)})
            found.ticket.finish()


def run_attempts(task: Task) -> None:
    """Attempts until one succeeds or the node's policies allow no further one."""
    clock = task.machine.scope.clock
    policy = task.node.policy
    if task.first_attempt_time is None:
        task.first_attempt_time = clock.time()
    while True:
        try:
            _attempt(task)
            return
        except Exception as error:
            wait = (
                None
                if policy is None
                else seconds_before_retry(policy.retry, error, task.attempt, clock.random)
            )
            if wait is None:
                raise
        except BaseException as error:
            raise as_failure(task, error)  # noqa: B904 - it is the cause already, or the same
        task.reset()
        task.attempt += 1
        clock.sleep(wait, lambda: is_stopping(task.machine))
        if is_stopping(task.machine):
            raise AttemptGivenUpError


def _attempt(task: Task) -> None:
    """One attempt, once there is a slot for it."""
    nodes = node_slots(task)
    if nodes is None:
        _attempt_in_run(task)
        return
    nodes.wait()
    try:
        _attempt_in_run(task)
    finally:
        nodes.give_back()


def _attempt_in_run(task: Task) -> None:
    slots = task.machine.scope.slots
    if slots is None:
        _attempt_in_time(task)
        return
    slots.wait()
    task.run_slot = held = RunSlot(slots)
    try:
        _attempt_in_time(task)
    finally:
        held.end()
        task.run_slot = None


def _attempt_in_time(task: Task) -> None:
    limits = limits_of(task)
    if limits is None:
        copy_context().run(observed, task)
    else:
        run_limited(task, limits, observed)


def observed(task: Task) -> Any:
    """The attempt itself, in a context of its own."""
    observer = task.machine.scope.observer
    if observer is None or observer is UNSEEN:
        execute(task)
    else:
        from stepgraph.pregel.observed import execute_observed

        execute_observed(task, observer)
