"""Starting calls of `@task` functions on an event loop; `calls.py` says how it all fits together."""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from stepgraph.errors import NodeCancelledError
from stepgraph.pregel.call import unwrapped
from stepgraph.pregel.drivers.aio import attempt
from stepgraph.pregel.drivers.attempts_aio import is_being_cancelled
from stepgraph.pregel.drivers.calls import (
    RunningCalls,
    TaskFuture,
    keep_result,
    lend_slot,
    note_failure,
    regain_slot,
)
from stepgraph.pregel.task import CURRENT

if TYPE_CHECKING:
    from stepgraph.pregel.calls import CallTask


def start_on_loop(call: CallTask, calls: RunningCalls) -> asyncio.Future[Any]:
    """Start a call that a coroutine makes: a coroutine as a task of this event loop, anything else on a thread."""
    loop = asyncio.get_running_loop()
    if call.restored:
        call.handle = loop.create_future()
        call.handle.set_result(call.result)
    elif call.node.is_async:
        _start(call, loop, _context_of(call))
    else:
        call.future = future = TaskFuture[Any]()
        calls.on_thread(call, future)
        call.handle = asyncio.wrap_future(future, loop=loop)
    call.shown = handle = call.handle
    return handle  # type: ignore[no-any-return]


def start_on_host(call: CallTask, future: TaskFuture[Any], loop: asyncio.AbstractEventLoop) -> None:
    """Start a coroutine that code outside of the event loop calls; its outcome goes to `future`."""
    context = _context_of(call)

    def begin() -> None:
        if future.set_running_or_notify_cancel():
            _start(call, loop, context)
            call.handle.add_done_callback(finish)

    def finish(handle: asyncio.Task[Any]) -> None:
        error = CancelledError() if handle.cancelled() else handle.exception()
        if error is None:
            future.set_result(handle.result())
        else:
            future.set_exception(error)

    loop.call_soon_threadsafe(begin)


def _start(call: CallTask, loop: asyncio.AbstractEventLoop, context: Context) -> None:
    lend_slot(call)
    call.handle = loop.create_task(_run(call), context=context)
    call.handle.add_done_callback(lambda _: regain_slot(call))


def _context_of(call: CallTask) -> Context:
    context = copy_context()
    context.run(CURRENT.set, call)
    return context


async def _run(call: CallTask) -> Any:
    """The body of a call on an event loop: run it, store what came out, then answer it."""
    try:
        await attempt(call)
    except BaseException as error:
        raised = note_failure(call, _as_failure(call, unwrapped(error)))
        if raised is error:
            raise
        raise raised from error
    keep_result(call)
    recorder = call.machine.recorder
    if recorder is not None and recorder.waits:
        await recorder.abetween_steps()
    return call.result


def _as_failure(call: CallTask, raised: BaseException) -> BaseException:
    """A task that raises `CancelledError` although nobody cancels it has failed."""
    if isinstance(raised, asyncio.CancelledError) and not is_being_cancelled(call):
        failure = NodeCancelledError(call.node.name)
        failure.__cause__ = raised
        return failure
    return raised


async def wait_for(calls: RunningCalls) -> None:
    """Wait until every call has ended; if this wait is cancelled the calls are cancelled, and still waited for."""
    cancelled: asyncio.CancelledError | None = None
    for call in calls.children:
        while True:
            rest = _unfinished(call)
            if rest is None:
                break
            try:
                await asyncio.wait([rest])
            except asyncio.CancelledError as error:
                cancelled = error
                calls.drop()
    if cancelled is not None:
        raise cancelled


def _unfinished(call: CallTask) -> asyncio.Future[Any] | None:
    """What of a call is still to be waited for: its future in this event loop, then the thread behind it."""
    loop = asyncio.get_running_loop()
    handle: asyncio.Future[Any] | None = call.handle
    if handle is not None and handle.get_loop() is loop and not handle.done():
        return handle
    if call.future is None or call.future.done():
        return None
    ended = loop.create_future()

    def finish() -> None:
        if not ended.done():
            ended.set_result(None)

    call.future.add_done_callback(lambda _: loop.call_soon_threadsafe(finish))
    return ended
