"""The synchronous driver: it runs tasks on this thread and on pool threads, and waits.

A lone task runs inline, in a context of its own. Several share the pool (see `pool.py`), the calling thread works too.
In a live stream nothing runs on the consumer's thread, so that events reach it as they happen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from contextvars import copy_context
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any

from stepgraph.errors import GraphDrained, GraphInterrupt, NodeCancelledError, ParentCommand
from stepgraph.pregel import bridges
from stepgraph.pregel.call import aexecute, execute, unwrapped
from stepgraph.pregel.drivers import heart
from stepgraph.pregel.drivers.pool import SharedStep, helpers_for
from stepgraph.pregel.ending import close, close_failed, outcome, stands_at_breakpoint
from stepgraph.pregel.observed import execute_observed, observed_outcome
from stepgraph.pregel.register import leave as leave_thread
from stepgraph.pregel.task import CURRENT

if TYPE_CHECKING:
    from stepgraph.pregel.drivers.loop_host import LoopHost
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.task import Task

_NOTHING: Any = None


def run_task(task: Task) -> None:
    """Run one task and tell the machine what became of it; raises what the run must fail with."""
    if task.restored:
        return
    machine = task.machine
    try:
        if task.node.simple and task.timeout is None and machine.scope.observer is None:
            copy_context().run(execute, task)
        elif task.node.policy is not None or machine.scope.observer is not None or task.timeout is not None:
            if task.node.simple and task.timeout is None and machine.scope.slots is None:
                copy_context().run(execute_observed, task, machine.scope.observer)
            else:
                from stepgraph.pregel.drivers.attempts import attempt_sync

                attempt_sync(task)
        elif task.node.has_async:
            context = copy_context()
            context.run(CURRENT.set, task)
            loop_host(machine).run(lambda: aexecute(task), context, lambda: is_stopping(machine))
        else:
            copy_context().run(execute, task)
    except BaseException as error:
        settle_error(task, error)
    else:
        if machine.listens:
            machine.done(task)


def settle_error(task: Task, error: BaseException) -> None:
    """A pause, a hand-over or a drain goes to the machine; anything else fails the run."""
    machine = task.machine
    raised = as_failure(task, unwrapped(error))
    if isinstance(raised, GraphInterrupt):
        machine.paused(task, tuple(raised.args[0]) if raised.args else ())
    elif isinstance(raised, ParentCommand):
        command = raised.args[0]
        machine.handed_up(task, command if isinstance(command, tuple) else (command,))
    elif isinstance(raised, GraphDrained):
        machine.paused(task, ())
        machine.drained_below = True
    else:
        if isinstance(raised, Exception):
            explain_failure(task, raised)
            machine.failed(task, raised)
        raise raised


def as_failure(task: Task, raised: BaseException) -> BaseException:
    """A node that raises `CancelledError` although nobody stops its run has failed; anything else is what it is."""
    if (
        isinstance(raised, Exception)
        or type(raised).__name__ != "CancelledError"
        or is_stopping(task.machine)
    ):
        return raised
    failure = NodeCancelledError(task.node.name)
    failure.__cause__ = raised
    return failure


def is_given_up(machine: Machine) -> bool:
    """Whether a time limit has passed, so that nobody waits for this level of a run any more."""
    return machine.guard is not None and bool(machine.guard.given_up)


def is_stopping(machine: Machine | None) -> bool:
    """Whether this level of a run, or one above it, has failed or was cancelled."""
    while machine is not None:
        if machine.stop_requested:
            return True
        machine = None if machine.parent is None else machine.parent.machine
    return False


def explain_failure(task: Task, error: BaseException) -> None:
    """Say on the person's own exception where it happened; once, at the innermost level."""
    task = task.handler or task
    if getattr(error, "__notes__", None) and any("During task with name" in note for note in error.__notes__):
        return
    machine = task.machine
    where = f" at {machine.namespace!r}" if machine.namespace else ""
    error.add_note(
        f"During task with name '{task.node.name}' and id '{task.id}' in step {machine.step} of graph "
        f"{machine.plan.graph_name!r}{where}"
    )


def loop_host(machine: Machine) -> Any:
    """The root run's place for coroutines; made on first use."""
    root = machine.scope.root
    with _HOSTS:
        if root.loop_host is None:
            from stepgraph.pregel.drivers.loop_host import LoopHost

            root.loop_host = LoopHost()
        return root.loop_host


_HOSTS = Lock()
"""Held while a root run's loop host is made: sibling threads may ask for it at once."""


def run_tasks(machine: Machine, tasks: Sequence[Task]) -> None:
    """Run all tasks of one superstep."""
    if len(tasks) == 1:
        run_task(tasks[0])
        return
    quick = all(task.node.quick for task in tasks)
    SharedStep(tasks, run_task, helpers_for(tasks, machine.scope.max_concurrency)).run(quick)


def drive(machine: Machine, tasks: Sequence[Task]) -> None:
    """Run a machine to its end."""
    recorder = machine.recorder
    if recorder is not None and recorder.waits:
        recorder.between_steps()
    while tasks:
        if len(tasks) == 1:
            run_task(tasks[0])
        else:
            run_tasks(machine, tasks)
        tasks = machine.commit(tasks)
        if recorder is not None and recorder.waits:
            recorder.between_steps()


def run(machine: Machine, begin: Callable[[], Sequence[Task]]) -> Any:
    """Run a machine from its beginning to its end and answer its output."""
    return bridges.around(_run, machine, begin)


def _run(machine: Machine, begin: Callable[[], Sequence[Task]]) -> Any:
    if machine.parent is not None and (host := machine.scope.root.loop_host) is not None:
        with host.blocking():
            return _run_through(machine, begin)
    return _run_through(machine, begin)


def _run_through(machine: Machine, begin: Callable[[], Sequence[Task]]) -> Any:
    try:
        drive(machine, begin())
    except BaseException as error:
        give_up(machine, error)
        raise
    return conclude(machine)


def give_up(machine: Machine, error: BaseException) -> None:
    """A run failed: what it finished is kept, and nobody waits any more."""
    close_failed(machine)
    if machine.scope.observer is not None:
        machine.scope.observer.run_fails(machine, error)
    if machine.parent is None and machine.recorder is not None:
        try:
            machine.recorder.settle()
        except Exception as failure:
            if failure is not error:
                error.add_note(f"Besides, what the run had finished could not be stored: {failure!r}")
    release(machine)


def conclude(machine: Machine) -> Any:
    """A run came to its end or stopped: store what is left, then answer or raise."""
    try:
        close(machine)
        if machine.parent is None and machine.recorder is not None:
            machine.recorder.settle()
        if machine.scope.observer is not None:
            return observed_outcome(machine)
    finally:
        release(machine)
    return outcome(machine)


def release(machine: Machine) -> None:
    """The root run's helper thread goes with the run; a task that waited for a nested run needs its slot again."""
    scope = machine.scope
    if machine.parent is not None:
        if machine.parent.run_slot is not None:
            machine.parent.run_slot.regain()
        return
    leave_thread(scope)
    if scope.hold is not None:
        heart.end(scope)
    if scope.loop_host is not None:
        scope.loop_host.close()
        scope.loop_host = None


def stream_run(
    machine: Machine, begin: Callable[[], Sequence[Task]], buffer: deque[Any], live: SimpleQueue[Any] | None
) -> Iterator[Any]:
    """Run a machine step by step, yielding its events; `live` is the queue that wakes the consumer during a step."""
    parts = _stream_through(machine, begin, buffer, live)
    if machine.parent is None or (host := machine.scope.root.loop_host) is None:
        return parts
    return _blocking(host, parts)


def _blocking(host: LoopHost, parts: Generator[Any, None, None]) -> Iterator[Any]:
    """Events of a graph that a coroutine may be iterating over: while it waits for one, its loop can run nothing."""
    with closing(parts):
        while True:
            with host.blocking():
                try:
                    part = next(parts)
                except StopIteration:
                    return
            yield part


def _stream_through(
    machine: Machine, begin: Callable[[], Sequence[Task]], buffer: deque[Any], live: SimpleQueue[Any] | None
) -> Generator[Any, None, None]:
    """The same, whatever it is called from."""
    pop = buffer.popleft
    ambient = bridges.active
    try:
        tasks = begin()
        recorder = machine.recorder
        while True:
            while buffer:
                yield pop()
            if not tasks:
                break
            if recorder is not None and recorder.waits:
                recorder.between_steps()
            if live is None and len(tasks) == 1:
                if ambient is None:
                    run_task(tasks[0])
                else:
                    outer = ambient.variable.get()
                    ambient.variable.set(ambient.task_config)
                    try:
                        run_task(tasks[0])
                    finally:
                        ambient.variable.set(outer)
            else:
                yield from _watch(machine, tasks, buffer, SimpleQueue() if live is None else live)
            tasks = machine.commit(tasks)
        if machine.sink is not None and stands_at_breakpoint(machine):
            machine.sink.breakpoint(machine)
        while buffer:
            yield pop()
    except GeneratorExit as closed:
        give_up(machine, closed)
        raise
    except BaseException as error:
        give_up(machine, error)
        while buffer:
            yield pop()
        raise
    conclude(machine)


def _watch(
    machine: Machine, tasks: Sequence[Task], buffer: deque[Any], wake: SimpleQueue[Any]
) -> Iterator[Any]:
    """Run one superstep on pool threads while the consumer takes its events."""
    helpers = helpers_for((*tasks, _NOTHING), machine.scope.max_concurrency)
    step = bridges.around(SharedStep, tasks, run_task, max(1, helpers), lambda: wake.put(None))
    step.start()
    try:
        while step.left > 0:
            wake.get()
            while buffer:
                yield buffer.popleft()
    except BaseException:
        step.abandon()
        raise
    while buffer:
        yield buffer.popleft()
    step.wait()
