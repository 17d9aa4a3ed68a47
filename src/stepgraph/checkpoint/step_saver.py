"""What our own savers have beyond the standard protocol: storing one superstep's changes, encoded before it is stored.

The engine's way: `encode_step` and `encode_writes` run on the engine's thread, in order, where values cannot change
under them, and cost CPU only; `store` does the I/O of a batch of what was encoded, in one transaction, in order. A saver
whose `store` never waits says so by `inline`: then the engine calls `put_step` and `put_writes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from stepgraph.checkpoint.base import BaseCheckpointSaver

if TYPE_CHECKING:
    from stepgraph.checkpoint.changes import StepChanges

__all__ = ("Encoded", "StepSaver")


class Encoded:
    """Something to be stored, already in bytes.

    Attributes:
        size: How many bytes, for a queue that is bounded by them.
    """

    __slots__ = ("size",)

    size: int


class StepSaver(BaseCheckpointSaver[str]):
    """Base of savers that store by difference."""

    inline: ClassVar[bool] = False
    """Whether `store` never waits."""

    def encode_step(
        self, config: Mapping[str, Any], changes: StepChanges, metadata: Mapping[str, Any]
    ) -> Encoded:
        """Turn one superstep's changes into bytes.

        Args:
            config: Names thread and namespace.
            changes: What changed.
            metadata: The checkpoint's metadata; what the config says about the run is added, as in `put`.

        Returns:
            What `store` takes.
        """
        raise self._not_defined("encode_step")

    def encode_writes(
        self, config: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> Encoded:
        """Turn a task's writes into bytes. Arguments as in `put_writes`."""
        raise self._not_defined("encode_writes")

    def store(self, batch: Sequence[Encoded], *, durable: bool) -> None:
        """Store a batch in one transaction, in order: all of it or nothing.

        Args:
            batch: What the encoders gave.
            durable: Whether it must survive a loss of power from the moment this returns.

        Raises:
            ThreadBusyError: The newest checkpoint is not the one that a step expects.
        """
        raise self._not_defined("store")

    async def astore(self, batch: Sequence[Encoded], *, durable: bool) -> None:
        """Async twin of `store`."""
        await self._in_thread("store", batch, durable=durable)

    def put_step(
        self,
        config: Mapping[str, Any],
        changes: StepChanges,
        metadata: Mapping[str, Any],
        *,
        durable: bool = True,
    ) -> None:
        """Encode one superstep's changes and store them. Arguments as in `encode_step` and `store`."""
        self.store((self.encode_step(config, changes, metadata),), durable=durable)

    async def aput_step(
        self,
        config: Mapping[str, Any],
        changes: StepChanges,
        metadata: Mapping[str, Any],
        *,
        durable: bool = True,
    ) -> None:
        """Async twin of `put_step`."""
        await self.astore((self.encode_step(config, changes, metadata),), durable=durable)
