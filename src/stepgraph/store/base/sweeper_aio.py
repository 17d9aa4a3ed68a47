"""Removing expired items in the background, for stores with async methods.

Rules of this file: one task a store, started on request; a sweep under way is let finish when it is told to stop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any


class AsyncSweeper:
    """A task that calls a method of a store again and again.

    Args:
        sweep: The method.
        seconds: The time between two calls; the first is made at once.
    """

    def __init__(self, sweep: Callable[[], Awaitable[Any]], seconds: float) -> None:
        self._sweep = sweep
        self._seconds = seconds
        self._stop = asyncio.Event()
        self.task: asyncio.Task[None] = asyncio.create_task(self._work())

    async def stop(self, timeout: float | None) -> bool:
        """Ask the task to end and wait for it; whether it has ended within `timeout` seconds."""
        self._stop.set()
        await asyncio.wait([self.task], timeout=timeout)
        return self.task.done()

    async def _work(self) -> None:
        while not self._stop.is_set():
            try:
                await self._sweep()
            except Exception as error:
                logging.getLogger("stepgraph.store").warning(
                    "Removing expired store items failed; it is tried again at the next interval.",
                    exc_info=error,
                )
            try:
                await asyncio.wait_for(self._stop.wait(), self._seconds)
            except TimeoutError:
                continue
