"""Looking a value up in an event loop. The steps are in `lookup.py`."""

from __future__ import annotations

from typing import Any

from stepgraph.cache.base import BaseCache
from stepgraph.cache.keys import FullKey
from stepgraph.cache.lookup import Found, Get, steps
from stepgraph.cache.single_flight import Ticket
from stepgraph.cache.single_flight_aio import wait


async def alook_up(cache: BaseCache[Any], key: FullKey, within: Ticket | None = None) -> Found:
    """Look a value up; if somebody computes it right now, wait for that.

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
                if isinstance(request, Get):
                    answer: Any = await cache.aget(request.keys)
                else:
                    answer = await wait(request.ticket)
            except BaseException as error:
                request = program.throw(error)
            else:
                request = program.send(answer)
    except StopIteration as stop:
        found: Found = stop.value
        return found
