"""Starting calls of `@task` functions and waiting for them, on threads; `calls_aio.py` does it on an event loop.

Theory of operation. Who calls decides what is answered: code of an async node, on its event loop, gets an `asyncio.Future`;
any other code gets a `TaskFuture`, a `concurrent.futures.Future` that can be awaited too. What is called decides where it
runs: a synchronous function on a pool thread, an async one on the run's event loop. A call starts at once. When its caller
ends, its calls are waited for; when the caller fails, those that did not start are dropped and coroutines are cancelled.

One caller has at most `MAX_THREADS` calls on threads at a time; the others wait in a queue, and a thread that ends one
call takes the next. With `max_concurrency`, each call takes a slot of the run, and its caller lends its own meanwhile.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from stepgraph.errors import GraphBubbleUp
from stepgraph.pregel.call import execute, unwrapped
from stepgraph.pregel.calls import (
    Calls,
    CallTask,
    begin_call,
    bubbled,
    call_done,
    call_failed,
    report_uncollected,
)
from stepgraph.pregel.drivers.attempts import attempt_sync
from stepgraph.pregel.drivers.pool import POOL
from stepgraph.pregel.drivers.sync import as_failure, explain_failure, is_stopping, loop_host
from stepgraph.pregel.task import Task, current_task

if TYPE_CHECKING:
    from collections.abc import Generator

    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.plan import NodePlan

T = TypeVar("T")

MAX_THREADS = 64
"""How many calls of one caller are on threads at a time."""


class TaskFuture(Future[T]):
    """The result of a call, now or later. `result()` waits for it, `await` too.

    `collected` tells whether somebody looked. A call whose pool thread has not come to it yet is run by the thread that
    waits for its result, which has nothing else to do.
    """

    collected = False
    job: Callable[[], None] | None = None

    def result(self, timeout: float | None = None) -> T:
        """What the task returned; raises what it raised, and `TimeoutError` if it takes longer than `timeout` seconds."""
        self.collected = True
        job = self.job  # another thread may take it at any moment
        if timeout is None and job is not None and not _in_event_loop():
            job()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What the task raised, or None."""
        self.collected = True
        return super().exception(timeout)

    def __await__(self) -> Generator[Any, Any, T]:
        from asyncio import wrap_future

        return wrap_future(self).__await__()


def start_call(node: NodePlan, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Call a task from the running node, and answer its future.

    Raises:
        RuntimeError: No node is running here, or its run is being stopped.
        TaskOrderError: A resumed caller makes its calls in another order than before.
    """
    caller = current_task()
    if caller is None:
        raise RuntimeError(
            f"Called task {node.name!r} outside of a graph's run: call it inside an @entrypoint or a node, or in code that one "
            f"calls. To run the function alone, call {node.name}.func(...). In a thread of your own, copy the context: "
            "contextvars.copy_context().run(...)."
        )
    calls: Any = caller.calls or _new_calls(caller)
    if calls.closed:
        raise RuntimeError(
            f"Called task {node.name!r} after {caller.node.name!r}, to which the calling code belongs, had ended: nothing would wait "
            "for it. Wait in the node for the threads and tasks that it starts."
        )
    call = begin_call(calls, caller, node, arguments, named)
    if _on_its_loop(caller):
        from stepgraph.pregel.drivers.calls_aio import start_on_loop

        return start_on_loop(call, calls)
    call.future = call.shown = future = TaskFuture[Any]()
    if call.restored:
        future.set_result(call.result)
    elif node.is_async:
        from stepgraph.pregel.drivers.calls_aio import start_on_host

        start_on_host(call, future, loop_host(call.machine).loop())
    else:
        calls.on_thread(call, future)
    return future


def _new_calls(caller: Task) -> Calls:
    with _MAKING:
        if caller.calls is None:
            caller.calls = RunningCalls(caller.machine)
        return caller.calls


_MAKING = threading.Lock()


def _on_its_loop(caller: Task) -> bool:
    """Whether the calling code is a coroutine of the caller, and not a synchronous node below somebody's event loop."""
    node = caller.node
    asyncio = sys.modules.get("asyncio")
    if node.acall is None or asyncio is None:
        return False
    loop = asyncio._get_running_loop()
    if loop is None:
        return False
    host = caller.machine.scope.loop_host
    return node.call is None or (host is not None and host.owns(loop))


def _in_event_loop() -> bool:
    """Whether this thread runs an event loop, below which a task could not run one of its own."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


class _Job:
    """One call that is to run on a thread: on that of whoever comes first, and once."""

    __slots__ = ("_parts",)

    def __init__(self, call: CallTask, future: TaskFuture[Any]) -> None:
        self._parts = [(call, future, copy_context())]

    def __call__(self) -> None:
        try:
            call, future, context = self._parts.pop()
        except IndexError:
            return  # somebody else runs it
        future.job = None
        try:
            if future.set_running_or_notify_cancel():
                _run(call, future, context)
        finally:
            regain_slot(call)


class RunningCalls(Calls):
    """The calls of one caller, with what starts them and waits for them."""

    __slots__ = ("__weakref__", "_lock", "_queue", "_threads", "closed", "machine")

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine
        self.closed = False
        _OPEN.add(self)
        self._lock = threading.Lock()
        self._queue: deque[_Job] = deque()
        self._threads = 0

    def on_thread(self, call: CallTask, future: TaskFuture[Any]) -> None:
        """Run a call on a pool thread, at once or when one of this caller's threads is free."""
        lend_slot(call)
        future.job = job = _Job(call, future)
        with self._lock:
            waits = self._threads >= MAX_THREADS
            if waits:
                self._queue.append(job)
            else:
                self._threads += 1
        if not waits:
            POOL.submit(lambda: self._work(job))

    def _work(self, job: _Job) -> None:
        while True:
            job()
            with self._lock:
                if not self._queue:
                    self._threads -= 1
                    return
                job = self._queue.popleft()

    def settle(self, task: Task) -> None:
        self._wait()
        self._conclude(task)

    def close(self, task: Task, error: BaseException) -> None:
        if not isinstance(error, GraphBubbleUp):
            self.drop()
        self._wait()
        self._replace(error)

    async def asettle(self, task: Task) -> None:
        from stepgraph.pregel.drivers.calls_aio import wait_for

        await wait_for(self)
        self._conclude(task)

    async def aclose(self, task: Task, error: BaseException) -> None:
        from stepgraph.pregel.drivers.calls_aio import wait_for

        if not isinstance(error, GraphBubbleUp):
            self.drop()
        await wait_for(self)
        self._replace(error)

    def _wait(self) -> None:
        for call in self.children:
            wait((call.future,))

    def drop(self) -> None:
        """Start nothing more, and cancel what can be."""
        for call in self.children:
            if call.future is not None:
                call.future.cancel()
            if call.handle is not None:
                _cancel_from_afar(call)

    def _replace(self, error: BaseException) -> None:
        """All calls of a caller that raised have ended: their questions are asked beside its own."""
        instead = bubbled(self.children, unwrapped(error))
        self._end()
        if instead is not None and instead is not error:
            raise instead

    def _conclude(self, task: Task) -> None:
        """All calls of a caller that returned have ended: raise what they hand up, warn of what nobody looked at."""
        bubble = bubbled(self.children, None)
        unseen = [call for call in self.children if isinstance(call.error, Exception) and not _was_seen(call)]
        self._end()
        if bubble is not None:
            raise bubble
        if task.swallowed is self:
            task.swallowed = None
        if unseen:
            report_uncollected(task, unseen)

    def _end(self) -> None:
        self.closed = True
        _OPEN.discard(self)
        for call in self.children:
            if call.handle is not None and not call.handle.cancelled():
                call.handle.exception()
        self.children = []


_OPEN: WeakSet[RunningCalls] = WeakSet()


def drop_calls(machine: Machine) -> None:
    """The run is being stopped at this level: so are the calls of its tasks, and of tasks in graphs below."""
    for calls in list(_OPEN):
        level: Machine | None = calls.machine
        while level is not None and level is not machine:
            level = None if level.parent is None else level.parent.machine
        if level is machine:
            calls.drop()


def _was_seen(call: CallTask) -> bool:
    """Whether anybody looked at the future of a call that failed."""
    shown = call.shown
    if isinstance(shown, TaskFuture):
        return shown.collected
    return shown.cancelled() or not shown._log_traceback


def _cancel_from_afar(call: CallTask) -> None:
    call.cancelled = True
    try:
        call.handle.get_loop().call_soon_threadsafe(call.handle.cancel)
    except RuntimeError:
        return  # its event loop is closed, and the handle with it


def _run(call: CallTask, future: TaskFuture[Any], context: Context) -> None:
    """The body of a call on a thread: run it, store what came out, then tell whoever waits."""
    try:
        result = _perform(call, context)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def _perform(call: CallTask, context: Context) -> Any:
    machine = call.machine
    try:
        if is_stopping(machine):
            call.cancelled = True
            raise CancelledError
        context.run(attempt_sync if needs_policies(call) else execute, call)
    except BaseException as error:
        raised = note_failure(call, as_failure(call, unwrapped(error)))
        if raised is error:
            raise
        raise raised from error
    keep_result(call)
    recorder = machine.recorder
    if recorder is not None and recorder.waits:
        recorder.between_steps()
    return call.result


def note_failure(call: CallTask, error: BaseException) -> BaseException:
    """Tell what became of a call that raised, and answer what its caller gets."""
    if isinstance(error, Exception) and not isinstance(error, GraphBubbleUp):
        explain_failure(call, error)
    call_failed(call, error)
    return error


def keep_result(call: CallTask) -> None:
    """Store what a call returned; a result that cannot be stored fails it."""
    try:
        call_done(call)
    except Exception as error:
        call.error = error
        explain_failure(call, error)
        raise


def needs_policies(call: CallTask) -> bool:
    """Whether more than the bare function has to run."""
    return call.node.policy is not None or call.timeout is not None or call.machine.scope.observer is not None


def lend_slot(call: CallTask) -> None:
    """A caller that has calls at work holds no slot of the run."""
    slot = holder_of_slot(call)
    if slot is not None:
        call.lent = slot
        slot.lend()


def regain_slot(call: CallTask) -> None:
    """A call has ended; after the last one its caller holds a slot again."""
    if call.lent is not None:
        call.lent.regain_at_once()


def holder_of_slot(call: CallTask) -> Any:
    """The slot of the nearest task above a call that holds one."""
    if call.machine.scope.slots is None:
        return None
    above: Task | None = call.caller
    while above is not None and above.run_slot is None:
        above = above.above
    return None if above is None else above.run_slot
