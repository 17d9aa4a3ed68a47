"""The asynchronous driver: it awaits tasks on the event loop and keeps synchronous work off it.

A lone coroutine task is awaited inline: no `asyncio.Task`, but in a context of its own. Several get a task each and a
shared countdown. Consecutive supersteps of purely synchronous nodes run on one worker thread, one hand-off for all.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from contextvars import Context, copy_context
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

from stepgraph.errors import NodeCancelledError
from stepgraph.pregel import bridges
from stepgraph.pregel.call import aexecute
from stepgraph.pregel.drivers import heart
from stepgraph.pregel.drivers.pool import POOL
from stepgraph.pregel.drivers.stopping import request_stop
from stepgraph.pregel.drivers.sync import is_given_up, run_task, run_tasks, settle_error
from stepgraph.pregel.ending import close, close_failed, outcome, stands_at_breakpoint
from stepgraph.pregel.observed import aobserved_outcome
from stepgraph.pregel.register import leave as leave_thread
from stepgraph.pregel.task import CURRENT

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.task import Task

SLICE_SECONDS = 0.0005
"""A run that never suspends lets the loop turn, and lets go of the interpreter lock, this often."""
_YIELD_SECONDS = 1e-6


class _InContext:
    """Await a coroutine without a task of its own, each of its steps inside a context of its own."""

    __slots__ = ("_context", "_coroutine")

    def __init__(self, context: Context, coroutine: Any) -> None:
        self._context = context
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        run, coroutine = self._context.run, self._coroutine
        try:
            yielded = run(coroutine.send, None)
        except StopIteration as stop:
            return stop.value
        while True:
            try:
                sent = yield yielded
            except GeneratorExit:
                run(coroutine.close)
                raise
            except BaseException as error:
                step, value = coroutine.throw, error
            else:
                step, value = coroutine.send, sent
            try:
                yielded = run(step, value)
            except StopIteration as stop:
                return stop.value


async def arun_task(task: Task) -> None:
    """Await one task and tell the machine what became of it; raises what the run must fail with."""
    if task.restored:
        return
    machine = task.machine
    context = copy_context()
    context.run(CURRENT.set, task)
    coroutine = attempt(task)
    try:
        await _InContext(context, coroutine)
    except asyncio.CancelledError as error:
        _settle_cancelled(task, error)
    except BaseException as error:
        settle_error(task, error)
    else:
        if machine.listens:
            machine.done(task)


def attempt(task: Task) -> Any:
    """The coroutine of one task: its bare body, or all that its node's policies ask for."""
    if task.node.policy is not None or task.machine.scope.observer is not None or task.timeout is not None:
        from stepgraph.pregel.drivers.attempts_aio import attempt_async

        return attempt_async(task)
    return aexecute(task, path_off_loop)


def in_context(context: Context, coroutine: Any) -> Awaitable[Any]:
    """A coroutine to be awaited within this task of the event loop, but each of its steps inside `context`."""
    return _InContext(context, coroutine)


async def path_off_loop(task: Task, path: Callable[[Any, Task], Any], state: Any) -> Any:
    """A synchronous path function of an async node must not hold up the event loop."""
    return await offload(task.machine, path, state, task)


def _settle_cancelled(task: Task, error: asyncio.CancelledError) -> None:
    """Tell a run that is being cancelled from a node that raised CancelledError by itself."""
    current = asyncio.current_task()
    if task.cancelled or (current is not None and current.cancelling()):
        raise error
    failure = NodeCancelledError(task.node.name)
    failure.__cause__ = error
    settle_error(task, failure)


def is_sync_step(tasks: Sequence[Task]) -> bool:
    """Whether a superstep needs no event loop."""
    return all(prefers_thread(task) for task in tasks)


def prefers_thread(task: Task) -> bool:
    """Whether a task runs on a worker thread: its node has a synchronous form only."""
    node = task.node
    return node.acall is None and not node.has_async


def _segment(machine: Machine, tasks: Sequence[Task]) -> Sequence[Task]:
    """Stay on the worker thread for as long as supersteps are synchronous."""
    recorder = machine.recorder
    since = perf_counter()
    while tasks and is_sync_step(tasks):
        if perf_counter() - since > SLICE_SECONDS:
            sleep(_YIELD_SECONDS)
            since = perf_counter()
        if machine.stop_requested:
            raise asyncio.CancelledError
        if len(tasks) == 1:
            run_task(tasks[0])
        else:
            run_tasks(machine, tasks)
        tasks = machine.commit(tasks)
        if recorder is not None and recorder.waits:
            recorder.between_steps()
    return tasks


async def offload(machine: Machine, work: Callable[..., Any], *arguments: Any) -> Any:
    """Run work on a pool thread in a copy of this context; a cancelled wait asks it to stop and waits for it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def job() -> None:
        try:
            result = context.run(work, *arguments)
        except BaseException as error:
            _tell(loop, _set_error, future, error)
        else:
            _tell(loop, _set_result, future, result)

    POOL.submit(job)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        request_stop(machine)
        if is_given_up(machine):
            future.add_done_callback(_look_at)
        elif not future.done():
            await until_done(future)
        raise


def _look_at(future: asyncio.Future[Any]) -> None:
    """Nobody is told of an error in work that nobody waits for."""
    if not future.cancelled():
        future.exception()


async def await_future(machine: Machine, future: Any) -> Any:
    """The result of an executor's future.

    A cancelled wait cancels the future; if its work runs already it is waited for, unless a time limit gave it up.
    """
    waiting: asyncio.Future[Any] = asyncio.wrap_future(future)
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        if not future.cancel():
            if is_given_up(machine):
                waiting.add_done_callback(_look_at)
            else:
                await until_done(waiting)
        raise


async def until_done(future: asyncio.Future[Any]) -> None:
    """Wait for work that cannot be cancelled, however often the waiting task is."""
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            continue
    _look_at(future)


def _tell(loop: asyncio.AbstractEventLoop, *call: Any) -> None:
    """Work that a time limit gave up may end after the event loop has."""
    try:
        loop.call_soon_threadsafe(*call)
    except RuntimeError:
        if not loop.is_closed():
            raise


def _set_result(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _set_error(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error if not isinstance(error, StopIteration) else RuntimeError(repr(error)))


async def adrive(machine: Machine, tasks: Sequence[Task]) -> None:
    """Run a machine to its end."""
    recorder = machine.recorder
    since = perf_counter()
    if recorder is not None and recorder.waits:
        await recorder.abetween_steps()
    while tasks:
        if is_sync_step(tasks):
            tasks = await offload(machine, _segment, machine, tasks)
            since = perf_counter()
            continue
        if len(tasks) == 1:
            await arun_task(tasks[0])
        else:
            await arun_tasks(machine, tasks)
        tasks = machine.commit(tasks)
        if recorder is not None and recorder.waits:
            await recorder.abetween_steps()
        if perf_counter() - since > SLICE_SECONDS:
            await asyncio.sleep(0)
            since = perf_counter()


class _Countdown:
    """Several tasks of one superstep: an asyncio.Task for each coroutine, one hand-off for all synchronous ones."""

    __slots__ = ("_handles", "_loop", "_machine", "_threaded", "_wake", "errors", "left")

    def __init__(self, machine: Machine, tasks: Sequence[Task]) -> None:
        self._machine = machine
        self._loop = asyncio.get_running_loop()
        self._wake: asyncio.Future[None] | None = None
        self.errors: list[BaseException] = []
        self._handles: list[asyncio.Task[None]] = []
        waiting = [task for task in tasks if not task.restored]
        threaded = [task for task in waiting if prefers_thread(task)]
        coroutines = [task for task in waiting if not prefers_thread(task)]
        self.left = len(coroutines) + bool(threaded)
        self._threaded: asyncio.Future[None] | None = None
        for task in coroutines:
            context = copy_context()
            context.run(CURRENT.set, task)
            self._handles.append(self._loop.create_task(self._one(task), context=context))
        if threaded:
            self._threaded = self._loop.create_task(self._in_threads(threaded))

    async def _one(self, task: Task) -> None:
        try:
            await self._run(task)
        except BaseException as error:
            self._failed(error)
        self._tick()

    async def _run(self, task: Task) -> None:
        try:
            await attempt(task)
        except asyncio.CancelledError as error:
            _settle_cancelled(task, error)
        except BaseException as error:
            settle_error(task, error)
        else:
            if self._machine.listens:
                self._machine.done(task)

    async def _in_threads(self, tasks: Sequence[Task]) -> None:
        try:
            await offload(self._machine, run_tasks, self._machine, tasks)
        except BaseException as error:
            self._failed(error)
        self._tick()

    def _failed(self, error: BaseException) -> None:
        self.errors.append(error)

    def _tick(self) -> None:
        self.left -= 1
        self.wake()

    def wake(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def turn(self) -> None:
        """Wait until something ended (or a consumer was woken)."""
        self._wake = self._loop.create_future()
        await self._wake

    async def wait(self) -> None:
        while self.left and not self.errors:
            await self.turn()

    async def close(self) -> None:
        """Cancel what still runs and wait until it has ended."""
        if self.left:
            request_stop(self._machine)
        rest: list[asyncio.Future[None]] = [handle for handle in self._handles if not handle.done()]
        for task_handle in rest:
            task_handle.cancel()
        if self._threaded is not None and not self._threaded.done():
            if is_given_up(self._machine):
                self._threaded.cancel()
            rest.append(self._threaded)
        if rest:
            interrupted = False
            while not all(handle.done() for handle in rest):
                try:
                    await asyncio.wait(rest)
                except asyncio.CancelledError:
                    interrupted = True
            if interrupted:
                raise asyncio.CancelledError

    def check(self) -> None:
        for error in self.errors:
            raise error


async def arun_tasks(machine: Machine, tasks: Sequence[Task]) -> None:
    """Run all tasks of one superstep; the first failure cancels the others and waits for them."""
    step = _Countdown(machine, tasks)
    try:
        await step.wait()
    finally:
        if step.left:
            await step.close()
    step.check()


async def arun(machine: Machine, begin: Callable[[], Awaitable[Sequence[Task]]]) -> Any:
    """Run a machine from its beginning to its end and answer its output."""
    ambient = bridges.active
    if ambient is None:
        return await _arun(machine, begin)
    outer = ambient.variable.get()
    ambient.variable.set(ambient.task_config)
    try:
        return await _arun(machine, begin)
    finally:
        ambient.variable.set(outer)


async def _arun(machine: Machine, begin: Callable[[], Awaitable[Sequence[Task]]]) -> Any:
    try:
        await adrive(machine, await begin())
    except BaseException as error:
        await agive_up(machine, error)
        raise
    return await aconclude(machine)


async def agive_up(machine: Machine, error: BaseException) -> None:
    """A run failed or was cancelled: what it finished is kept."""
    if machine.parent is not None and machine.parent.run_slot is not None:
        machine.parent.run_slot.regain_at_once()
    close_failed(machine)
    if machine.scope.observer is not None:
        await machine.scope.observer.arun_fails(machine, error)
    if machine.parent is None and machine.recorder is not None:
        try:
            await machine.recorder.asettle()
        except Exception as failure:
            if failure is not error:
                error.add_note(f"Besides, what the run had finished could not be stored: {failure!r}")
    if machine.parent is None:
        leave_thread(machine.scope)
        _close_loops(machine)
        if machine.scope.hold is not None:
            await heart.aend(machine.scope)


def _close_loops(machine: Machine) -> None:
    """End the loops that a root run started because its own was blocked."""
    if machine.scope.loop_host is not None:
        machine.scope.loop_host.close()


async def aconclude(machine: Machine) -> Any:
    """A run came to its end or stopped: store what is left, then answer or raise."""
    close(machine)
    if machine.parent is None:
        _close_loops(machine)
    if machine.parent is not None and machine.parent.run_slot is not None:
        from stepgraph.pregel.drivers.attempts_aio import regain

        await regain(machine.parent.run_slot)
    if machine.parent is None and machine.recorder is not None:
        try:
            await machine.recorder.asettle()
        finally:
            leave_thread(machine.scope)
            if machine.scope.hold is not None:
                await heart.aend(machine.scope)
    if machine.scope.observer is not None:
        return await aobserved_outcome(machine)
    return outcome(machine)


async def astream_run(
    machine: Machine, begin: Callable[[], Awaitable[Sequence[Task]]], buffer: deque[Any], live: Any
) -> AsyncIterator[Any]:
    """Run a machine step by step, yielding its events; `live` calls its `wake` when one arrives during a step."""
    pop = buffer.popleft
    ambient = bridges.active
    outer: Any = None
    try:
        tasks = await begin()
        recorder = machine.recorder
        while True:
            while buffer:
                yield pop()
            if not tasks:
                break
            if recorder is not None and recorder.waits:
                await recorder.abetween_steps()
            if ambient is not None:
                outer = ambient.variable.get()
                ambient.variable.set(ambient.task_config)
            if live is None and len(tasks) == 1:
                try:
                    if prefers_thread(tasks[0]):
                        await offload(machine, run_task, tasks[0])
                    else:
                        await arun_task(tasks[0])
                finally:
                    if ambient is not None:
                        ambient.variable.set(outer)
            else:
                step = _Countdown(machine, tasks)
                if ambient is not None:
                    ambient.variable.set(outer)
                if live is not None:
                    live.wake = step.wake
                try:
                    while step.left and not step.errors:
                        while buffer:
                            yield pop()
                        if step.left and not step.errors:
                            await step.turn()
                finally:
                    if step.left:
                        await step.close()
                step.check()
            tasks = machine.commit(tasks)
        if machine.sink is not None and stands_at_breakpoint(machine):
            machine.sink.breakpoint(machine)
        while buffer:
            yield pop()
    except GeneratorExit as closed:
        await agive_up(machine, closed)
        raise
    except BaseException as error:
        await agive_up(machine, error)
        while buffer:
            yield pop()
        raise
    await aconclude(machine)


class Live:
    """Wakes the consumer of an async stream from whatever thread an event comes from."""

    __slots__ = ("_loop", "wake")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.wake: Callable[[], None] = _nobody

    def notify(self) -> None:
        self._loop.call_soon_threadsafe(self._wake_now)

    def _wake_now(self) -> None:
        self.wake()


def _nobody() -> None:
    return None


def current_loop() -> asyncio.AbstractEventLoop:
    """The loop that this run lives on."""
    return asyncio.get_running_loop()


def lend_loop(machine: Machine) -> None:
    """Let synchronous code of this run, on worker threads, send its coroutines to the run's own loop."""
    if machine.parent is None and machine.scope.loop_host is None:
        from stepgraph.pregel.drivers.loop_host import LoopHost

        machine.scope.loop_host = LoopHost(asyncio.get_running_loop())
