"""The time and the chance that retries use, in one object, so that a test can hold both in its hand.

`Pregel.clock` is the clock of a graph's runs. A clock of a test derives from `Clock` and overrides what it wants to decide:

    >>> class Instant(Clock):
    ...     def sleep(self, seconds, stopping):
    ...         return None
"""

from __future__ import annotations

import time
from collections.abc import Callable

SLICE_SECONDS = 0.05
"""A sleeping retry looks this often whether its run is being stopped."""


class Clock:
    """The real one."""

    def time(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def random(self) -> float:
        """A number from 0 to 1."""
        from random import random

        return random()

    def sleep(self, seconds: float, stopping: Callable[[], bool]) -> None:
        """Block this thread; return early once `stopping` answers yes."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not stopping():
            time.sleep(min(left, SLICE_SECONDS))

    async def asleep(self, seconds: float) -> None:
        """The same without blocking the event loop; cancellation ends it."""
        from asyncio import sleep

        await sleep(seconds)


CLOCK = Clock()
