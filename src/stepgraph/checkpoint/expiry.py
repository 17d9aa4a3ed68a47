"""What savers have in common whose runs hold their threads, and whose threads may expire.

Rules: a saver adds where holds are kept. Without `ttl` nothing here is called while a run is at work, except for graphs
compiled with `concurrency="reject"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from stepgraph.checkpoint.holds import Hold, TimeToLive, read_ttl

if TYPE_CHECKING:
    from concurrent.futures import Future

    from stepgraph.checkpoint.sweeper import Sweeper

__all__ = ("Expiring", "touched")


class Expiring:
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
    _sweeper: Sweeper | None = None

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

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Start to delete expired threads in the background, at once and then again and again.

        Args:
            sweep_interval_minutes: Minutes between two sweeps; left out, as configured, else 5.

        Returns:
            A future that is done when the sweeper has ended; at once where the saver has no `ttl`. A sweeper that runs
            already goes on as it is.
        """
        from concurrent.futures import Future  # loaded only by who starts a sweeper

        if self.ttl is None:
            idle: Future[None] = Future()
            idle.set_result(None)
            return idle
        if self._sweeper is None:
            from stepgraph.checkpoint.sweeper import Sweeper

            minutes = sweep_interval_minutes
            self._sweeper = Sweeper(self.sweep_ttl, minutes * 60.0 if minutes else self._sweep_seconds)
        return self._sweeper.done

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the background sweeper.

        Args:
            timeout: Seconds to wait for a sweep under way; `None` waits as long as it takes.

        Returns:
            Whether no sweeper runs any more.
        """
        sweeper = self._sweeper
        if sweeper is None:
            return True
        stopped = sweeper.stop(timeout)
        if stopped:
            self._sweeper = None
        return stopped

    async def astop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Async twin of `stop_ttl_sweeper`: a sweep under way may need the event loop."""
        from asyncio import to_thread

        return await to_thread(self.stop_ttl_sweeper, timeout)


def touched(saver: Any, thread_id: str) -> Hold:
    """The hold that a single write has on its thread: nobody is kept out, the thread lives on."""
    return Hold(thread_id, "", None, saver.lease_seconds)
