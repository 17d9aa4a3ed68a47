"""Removing expired items in the background, for stores with sync methods.

Rules of this file: what a store adds to a `Sweeper`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepgraph.checkpoint.sweeper import Sweeper
from stepgraph.store.base.config import TTLConfig, sweep_seconds

if TYPE_CHECKING:
    from concurrent.futures import Future


class SweepingStore:
    """The sync sweeper methods of a store. The store has `ttl_config` and `sweep_ttl()`."""

    ttl_config: TTLConfig | None
    _sweeper: Sweeper | None = None

    def sweep_ttl(self) -> int:
        """Remove what is expired; returns how many items that were."""
        raise NotImplementedError

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Start to remove expired items in the background, at once and then again and again.

        Args:
            sweep_interval_minutes: Minutes between two sweeps; left out, as configured, else 5.

        Returns:
            A future that is done when the sweeper has ended; at once where the store has no TTL configuration. A
            sweeper that runs already goes on as it is.
        """
        from concurrent.futures import Future  # loaded only by who starts a sweeper

        if not self.ttl_config:
            idle: Future[None] = Future()
            idle.set_result(None)
            return idle
        if self._sweeper is None:
            self._sweeper = Sweeper(self.sweep_ttl, sweep_seconds(self.ttl_config, sweep_interval_minutes))
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
