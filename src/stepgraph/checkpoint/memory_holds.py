"""Threads in memory that expire.

Rules: storing a step does nothing here: the run that does it holds its thread. Leases are not kept: all runs on a saver in memory are in one process, where the
register of runs at work keeps others out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import time
from typing import TYPE_CHECKING

from stepgraph.checkpoint.expiry import Expiring

if TYPE_CHECKING:
    from stepgraph.checkpoint.growth.rows import Key
    from stepgraph.checkpoint.holds import Hold
    from stepgraph.checkpoint.memory_rows import MemoryHistory

__all__ = ("MemoryHolds",)


class MemoryHolds(Expiring):
    """Mixin of the saver in memory."""

    _histories: dict[Key, MemoryHistory]
    _deadlines: dict[str, float]

    def delete_thread(self, thread_id: str) -> None:
        """Delete all that a thread stored, at every level."""
        raise NotImplementedError

    def _now(self) -> float:
        return time()

    def begin_hold(self, hold: Hold) -> None:
        """A run begins its work on a thread; if the thread has expired, it begins with nothing."""
        if self._has_expired(hold.thread_id):
            self.delete_thread(hold.thread_id)
        self._live_on(hold.thread_id)

    def renew_holds(self, holds: Sequence[Hold]) -> list[Hold]:
        """Runs are still at work."""
        for hold in holds:
            self._live_on(hold.thread_id)
        return []

    def end_hold(self, hold: Hold) -> None:
        """A run has ended."""
        self._live_on(hold.thread_id)

    async def abegin_hold(self, hold: Hold) -> None:
        """Async twin of `begin_hold`."""
        self.begin_hold(hold)

    async def aend_hold(self, hold: Hold) -> None:
        """Async twin of `end_hold`."""
        self.end_hold(hold)

    def sweep_ttl(self) -> int:
        """Delete the threads that have expired, at every level; those that a run is at work on never have.

        Returns:
            How many threads that were.
        """
        threads = {thread_id for thread_id, _ in list(self._histories)}
        gone = [thread_id for thread_id in threads if self._has_expired(thread_id)]
        for thread_id in gone:
            self.delete_thread(thread_id)
        return len(gone)

    async def asweep_ttl(self) -> int:
        """Async twin of `sweep_ttl`."""
        return self.sweep_ttl()

    def _live_on(self, thread_id: str) -> None:
        if self.ttl is not None:
            self._deadlines[thread_id] = self._now() + self.ttl

    def _has_expired(self, thread_id: str) -> bool:
        if self.ttl is None:
            return False
        deadline = self._deadlines.get(thread_id)
        return deadline is not None and deadline <= self._now()

    def _expired_threads(self, keys: Mapping[Key, MemoryHistory]) -> set[str]:
        if self.ttl is None:
            return set()
        return {thread_id for thread_id in {key[0] for key in list(keys)} if self._has_expired(thread_id)}
