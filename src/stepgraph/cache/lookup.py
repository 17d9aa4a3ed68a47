"""Looking a value up so that it is computed once: the cache and the single flight, put together.

Rules of this file: the order of steps, written once as a generator; the sync runner is here, the async one in
`lookup_aio.py`. The caller computes, keeps and finishes:

    found = look_up(cache, key)
    if found.ticket is None:
        return found.value
    with found.ticket:                          # left on any error: another caller takes over
        value = compute()
        cache.set({key: (value, ttl)})
        found.ticket.finish()                   # those who wait read it from the cache
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from stepgraph.cache.base import BaseCache
from stepgraph.cache.keys import FullKey
from stepgraph.cache.single_flight import State, Ticket, flights_of


class Found(NamedTuple):
    """What a look-up ends with.

    Attributes:
        value: The cached value, if there was one.
        ticket: `None` if there was one; else the caller must compute, and finish or leave this ticket.
    """

    value: Any
    ticket: Ticket | None


class Get(NamedTuple):
    """A request for the values of some keys."""

    keys: list[FullKey]


class Wait(NamedTuple):
    """A request to wait for a ticket."""

    ticket: Ticket


Steps = Generator[Get | Wait, Any, Found]


def steps(cache: BaseCache[Any], key: FullKey, within: Ticket | None) -> Steps:
    """The steps of a look-up.

    A key that somebody finished between our miss and our turn is looked up again; so is one that we waited for. If it is
    still missing then (it lives no time, or was cleared), we compute.
    """
    flights = flights_of(cache)
    while True:
        before = flights.finished
        values = yield Get([key])
        if key in values:
            return Found(values[key], None)
        ticket = flights.enter(key, within)
        try:
            if ticket.state is State.WAITING:
                yield Wait(ticket)
            if ticket.state is State.LEADING and flights.finished != before:
                values = yield Get([key])
                if key in values:
                    ticket.leave()
                    return Found(values[key], None)
        except BaseException:
            ticket.leave()
            raise
        if ticket.state is not State.DONE:
            return Found(None, ticket)


def look_up(cache: BaseCache[Any], key: FullKey, within: Ticket | None = None) -> Found:
    """Look a value up; if somebody computes it right now, wait for that in this thread.

    Args:
        cache: Where to look.
        key: What for.
        within: The ticket of the computation that asks, if that is cached itself.
    """
    program = steps(cache, key, within)
    try:
        request = next(program)
        while True:
            try:
                answer: Any = cache.get(request.keys) if isinstance(request, Get) else request.ticket.wait()
            except BaseException as error:
                request = program.throw(error)
            else:
                request = program.send(answer)
    except StopIteration as stop:
        found: Found = stop.value
        return found
