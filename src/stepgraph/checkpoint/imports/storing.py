"""Storing what was converted: many checkpoints in one transaction where the saver is one of ours.

Rules: stores in the order in which it is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from stepgraph.checkpoint.imports.sharing import Sharing
from stepgraph.checkpoint.serde.errors import NotStorableError
from stepgraph.checkpoint.step_saver import Encoded, StepSaver

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import BaseCheckpointSaver
    from stepgraph.checkpoint.imports.convert import Converted
    from stepgraph.checkpoint.imports.source import Found

_ITEMS: Final = 256
_BYTES: Final = 4_000_000


class Storing:
    """Stores the checkpoints of one thread.

    Args:
        saver: Where they go.
        thread_id: The thread.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], thread_id: str) -> None:
        self._saver = saver
        self._thread_id = thread_id
        self._ours = saver if isinstance(saver, StepSaver) and not saver.inline else None
        self._batch: list[Encoded] = []
        self._size = 0
        self._held_back: list[tuple[Found, Converted, set[str] | None]] = []
        self._versions: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._sharing = Sharing()

    def add(self, found: Found, converted: Converted, stored: set[str] | None) -> None:
        """Store a checkpoint and what its tasks wrote, now or with the next ones; if it cannot be stored, nothing of it.

        Args:
            found: Names it.
            converted: The checkpoint.
            stored: The tasks whose writes are stored already; `None` if the checkpoint is not.

        Raises:
            NotStorableError: A value cannot be stored.
        """
        try:
            self._add(found, converted, stored)
        except NotStorableError:
            self._again()
            raise
        self._held_back.append((found, converted, stored))
        if len(self._batch) >= _ITEMS or self._size >= _BYTES:
            self.flush()

    def _again(self) -> None:
        """Encode anew what was held back: it may refer to what could not be encoded."""
        if self._ours is None:
            return
        self._ours.abandon(self._batch)
        self._batch, self._size = [], 0
        for found, converted, stored in self._held_back:
            self._add(found, converted, stored)

    def _add(self, found: Found, converted: Converted, stored: set[str] | None) -> None:
        where = {"thread_id": self._thread_id, "checkpoint_ns": found.namespace}
        checkpoint = converted.checkpoint
        metadata: Any = converted.metadata
        values = checkpoint["channel_values"]
        for channel, value in values.items():
            values[channel] = self._sharing.of(found.namespace, channel, value)
        if stored is None:
            config: Any = {
                "configurable": {**where, "checkpoint_id": found.parent} if found.parent else where
            }
            changed = self._changed(found, checkpoint["channel_versions"])
            if self._ours is None:
                self._saver.put(config, checkpoint, metadata, changed)
            else:
                step = self._ours.encode_checkpoint(config, checkpoint, metadata, changed, returned=set())
                self._take(step)
        target: Any = {"configurable": {**where, "checkpoint_id": found.id}}
        for task in converted.tasks:
            if not task.pairs or task.task_id in (stored or ()):
                continue
            if self._ours is None:
                self._saver.put_writes(target, task.pairs, task.task_id, task.path)
            else:
                self._take(self._ours.encode_writes(target, task.pairs, task.task_id, task.path))

    def _changed(self, found: Found, versions: Mapping[str, Any]) -> dict[str, Any]:
        """The channels whose version is another than in the parent, as far as that is remembered."""
        parent, before = self._versions.get(found.namespace, ("", {}))
        self._versions[found.namespace] = found.id, versions
        if parent != found.parent:
            return dict(versions)
        return {name: version for name, version in versions.items() if before.get(name) != version}

    def _take(self, encoded: Encoded) -> None:
        self._batch.append(encoded)
        self._size += encoded.size

    def flush(self) -> None:
        """Store what was held back."""
        batch, self._batch, self._size = self._batch, [], 0
        self._held_back.clear()
        if batch and self._ours is not None:
            try:
                self._ours.store(batch, durable=True)
            except BaseException:
                self._ours.abandon(batch)
                raise
