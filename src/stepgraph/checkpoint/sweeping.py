"""Starting and stopping to remove what is expired, for savers and stores with sync methods.

Rules of this file: an owner adds what a sweep does, and how often. Threads are loaded only by who starts a sweeper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future

    from stepgraph.checkpoint.sweeper import Sweeper

__all__ = ("Sweeping",)


class Sweeping:
    """Mixin of what can be swept in the background."""

    _sweeper: Sweeper | None = None

    def sweep_ttl(self) -> int:
        """Remove what is expired.

        Returns:
            How much that was: items of a store, threads of a saver.
        """
        raise NotImplementedError

    def _seconds_between_sweeps(self, minutes: float | None) -> float | None:
        """Seconds between two sweeps, where a person said `minutes`; `None` where nothing expires."""
        raise NotImplementedError

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Start to remove what is expired in the background, at once and then again and again.

        Args:
            sweep_interval_minutes: Minutes between two sweeps; left out, as configured, else 5.

        Returns:
            A future that is done when the sweeper has ended; at once where no `ttl` is configured. A sweeper that runs
            already goes on as it is.
        """
        seconds = self._seconds_between_sweeps(sweep_interval_minutes)
        if seconds is None:
            from concurrent.futures import Future

            idle: Future[None] = Future()
            idle.set_result(None)
            return idle
        if self._sweeper is None:
            from stepgraph.checkpoint.sweeper import Sweeper

            self._sweeper = Sweeper(self.sweep_ttl, seconds)
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
