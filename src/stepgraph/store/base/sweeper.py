"""Removing expired items in the background, for stores with sync methods.

Rules of this file: how often a store is swept follows from its TTL configuration.
"""

from __future__ import annotations

from stepgraph.checkpoint.sweeping import Sweeping
from stepgraph.store.base.config import TTLConfig, sweep_seconds


class SweepingStore(Sweeping):
    """The sync sweeper methods of a store. The store has `ttl_config` and `sweep_ttl()`."""

    ttl_config: TTLConfig | None

    def _seconds_between_sweeps(self, minutes: float | None) -> float | None:
        return sweep_seconds(self.ttl_config, minutes) if self.ttl_config else None
