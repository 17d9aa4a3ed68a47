"""What savers in databases do about holds and threads that expire: every method once, as a program that is given to a runner.

Rules: no connections here. Without a `ttl` no method that reads or writes asks the database anything more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from stepgraph.checkpoint.expiry import Expiring, touched
from stepgraph.checkpoint.holds import Hold
from stepgraph.checkpoint.sql.statements import R, StatementProgram
from stepgraph.checkpoint.step_saver import StepSaver

if TYPE_CHECKING:
    from stepgraph.checkpoint.growth.codec import Codec
    from stepgraph.checkpoint.growth.rows import Key
    from stepgraph.checkpoint.sql.programs import Programs
    from stepgraph.checkpoint.sql.saver import Runner

__all__ = ("HoldingSaver",)

_AT_ONCE: Final = 100
"""So many threads are swept in one transaction."""


class HoldingSaver(Expiring, StepSaver):
    """Mixin of savers in databases."""

    keeps_leases: ClassVar[bool] = True
    _runner: Runner
    _programs: Programs
    _codec: Codec

    # ---- holds

    def begin_hold(self, hold: Hold) -> str | None:
        """A run begins its work on a thread; see `Expiring.begin_hold`."""
        return self._runner.write(self._programs.begin_hold(hold, self.ttl), durable=False)

    async def abegin_hold(self, hold: Hold) -> str | None:
        """Async twin of `begin_hold`."""
        return await self._runner.awrite(self._programs.begin_hold(hold, self.ttl), durable=False)

    def renew_holds(self, holds: Sequence[Hold]) -> list[Hold]:
        """Runs are still at work; answers the holds whose lease is another's by now."""
        return self._runner.write(self._programs.renew_holds(holds, self.ttl), durable=False)

    def end_hold(self, hold: Hold) -> None:
        """A run has ended."""
        self._runner.write(self._programs.end_hold(hold, self.ttl), durable=False)

    async def aend_hold(self, hold: Hold) -> None:
        """Async twin of `end_hold`."""
        await self._runner.awrite(self._programs.end_hold(hold, self.ttl), durable=False)

    # ---- a checkpoint that is put lets its thread live on, a thread that has expired is not there

    def _room_for(self, key: Key, checkpoint_id: str) -> StatementProgram[bool]:
        """What comes before a complete checkpoint is stored."""
        if self.ttl is not None:
            yield from self._programs.begin_hold(touched(self, key[0]), self.ttl)
        return (yield from self._programs.make_room(key, checkpoint_id, self._codec))

    def _unless_expired(
        self, program: StatementProgram[tuple[R | None, int]], thread_id: str
    ) -> StatementProgram[tuple[R | None, int]]:
        """A program that reads a thread: it finds nothing where the thread has expired."""
        found, generation = yield from program
        if found is not None and (yield from self._programs.is_expired(thread_id)):
            return None, generation
        return found, generation

    # ---- sweeping

    def sweep_ttl(self) -> int:
        """Delete the threads that have expired, at every level; those that a run is at work on never have.

        Returns:
            How many threads that were.
        """
        count = 0
        while gone := self._runner.write(self._programs.sweep(_AT_ONCE)):
            count += self._swept(gone)
        return count

    async def asweep_ttl(self) -> int:
        """Async twin of `sweep_ttl`."""
        count = 0
        while gone := await self._runner.awrite(self._programs.sweep(_AT_ONCE)):
            count += self._swept(gone)
        return count

    def _swept(self, threads: Sequence[str]) -> int:
        for thread_id in threads:
            self._lanes.forget_thread(thread_id)
        return len(threads)
