"""Waiting for a ticket in an event loop. The bookkeeping is in `single_flight.py`."""

from __future__ import annotations

import asyncio

from stepgraph.cache.single_flight import State, Ticket


async def wait(ticket: Ticket) -> bool:
    """Wait until somebody has the result or it is this ticket's turn to compute.

    A caller that is cancelled leaves the ticket (its `with` block does), so that another takes over.

    Returns:
        Whether the result is there. If not, this ticket must compute.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not future.done():
            future.set_result(None)

    if ticket.notify(lambda: loop.call_soon_threadsafe(settle)):
        await future
    return ticket.state is State.DONE
