"""What our own savers have beyond the standard protocol: storing one superstep's changes, encoded before it is stored.

The engine's way: `encode_step` and `encode_writes` run on the engine's thread, in order, where values cannot change
under them, and cost CPU only; `store` does the I/O of a batch of what was encoded, in one transaction, in order. A saver
whose `store` never waits says so by `inline`: then the engine calls `put_step` and `put_writes`.

Rules: what is the same for every storage lives here; a saver adds where rows go and come from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

from stepgraph.checkpoint.base import (
    EXCLUDED_METADATA_KEYS,
    LATEST_VERSION,
    BaseCheckpointSaver,
    Checkpoint,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from stepgraph.checkpoint.growth.codec import Codec
from stepgraph.checkpoint.growth.encoder import encode_row, encode_writes_rows
from stepgraph.checkpoint.growth.lanes import Lane, Lanes
from stepgraph.checkpoint.growth.rows import Key, Row, WritesRow

if TYPE_CHECKING:
    from stepgraph.checkpoint.changes import StepChanges
    from stepgraph.checkpoint.growth.reader import Loaded
    from stepgraph.checkpoint.serde.base import SerializerProtocol

__all__ = ("Encoded", "EncodedStep", "EncodedWrites", "StepSaver", "config_of", "key_of", "matches", "to_tuple")


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
    """

    __slots__ = ("expected_head", "row")

    def __init__(self, lane: Lane, row: Row, expected_head: Any) -> None:
        self.lane = lane
        self.key = lane.key
        self.row = row
        self.expected_head = expected_head
        self.size = 200 + len(row.record) + len(row.values or b"") + len(row.writes or b"")


class EncodedWrites(Encoded):
    """What one task wrote.

    Attributes:
        checkpoint_id: The checkpoint that it wrote against.
        rows: The rows.
    """

    __slots__ = ("checkpoint_id", "rows")

    def __init__(self, lane: Lane, checkpoint_id: str, rows: list[WritesRow]) -> None:
        self.lane = lane
        self.key = lane.key
        self.checkpoint_id = checkpoint_id
        self.rows = rows
        self.size = sum([150 + len(row.data) for row in rows])


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
        self._encoding = RLock()

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> StepSaver:
        """The same saver over the same data, that also restores the classes named here."""
        widen = getattr(self.serde, "with_msgpack_allowlist", None)
        if widen is None:
            return self
        twin = copy(self)
        twin.serde = widen(extra_allowlist)
        twin._codec = Codec(twin.serde)
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
        key = key_of(config)
        with self._encoding:
            lane = self._lane(key)
            try:
                row = encode_row(lane, changes, self._encode_metadata(_whole(config, metadata)), self._codec)
            finally:
                if lane.broken:
                    self._lanes.break_off(lane)
            if lane.grown:
                self._lanes.weigh(lane)
            return EncodedStep(lane, row, changes.expected_head)

    def encode_writes(
        self, config: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> EncodedWrites:
        """Turn a task's writes into bytes. Arguments as in `put_writes`.

        Raises:
            NotStorableError: A value cannot be stored.
        """
        key = key_of(config)
        checkpoint_id = config["configurable"].get("checkpoint_id")
        if not checkpoint_id:
            raise ValueError(
                f"put_writes needs a config with configurable.checkpoint_id, got {dict(config['configurable'])!r}."
                " Pass the config that put() returned."
            )
        with self._encoding:
            lane = self._lane(key)
            rows = encode_writes_rows(lane, writes, task_id, task_path, _run_id(config), self._codec)
            return EncodedWrites(lane, checkpoint_id, rows)

    def _lane(self, key: Key) -> Lane:
        return self._lanes.get(key) or self._lanes.open(key)

    def _encode_metadata(self, metadata: Mapping[str, Any]) -> Any:
        """Metadata in the form in which the saver keeps it in rows."""
        return self._codec.pack(metadata)

    # ---- storing

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
        self, config: Mapping[str, Any], changes: StepChanges, metadata: Mapping[str, Any], *, durable: bool = True
    ) -> None:
        """Encode one superstep's changes and store them. Arguments as in `encode_step` and `store`."""
        self.store((self.encode_step(config, changes, metadata),), durable=durable)

    async def aput_step(
        self, config: Mapping[str, Any], changes: StepChanges, metadata: Mapping[str, Any], *, durable: bool = True
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
        for name in config["configurable"]:
            if name not in EXCLUDED_METADATA_KEYS and name not in metadata and name[:2] != "__":
                break
        else:
            return metadata
    return get_checkpoint_metadata(config, metadata)  # type: ignore[arg-type]


def _run_id(config: Mapping[str, Any]) -> str | None:
    """The run that a config belongs to, where it says so."""
    for found in (
        config["configurable"].get("run_id"),
        config.get("run_id"),
        (config.get("metadata") or {}).get("run_id"),
    ):
        if found is not None:
            return str(found)
    return None


def run_id_of(config: Mapping[str, Any], metadata: Mapping[str, Any]) -> str | None:
    """The run that a checkpoint stored by `put` belongs to, where config or metadata say so."""
    found = metadata.get("run_id")
    return str(found) if found is not None else _run_id(config)


def to_tuple(key: Key, loaded: Loaded, metadata: Any) -> CheckpointTuple:
    """A checkpoint as the standard protocol has it."""
    row, frame = loaded.row, loaded.frame
    versions = frame.versions
    checkpoint: Checkpoint = {
        "v": LATEST_VERSION,
        "id": row.id,
        "ts": loaded.record.ts,
        "channel_values": loaded.values,
        "channel_versions": {k: v for k, v in versions.items() if v is not None},
        "versions_seen": {node: dict(seen) for node, seen in frame.seen.items()},
        "updated_channels": loaded.record.updated,
    }
    parent = None if row.parent is None else config_of(key, row.parent)
    return CheckpointTuple(config_of(key, row.id), checkpoint, metadata, parent, loaded.writes)


def matches(metadata: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    """Whether metadata has all the keys of a filter with its values."""
    return not filter or all(metadata.get(key) == value for key, value in filter.items())


def public(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without what is kept for ourselves."""
    return {key: value for key, value in metadata.items() if key[:2] != "__"}
