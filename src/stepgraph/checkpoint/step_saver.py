"""What our own savers have beyond the standard protocol: storing one superstep's changes, encoded before it is stored.

The engine's way: `encode_step` and `encode_writes` run on the engine's thread, in order, where values cannot change
under them, and cost CPU only; `store` does the I/O of a batch of what was encoded, in one transaction, in order. A saver
whose `store` never waits says so by `inline`: then the engine calls `put_step` and `put_writes`.

Rules: what is the same for every storage lives here; a saver adds where rows go and come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from stepgraph.checkpoint.base import (
    EXCLUDED_METADATA_KEYS,
    LATEST_VERSION,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from stepgraph.checkpoint.growth.codec import Codec, UnreadableCheckpointWarning
from stepgraph.checkpoint.growth.encoder import changes_between, encode_row, encode_writes_rows
from stepgraph.checkpoint.growth.lanes import Lane, Lanes
from stepgraph.checkpoint.growth.rows import Key, RowParts, WritesParts
from stepgraph.checkpoint.shaped import without_shape
from stepgraph.errors import ThreadBusyError
from stepgraph.values.missing import MISSING, Missing
from stepgraph.values.names import CONFIG_KEY_EXPECTED_HEAD, GRAPH_SHAPE

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from typing import Self

    from stepgraph.checkpoint.changes import StepChanges
    from stepgraph.checkpoint.growth.reader import Loaded
    from stepgraph.checkpoint.serde.base import SerializerProtocol

__all__ = ("Encoded", "EncodedStep", "EncodedWrites", "StepSaver")


class Encoded:
    """Something to be stored, already in bytes.

    Attributes:
        size: How many bytes, for a queue that is bounded by them.
        key: Thread and namespace.
        lane: What was remembered when it was encoded.
    """

    __slots__ = ("key", "lane", "size")

    size: int
    key: Key
    lane: Lane


class EncodedStep(Encoded):
    """One superstep's changes.

    Attributes:
        row: The row.
        expected_head: The newest checkpoint that must be there; `MISSING` not to check.
        replaces: Whether a checkpoint of that id is there and is replaced.
        generation: The count of deletions in the storage that what is referred to is known to have survived.
    """

    __slots__ = ("expected_head", "generation", "replaces", "row")

    def __init__(self, lane: Lane, row: RowParts, expected_head: Any) -> None:
        self.lane = lane
        self.key = lane.key
        self.row = row
        self.expected_head = expected_head
        self.replaces = False
        self.generation = lane.generation
        self.size = 200 + len(row[4]) + len(row[5] or b"") + len(row[6] or b"")


class EncodedWrites(Encoded):
    """What one task wrote.

    Attributes:
        checkpoint_id: The checkpoint that it wrote against.
        rows: The rows.
    """

    __slots__ = ("checkpoint_id", "rows")

    def __init__(self, lane: Lane, checkpoint_id: str, rows: list[WritesParts]) -> None:
        self.lane = lane
        self.key = lane.key
        self.checkpoint_id = checkpoint_id
        self.rows = rows
        self.size = sum([150 + len(row[3]) for row in rows])


class StepSaver(BaseCheckpointSaver[str]):
    """Base of savers that store by difference.

    Args:
        serde: Turns values into bytes and back; by default `JsonPlusSerializer()`.
    """

    inline: ClassVar[bool] = False
    """Whether `store` never waits."""

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._codec = Codec(self.serde)
        self._lanes = Lanes()

    def _with_serde(self, serde: SerializerProtocol) -> Self:
        twin = super()._with_serde(serde)
        twin._codec = Codec(serde)
        return twin

    # ---- encoding

    def encode_step(
        self, config: Mapping[str, Any], changes: StepChanges, metadata: Mapping[str, Any]
    ) -> EncodedStep:
        """Turn one superstep's changes into bytes.

        Args:
            config: Names thread and namespace.
            changes: What changed.
            metadata: The checkpoint's metadata; what the config says about the run is added, as in `put`.

        Returns:
            What `store` takes.

        Raises:
            NotStorableError: A value cannot be stored.
        """
        lane = self._lane(key_of(config))
        with lane.lock:
            row = self._encode_row(lane, config, changes, metadata)
            lane.note_encoded(changes.id, changes.parent_id)
            return EncodedStep(lane, row, changes.expected_head)

    def _encode_row(
        self,
        lane: Lane,
        config: Mapping[str, Any],
        changes: StepChanges,
        metadata: Mapping[str, Any],
        parent: str | Missing | None = MISSING,
    ) -> RowParts:
        """The row of a superstep; the lane's lock is held."""
        if changes.parent_id is not None and changes.parent_id not in lane.frames:
            self._recall(lane, changes.parent_id)
        common = lane.offered = changes.common
        packed = self._encode_metadata(lane, _whole(config, metadata) if common is None else metadata)
        try:
            row = encode_row(lane, changes, packed, self._codec, parent)
        finally:
            if lane.broken:
                self._lanes.break_off(lane)
        if lane.grown:
            self._lanes.weigh(lane)
        return row

    def encode_writes(
        self, config: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> EncodedWrites:
        """Turn a task's writes into bytes. Arguments as in `put_writes`.

        Raises:
            NotStorableError: A value cannot be stored.
        """
        lane = self._lane(key_of(config))
        checkpoint_id = written_checkpoint(config)
        with lane.lock:
            rows = encode_writes_rows(lane, writes, task_id, task_path, run_id_of(config), self._codec)
            return EncodedWrites(lane, checkpoint_id, rows)

    def _lane(self, key: Key) -> Lane:
        return self._lanes.get(key) or self._lanes.open(key)

    def _encode_metadata(self, lane: Lane, metadata: Mapping[str, Any]) -> Any:
        """Metadata in the form in which the saver keeps it in rows."""
        raise self._not_defined("_encode_metadata")

    # ---- storing

    def put(
        self,
        config: Mapping[str, Any],
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> dict[str, Any]:
        """Store a complete checkpoint; what did not change since its parent is not stored again."""
        key = key_of(config)
        replaces = self._make_room(key, checkpoint["id"])
        encoded = self.encode_checkpoint(config, checkpoint, metadata, new_versions)
        encoded.replaces = replaces
        self._store_now(encoded, durable=True)
        return config_of(key, checkpoint["id"])

    def encode_checkpoint(
        self,
        config: Mapping[str, Any],
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
        *,
        returned: set[int] | None = None,
    ) -> EncodedStep:
        """Turn a complete checkpoint into bytes. Arguments as in `put`.

        Args:
            returned: `id()` of the objects that may have been changed in place, as in `StepChanges`; `None`: any.

        Returns:
            What `store` takes. Where a checkpoint of that id is stored already, `put` must be used.

        Raises:
            NotStorableError: A value cannot be stored.
        """
        lane = self._lane(key_of(config))
        with lane.lock:
            parent = config["configurable"].get("checkpoint_id") or None
            if parent is not None and parent not in lane.frames:
                self._recall(lane, parent)
            return self._encode_whole(lane, config, checkpoint, metadata, new_versions, returned)

    def _encode_whole(
        self,
        lane: Lane,
        config: Mapping[str, Any],
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
        returned: set[int] | None = None,
    ) -> EncodedStep:
        """Turn a complete checkpoint into bytes, as a difference where the parent's frame is remembered."""
        parent = config["configurable"].get("checkpoint_id") or None
        with lane.lock:
            changes = changes_between(lane, parent, checkpoint, new_versions)
            changes.expected_head = config["configurable"].get(CONFIG_KEY_EXPECTED_HEAD, MISSING)
            changes.run_id = run_id_of(config, metadata)
            changes.returned = returned
            row = self._encode_row(lane, config, changes, metadata, parent)
            lane.note_encoded(checkpoint["id"], parent)
            return EncodedStep(lane, row, changes.expected_head)

    def _make_room(self, key: Key, checkpoint_id: str) -> bool:
        """Where a checkpoint of that id is stored already, let no other one refer to it; tells whether one is."""
        raise self._not_defined("_make_room")

    def _recall(self, lane: Lane, checkpoint_id: str) -> None:
        """Remember the frame of a stored checkpoint, if it can be read from here."""
        raise self._not_defined("_recall")

    def put_writes(
        self, config: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote against a checkpoint, before a later checkpoint folds it."""
        self._store_now(self.encode_writes(config, writes, task_id, task_path), durable=True)

    def _store_now(self, encoded: Encoded, *, durable: bool) -> None:
        try:
            self.store((encoded,), durable=durable)
        except BaseException:
            self.abandon((encoded,))
            raise

    def abandon(self, batch: Sequence[Encoded]) -> None:
        """What was encoded will not be stored: let nothing that is encoded later refer to it."""
        for item in batch:
            self._lanes.break_off(item.lane)

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
        self._store_now(self.encode_step(config, changes, metadata), durable=durable)

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


def key_of(config: Mapping[str, Any]) -> Key:
    """Thread and namespace that a config names.

    Raises:
        ValueError: It names no thread.
    """
    where = config["configurable"]
    try:
        thread_id = where["thread_id"]
    except KeyError:
        raise ValueError(
            f"A saver needs configurable.thread_id in the config, got the keys {sorted(where)!r}."
            ' Pass {"configurable": {"thread_id": "..."}}.'
        ) from None
    return (thread_id if type(thread_id) is str else str(thread_id), where.get("checkpoint_ns") or "")


def config_of(key: Key, checkpoint_id: str) -> dict[str, Any]:
    """The config that names a checkpoint."""
    return {"configurable": {"thread_id": key[0], "checkpoint_ns": key[1], "checkpoint_id": checkpoint_id}}


def _whole(config: Mapping[str, Any], metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `get_checkpoint_metadata` gives; the metadata itself where the config adds nothing."""
    if not config.get("metadata"):
        if len(config["configurable"]) == 2 and "checkpoint_ns" in config["configurable"]:
            return metadata
        for name in config["configurable"]:
            if name not in EXCLUDED_METADATA_KEYS and name not in metadata and name[:2] != "__":
                break
        else:
            return metadata
    return get_checkpoint_metadata(config, metadata)  # type: ignore[arg-type]


def written_checkpoint(config: Mapping[str, Any]) -> str:
    """The id of the checkpoint that a task wrote against.

    Raises:
        ValueError: The config names none.
    """
    checkpoint_id: str | None = config["configurable"].get("checkpoint_id")
    if not checkpoint_id:
        raise ValueError(
            f"put_writes needs a config with configurable.checkpoint_id, got {dict(config['configurable'])!r}."
            " Pass the config that put() returned."
        )
    return checkpoint_id


def run_id_of(config: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> str | None:
    """The run that a config or a checkpoint's metadata belong to, where they say so."""
    found = metadata.get("run_id") if metadata else None
    if found is None:
        found = config["configurable"].get("run_id")
    if found is None and len(config) > 1:
        found = config.get("run_id") or (config.get("metadata") or {}).get("run_id")
    return None if found is None else str(found)


def deleted_meanwhile(key: Key, run_id: str | None) -> ThreadBusyError:
    """What to raise where a step refers to checkpoints that were deleted since it was encoded."""
    return ThreadBusyError(
        key[0],
        key[1],
        run_id=run_id,
        message=f"Thread {key[0]!r}, namespace {key[1]!r}, was pruned or deleted while run {run_id} was at work on it, so"
        " its next checkpoint cannot be stored. Run again: it goes on from the newest checkpoint that is left. Prune"
        " threads that no run is at work on.",
    )


def refers_to_lost(item: Encoded, run_id: str | None) -> RuntimeError:
    """What to raise where something refers to a step that was encoded in the same lane and is not stored."""
    thread_id, namespace = item.key
    if not item.lane.contested:
        return RuntimeError(
            f"An earlier write to thread {thread_id!r}, namespace {namespace!r} failed, so this one, which refers to it, was"
            " not stored. Run again: it goes on from what is stored."
        )
    return ThreadBusyError(thread_id, namespace, run_id=run_id)


def note_stored(batch: Sequence[Encoded]) -> None:
    """Tell the lanes of a batch that it is stored."""
    for item in batch:
        if isinstance(item, EncodedStep):
            item.lane.note_stored()


def to_tuple(key: Key, loaded: Loaded, metadata: Any) -> CheckpointTuple:
    """A checkpoint as the standard protocol has it."""
    row, frame = loaded.row, loaded.frame
    versions = frame.versions
    checkpoint: Checkpoint = {
        "v": LATEST_VERSION if loaded.record.form is None else loaded.record.form,
        "id": row.id,
        "ts": loaded.record.made_at(row.id),
        "channel_values": loaded.values,
        "channel_versions": {k: v for k, v in versions.items() if v is not None},
        "versions_seen": {node: dict(seen) for node, seen in frame.seen.items()},
        "updated_channels": loaded.record.updated,
    }
    parent = None if row.parent is None else config_of(key, row.parent)
    if GRAPH_SHAPE in versions:
        return without_shape(config_of(key, row.id), checkpoint, metadata, parent, loaded.writes)
    return CheckpointTuple(config_of(key, row.id), checkpoint, metadata, parent, loaded.writes)


def matches(metadata: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    """Whether metadata has all the keys of a filter with its values."""
    return not filter or all(metadata.get(key) == value for key, value in filter.items())


def warn_unreadable(error: Exception) -> None:
    """Say that a listing leaves out a checkpoint."""
    from warnings import warn

    warn(f"Left out of the list: {error}", UnreadableCheckpointWarning, stacklevel=3)


def cutoff_of(strategy: str, older_than: datetime | timedelta | float | None) -> float | None:
    """The time before which checkpoints are dropped, in seconds since 1970.

    Raises:
        ValueError: The strategy is unknown.
    """
    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f"prune() knows the strategies 'keep_latest' and 'delete', got {strategy!r}.")
    if older_than is None:
        return None
    from datetime import datetime, timedelta
    from time import time

    if isinstance(older_than, datetime):
        return older_than.timestamp()
    return time() - (older_than.total_seconds() if isinstance(older_than, timedelta) else older_than)


def public(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without what is kept for ourselves."""
    return {key: value for key, value in metadata.items() if type(key) is not str or key[:2] != "__"}
