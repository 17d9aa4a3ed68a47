"""The async methods of a saver that never waits.

Rules of this file: each does at once what its sync twin does, on the event loop; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from stepgraph.checkpoint.step_saver import Encoded, StepSaver

if TYPE_CHECKING:
    from stepgraph.checkpoint.changes import StepChanges

__all__ = ("UnwaitingSaver",)


class UnwaitingSaver(StepSaver):
    """A saver whose sync methods are quick enough to be called on an event loop."""

    async def aget_tuple(self, config: Mapping[str, Any]) -> CheckpointTuple | None:
        """Async twin of `get_tuple`."""
        return self.get_tuple(config)

    async def alist(
        self,
        config: Mapping[str, Any] | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async twin of `list`."""
        for found in self.list(config, filter=filter, before=before, limit=limit):
            yield found

    async def aput(
        self,
        config: Mapping[str, Any],
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> dict[str, Any]:
        """Async twin of `put`."""
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Async twin of `put_writes`."""
        self.put_writes(config, writes, task_id, task_path)

    async def aput_step(
        self,
        config: Mapping[str, Any],
        changes: StepChanges,
        metadata: Mapping[str, Any],
        *,
        durable: bool = True,
    ) -> None:
        """Async twin of `put_step`."""
        self.put_step(config, changes, metadata, durable=durable)

    async def astore(self, batch: Sequence[Encoded], *, durable: bool) -> None:
        """Async twin of `store`."""
        self.store(batch, durable=durable)

    async def adelete_thread(self, thread_id: str) -> None:
        """Async twin of `delete_thread`."""
        self.delete_thread(thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async twin of `copy_thread`."""
        self.copy_thread(source_thread_id, target_thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async twin of `delete_for_runs`."""
        self.delete_for_runs(run_ids)
