"""A saver that keeps everything in this process's memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from threading import RLock
from typing import Any, ClassVar

from stepgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from stepgraph.checkpoint.changes import StepChanges
from stepgraph.checkpoint.step_saver import Encoded, StepSaver
from stepgraph.errors import ThreadBusyError
from stepgraph.values.missing import MISSING

__all__ = ("InMemorySaver", "MemorySaver")


class _Row:
    __slots__ = ("data", "metadata", "parent", "run_id", "seen", "ts", "updated", "versions")


class _Lane:
    __slots__ = ("blobs", "newest", "rows", "writes")

    def __init__(self) -> None:
        self.rows: dict[str, _Row] = {}
        self.blobs: dict[tuple[str, Any], bytes] = {}
        self.writes: dict[str, dict[tuple[str, int], tuple[str, str, bytes]]] = {}
        self.newest: str | None = None


class _Direct(Encoded):
    __slots__ = ("call",)


class InMemorySaver(StepSaver):
    """Checkpoints in memory, as bytes."""

    inline: ClassVar[bool] = True

    def __init__(self, *, serde: Any = None, factory: Any = None) -> None:
        super().__init__(serde=serde)
        self._pack = self.serde.pack  # type: ignore[attr-defined]
        self._unpack = self.serde.unpack  # type: ignore[attr-defined]
        self._lanes: dict[tuple[str, str], _Lane] = {}
        self._lock = RLock()

    @property
    def storage(self) -> dict[str, dict[str, dict[str, Any]]]:
        result: dict[str, dict[str, dict[str, Any]]] = {}
        for (thread, ns), lane in self._lanes.items():
            result.setdefault(thread, {})[ns] = dict(lane.rows)
        return result

    def put_step(
        self,
        config: Mapping[str, Any],
        changes: StepChanges,
        metadata: Mapping[str, Any],
        *,
        durable: bool = True,
    ) -> None:
        where = config["configurable"]
        key = (str(where["thread_id"]), where.get("checkpoint_ns") or "")
        with self._lock:
            lane = self._lanes.get(key)
            if lane is None:
                lane = self._lanes[key] = _Lane()
            if changes.expected_head is not MISSING and changes.expected_head != lane.newest:
                other = lane.rows[lane.newest].run_id if lane.newest else None
                raise ThreadBusyError(key[0], key[1], run_id=changes.run_id, other_run_id=other)
            for task_id, path, pairs in changes.writes:
                self._write(lane, changes.parent_id or "", pairs, task_id, path)
            parent = lane.rows.get(changes.parent_id) if changes.parent_id else None
            row = _Row()
            row.parent = changes.parent_id
            row.ts = changes.ts
            row.run_id = changes.run_id
            row.updated = changes.updated
            row.metadata = self._pack(get_checkpoint_metadata(config, metadata))
            row.versions = {**(parent.versions if parent else {}), **changes.versions}
            row.seen = {**(parent.seen if parent else {}), **changes.seen}
            for name, value in changes.values.items():
                lane.blobs[name, changes.versions[name]] = self._pack(value)
            lane.rows[changes.id] = row
            if lane.newest is None or changes.id > lane.newest:
                lane.newest = changes.id

    def put(
        self,
        config: Mapping[str, Any],
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> dict[str, Any]:
        where = config["configurable"]
        parent_id = where.get("checkpoint_id")
        changes = StepChanges(
            id=checkpoint["id"],
            parent_id=parent_id,
            ts=checkpoint["ts"],
            values=checkpoint["channel_values"],
            versions=checkpoint["channel_versions"],
            seen=checkpoint["versions_seen"],
            updated=checkpoint.get("updated_channels"),
        )
        self.put_step(config, changes, metadata)
        return _config(str(where["thread_id"]), where.get("checkpoint_ns") or "", checkpoint["id"])

    def put_writes(
        self, config: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        where = config["configurable"]
        key = (str(where["thread_id"]), where.get("checkpoint_ns") or "")
        with self._lock:
            lane = self._lanes.get(key)
            if lane is None:
                lane = self._lanes[key] = _Lane()
            self._write(lane, where["checkpoint_id"], writes, task_id, task_path)

    def _write(
        self, lane: _Lane, checkpoint_id: str, pairs: Sequence[tuple[str, Any]], task_id: str, path: str
    ) -> None:
        held = lane.writes.setdefault(checkpoint_id, {})
        for index, (channel, value) in enumerate(pairs):
            place = (task_id, WRITES_IDX_MAP.get(channel, index))
            if place[1] < 0 or place not in held:
                held[place] = (path, channel, self._pack(value))

    def encode_step(self, config: Any, changes: StepChanges, metadata: Any) -> Encoded:
        result = _Direct()
        result.size = 0
        result.call = (self.put_step, (config, changes, metadata))
        return result

    def encode_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> Encoded:
        result = _Direct()
        result.size = 0
        result.call = (self.put_writes, (config, writes, task_id, task_path))
        return result

    def store(self, batch: Sequence[Encoded], *, durable: bool) -> None:
        for item in batch:
            assert isinstance(item, _Direct)
            function, args = item.call
            function(*args)

    async def astore(self, batch: Sequence[Encoded], *, durable: bool) -> None:
        self.store(batch, durable=durable)

    async def aput_step(
        self, config: Any, changes: StepChanges, metadata: Any, *, durable: bool = True
    ) -> None:
        self.put_step(config, changes, metadata)

    def get_tuple(self, config: Mapping[str, Any]) -> CheckpointTuple | None:
        where = config["configurable"]
        key = (str(where["thread_id"]), where.get("checkpoint_ns") or "")
        with self._lock:
            lane = self._lanes.get(key)
            if lane is None:
                return None
            checkpoint_id = where.get("checkpoint_id") or lane.newest
            if checkpoint_id not in lane.rows:
                return None
            return self._tuple(key, lane, checkpoint_id)

    def _tuple(self, key: tuple[str, str], lane: _Lane, checkpoint_id: str) -> CheckpointTuple:
        row = lane.rows[checkpoint_id]
        unpack = self._unpack
        values = {n: unpack(lane.blobs[n, v]) for n, v in row.versions.items() if (n, v) in lane.blobs}
        held = lane.writes.get(checkpoint_id, {})
        order = sorted(held.items(), key=lambda item: (item[1][0], item[0]))
        return CheckpointTuple(
            _config(*key, checkpoint_id),
            {
                "v": 2,
                "id": checkpoint_id,
                "ts": row.ts,
                "channel_values": values,
                "channel_versions": dict(row.versions),
                "versions_seen": {n: dict(s) for n, s in row.seen.items()},
                "updated_channels": row.updated,
            },
            unpack(row.metadata),
            _config(*key, row.parent) if row.parent else None,
            [(task, channel, unpack(data)) for (task, _), (_, channel, data) in order],
        )

    def list(
        self,
        config: Mapping[str, Any] | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        where = config["configurable"] if config else {}
        end = before["configurable"].get("checkpoint_id") if before else None
        left = limit
        for key, lane in list_(self._lanes.items()):
            if "thread_id" in where and str(where["thread_id"]) != key[0]:
                continue
            if where.get("checkpoint_ns") is not None and where["checkpoint_ns"] != key[1]:
                continue
            for checkpoint_id in sorted(lane.rows, reverse=True):
                if (end and checkpoint_id >= end) or where.get(
                    "checkpoint_id", checkpoint_id
                ) != checkpoint_id:
                    continue
                found = self._tuple(key, lane, checkpoint_id)
                metadata: Mapping[str, Any] = found.metadata
                if filter and any(metadata.get(k) != v for k, v in filter.items()):
                    continue
                if left is not None:
                    if left <= 0:
                        return
                    left -= 1
                yield found

    async def aget_tuple(self, config: Mapping[str, Any]) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[CheckpointTuple]:
        for found in self.list(config, **options):
            yield found

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> dict[str, Any]:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        with self._lock:
            for key in [key for key in self._lanes if key[0] == str(thread_id)]:
                del self._lanes[key]

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)

    def __enter__(self) -> InMemorySaver:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    async def __aenter__(self) -> InMemorySaver:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


list_ = list


def _config(thread: str, ns: str, checkpoint_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}


MemorySaver = InMemorySaver
