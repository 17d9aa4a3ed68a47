"""How an event of a chain reaches the handlers that do something on it.

Where code may block, handlers are called in turn. LangChain's own dispatchers do what is not that plain, so handlers fail, are
awaited or raise as they do elsewhere; if a worker thread of an asynchronous run has an event for coroutine functions, these are
awaited on the run's loop. On the event loop, handlers that are plain functions run on a worker thread, all of one event on
one. A handler that has proved to take next to no time is called at once from then on: waking a thread for it costs a
hundred times as much. One slow call, and it is never again.
"""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from inspect import iscoroutinefunction
from time import perf_counter
from types import CoroutineType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from langchain_core.callbacks.base import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.callbacks.manager import ahandle_event, handle_event

if TYPE_CHECKING:
    from stepgraph.langchain.record import Record
    from stepgraph.pregel.machine import Machine

CHAIN_EVENTS = ("on_chain_start", "on_chain_end", "on_chain_error")

QUICK_SECONDS = 50e-6
QUICK_CALLS = 3
"""So many calls in a row must have been quick before a handler is called on the event loop."""
LATE_SECONDS = 1e-3
"""A call that takes longer bars its handler from the event loop."""

_NOTHING = {
    event: (getattr(BaseCallbackHandler, event), getattr(AsyncCallbackHandler, event))
    for event in CHAIN_EVENTS
}


class Pace:
    """How fast one handler has been on one event: quick calls in a row; negative once it was late."""

    __slots__ = ("quick",)

    def __init__(self) -> None:
        self.quick = 0

    def took(self, seconds: float) -> None:
        if self.quick >= 0:
            self.quick = -1 if seconds > LATE_SECONDS else self.quick + 1 if seconds < QUICK_SECONDS else 0

    def __bool__(self) -> bool:
        return self.quick >= QUICK_CALLS


_paces: WeakKeyDictionary[Any, dict[str, Pace]] = WeakKeyDictionary()


def _pace(handler: Any, event: str) -> Pace:
    """What is known of a handler; kept over runs where that is possible."""
    try:
        return _paces.setdefault(handler, {}).setdefault(event, Pace())
    except TypeError:
        return Pace()


class Hearers:
    """The handlers that do something on one event.

    `awaited` are coroutine functions, `plain` are not. `direct` are those that LangChain calls on the event loop, `threaded`
    the others, each with its pace.
    """

    __slots__ = ("all", "awaited", "direct", "plain", "threaded")

    def __init__(self, handlers: list[Any], event: str) -> None:
        self.all = [handler for handler in handlers if _does_something(handler, event)]
        self.awaited = [handler for handler in self.all if iscoroutinefunction(getattr(handler, event))]
        self.plain = [handler for handler in self.all if handler not in self.awaited]
        self.direct = [handler for handler in self.all if handler in self.awaited or handler.run_inline]
        self.threaded = [(h, _pace(h, event)) for h in self.all if h not in self.direct]


def _does_something(handler: Any, event: str) -> bool:
    """Whether a handler overrides what LangChain's base classes do on an event: nothing."""
    if event in getattr(handler, "__dict__", ()):
        return True
    return getattr(type(handler), event, None) not in _NOTHING[event]


class _Answered:
    """Gives LangChain's dispatcher what a handler has answered or raised already, in the handler's name."""

    def __init__(self, handler: Any, answer: Any) -> None:
        self._handler = handler
        self._answer = answer

    def __getattr__(self, name: str) -> Any:
        return self._again if name in CHAIN_EVENTS else getattr(self._handler, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """LangChain's report names the class."""
        return type(self._handler)

    def _again(self) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


class Told:
    """One event: which handlers hear it, and what they are told."""

    __slots__ = ("arguments", "event", "handlers", "named")

    def __init__(self, record: Record, event: str, *arguments: Any, **named: Any) -> None:
        self.handlers = record.handlers
        self.event = event
        self.arguments = arguments
        self.named = named
        named["run_id"] = record.run_id
        named["parent_run_id"] = record.parent_run_id
        named["tags"] = record.tags

    def to(self, handlers: list[Any]) -> None:
        """Call these handlers, one after the other."""
        event, arguments, named = self.event, self.arguments, self.named
        for handler in handlers:
            try:
                answer = getattr(handler, event)(*arguments, **named)
            except Exception as error:
                handle_event([_Answered(handler, error)], event, None)
            else:
                if type(answer) is CoroutineType:
                    handle_event([_Answered(handler, answer)], event, None)

    async def ato(self, handlers: list[Any]) -> None:
        """Call these handlers on the event loop."""
        await ahandle_event(handlers, self.event, "ignore_chain", *self.arguments, **self.named)

    def to_each(self, threaded: list[tuple[Any, Pace]]) -> None:
        """Call these handlers, and note how long each takes."""
        for handler, pace in threaded:
            since = perf_counter()
            self.to([handler])
            pace.took(perf_counter() - since)


def tell(machine: Machine, told: Told | None) -> None:
    """Dispatch an event where code may block."""
    if told is None:
        return
    hearers = told.handlers.hearing[told.event]
    host = machine.scope.root.loop_host if hearers.awaited else None
    if host is None:
        told.to(hearers.all)
    else:
        told.to(hearers.plain)
        host.run(lambda: told.ato(hearers.awaited), copy_context())


async def atell(told: Told | None) -> None:
    """Dispatch an event on the event loop."""
    if told is None:
        return
    hearers = told.handlers.hearing[told.event]
    if hearers.direct:
        await told.ato(hearers.direct)
    if not hearers.threaded:
        return
    if all(pace for _, pace in hearers.threaded):
        told.to_each(hearers.threaded)
    else:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, copy_context().run, told.to_each, hearers.threaded)
