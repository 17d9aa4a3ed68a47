"""What savers have in common whose runs hold their threads, and whose threads may expire.

Rules: a saver adds where holds are kept. Without `ttl` nothing here is called while a run is at work, except for graphs
compiled with `concurrency="reject"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from stepgraph.checkpoint.holds import Hold, TimeToLive, read_ttl
from stepgraph.checkpoint.sweeping import Sweeping

__all__ = ("Expiring", "touched")


class Expiring(Sweeping):
    """Mixin of savers: holds, and threads with a time to live.

    Attributes:
        keeps_leases: Whether leases are seen by other processes.
        lease_seconds: How long a lease is good without being renewed: as long as a thread stays busy after the process that
            worked on it died.
        ttl: Seconds that a thread lives after the last write to it, or the end of its last run; `None` for ever.
    """

    keeps_leases: ClassVar[bool] = False
    lease_seconds: float = 30.0
    ttl: float | None = None
    _sweep_seconds: float = 300.0

    def set_ttl(self, ttl: TimeToLive) -> None:
        """Let threads expire; see the argument `ttl` of the saver's class.

        Raises:
            ValueError: A setting is unknown, or a time is not above zero.
        """
        self.ttl, self._sweep_seconds = read_ttl(ttl)

    # ---- holds

    def begin_hold(self, hold: Hold) -> str | None:
        """A run begins its work on a thread; if the thread has expired, it begins with nothing.

        Returns:
            The run whose lease had lapsed and was taken over, if there was one.

        Raises:
            ThreadBusyError: Another run has the lease.
        """
        raise NotImplementedError

    def renew_holds(self, holds: Sequence[Hold]) -> list[Hold]:
        """Runs are still at work; answers the holds whose lease is another's by now."""
        raise NotImplementedError

    def end_hold(self, hold: Hold) -> None:
        """A run has ended."""
        raise NotImplementedError

    async def abegin_hold(self, hold: Hold) -> str | None:
        """Async twin of `begin_hold`."""
        raise NotImplementedError

    async def aend_hold(self, hold: Hold) -> None:
        """Async twin of `end_hold`."""
        raise NotImplementedError

    # ---- sweeping

    def sweep_ttl(self) -> int:
        """Delete the threads that have expired, at every level; those that a run is at work on never have.

        Returns:
            How many threads that were.
        """
        raise NotImplementedError

    async def asweep_ttl(self) -> int:
        """Async twin of `sweep_ttl`."""
        raise NotImplementedError

    def _seconds_between_sweeps(self, minutes: float | None) -> float | None:
        if self.ttl is None:
            return None
        return minutes * 60.0 if minutes else self._sweep_seconds

    async def astop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Async twin of `stop_ttl_sweeper`: a sweep under way may need the event loop."""
        from asyncio import to_thread

        return await to_thread(self.stop_ttl_sweeper, timeout)


def touched(saver: Any, thread_id: str) -> Hold:
    """The hold that a single write has on its thread: nobody is kept out, the thread lives on."""
    return Hold(thread_id, "", None, saver.lease_seconds)
