"""Running a program: a generator that yields requests to a saver and receives what the saver answers.

A request is `(method, arguments, options)` with the method's synchronous name. `list` answers a list. Three requests are
not the saver's: `__store__` stores what a ledger collected, `__branches__` follows a task's conditional edges, `__hold__`
begins a run's hold on its thread.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextvars import copy_context
from typing import Any, TypeVar

from stepgraph.checkpoint.expiry import touched
from stepgraph.pregel.branches import follow_branches
from stepgraph.pregel.call import afollow_branches
from stepgraph.pregel.drivers import heart
from stepgraph.pregel.drivers.recorder import PlainRecorder, speaks_async, speaks_sync, takes_steps
from stepgraph.pregel.task import CURRENT

T = TypeVar("T")
Request = tuple[str, tuple[Any, ...], Mapping[str, Any]]
Program = Generator[Request, Any, T]


def request(method: str, *arguments: Any, **options: Any) -> Request:
    return method, arguments, options


def run_program(program: Program[T], saver: Any, host: Any = None) -> T:
    """Run a program with a saver's synchronous methods; an async-only saver is called on the loop host."""
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            method, arguments, options = program.send(answer) if error is None else program.throw(error)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        answer = error = None
        try:
            if method == "__branches__":
                _follow(arguments[0], host)
            elif method == "__hold__":
                heart.begin(arguments[0])
            elif method == "__store__":
                for inner, given in storing(saver, *arguments):
                    _on_host(saver, inner, given, {}, host) if not speaks_sync(saver) else getattr(
                        saver, inner
                    )(*given)
            elif speaks_sync(saver):
                answer = getattr(saver, method)(*arguments, **options)
                if method == "list":
                    answer = list(answer)
            else:
                answer = _on_host(saver, method, arguments, options, host)
        except Exception as failure:
            error = failure


def _on_host(saver: Any, method: str, arguments: Any, options: Any, host: Any) -> Any:
    if host is not None:
        return host.run(lambda: _ask(saver, method, arguments, options), copy_context())
    from stepgraph.pregel.drivers.loop_host import LoopHost

    own = LoopHost()
    try:
        return own.run(lambda: _ask(saver, method, arguments, options), copy_context())
    finally:
        own.close()


async def _ask(saver: Any, method: str, arguments: Any, options: Any) -> Any:
    if method == "list":
        return [found async for found in saver.alist(*arguments, **options)]
    return await getattr(saver, "a" + method)(*arguments, **options)


async def arun_program(program: Program[T], saver: Any) -> T:
    """Run a program with a saver's asynchronous methods; a saver that never waits is called directly."""
    direct = takes_steps(saver) and saver.inline
    own_async = speaks_async(saver) or not speaks_sync(saver)
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            method, arguments, options = program.send(answer) if error is None else program.throw(error)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        answer = error = None
        try:
            if method == "__branches__":
                await arun_branches(arguments[0])
            elif method == "__hold__":
                await heart.abegin(arguments[0])
            elif method == "__store__":
                for inner, given in storing(saver, *arguments):
                    await _async_call(saver, inner, given, direct, own_async)
            elif direct:
                answer = getattr(saver, method)(*arguments, **options)
                if method == "list":
                    answer = list(answer)
            elif own_async:
                answer = await _ask(saver, method, arguments, options)
            else:
                answer = await _in_thread(saver, method, arguments, options)
        except Exception as failure:
            error = failure


async def _in_thread(saver: Any, method: str, arguments: Any, options: Any) -> Any:
    from asyncio import to_thread

    def call() -> Any:
        answer = getattr(saver, method)(*arguments, **options)
        return list(answer) if method == "list" else answer

    return await to_thread(call)


async def _async_call(saver: Any, method: str, arguments: Any, direct: bool, own_async: bool) -> None:
    if direct:
        getattr(saver, method)(*arguments)
    elif own_async:
        await _ask(saver, method, arguments, {})
    else:
        await _in_thread(saver, method, arguments, {})


def storing(saver: Any, steps: Any, known: Any) -> list[tuple[str, tuple[Any, ...]]]:
    """The calls that store what a ledger collected with this saver."""
    calls: list[tuple[str, tuple[Any, ...]]] = []
    if takes_steps(saver):
        if getattr(saver, "ttl", None) is not None:
            calls = [("begin_hold", (touched(saver, str(steps[0][0])),))]
        for thread_id, namespace, changes, metadata in steps:
            config = {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace}}
            calls.append(("put_step", (config, changes, metadata)))
        return calls
    for thread_id, namespace, changes, metadata in steps:
        recorder = PlainRecorder(saver, thread_id)
        recorder.perform = calls.extend  # type: ignore
        if known is not None:
            recorder.loaded(namespace, known)
        recorder.step(namespace, changes, metadata)
    return calls


def _follow(task: Any, host: Any) -> None:
    """Follow a task's branches; coroutines go to the loop host."""
    context = copy_context()
    context.run(CURRENT.set, task)
    if not any(branch.is_async for branch in task.node.branches):
        context.run(follow_branches, task)
        return
    from stepgraph.pregel.drivers.loop_host import LoopHost

    own = host or LoopHost()
    try:
        own.run(lambda: afollow_branches(task, None), context)
    finally:
        if host is None:
            own.close()


async def arun_branches(task: Any) -> None:
    """Follow a task's branches in an asynchronous program."""
    from asyncio import create_task

    context = copy_context()
    context.run(CURRENT.set, task)
    await create_task(afollow_branches(task, None), context=context)
