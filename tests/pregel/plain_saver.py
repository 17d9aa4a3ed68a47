"""A saver as others write them: whole checkpoints in a dict, nothing of ours but the protocol's base class."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from stepgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple


class PlainSaver(BaseCheckpointSaver[str]):
    """Keeps everything whole, by thread and namespace."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[tuple[str, str], dict[str, tuple[Any, Any, Any]]] = {}
        self.pending: dict[tuple[str, str, str], dict[tuple[str, int], tuple[str, str, Any]]] = {}

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        where = config["configurable"]
        rows = self.rows.setdefault((where["thread_id"], where.get("checkpoint_ns", "")), {})
        rows[checkpoint["id"]] = (deepcopy(checkpoint), deepcopy(metadata), where.get("checkpoint_id"))
        return {"configurable": {**where, "checkpoint_id": checkpoint["id"]}}

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        where = config["configurable"]
        key = (where["thread_id"], where.get("checkpoint_ns", ""), where["checkpoint_id"])
        held = self.pending.setdefault(key, {})
        for index, (channel, value) in enumerate(writes):
            place = {"__error__": -1, "__interrupt__": -3, "__resume__": -4}.get(channel, index)
            held[task_id, place] = (task_id, channel, deepcopy(value))

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        where = config["configurable"]
        key = (where["thread_id"], where.get("checkpoint_ns", ""))
        rows = self.rows.get(key, {})
        id = where.get("checkpoint_id") or max(rows, default=None)
        return self._tuple(key, id) if id in rows else None

    def _tuple(self, key: tuple[str, str], id: str) -> CheckpointTuple:
        checkpoint, metadata, parent = self.rows[key][id]
        here = {"thread_id": key[0], "checkpoint_ns": key[1]}
        above = {"configurable": {**here, "checkpoint_id": parent}} if parent else None
        writes = list(self.pending.get((*key, id), {}).values())
        own = {"configurable": {**here, "checkpoint_id": id}}
        return CheckpointTuple(own, deepcopy(checkpoint), deepcopy(metadata), above, writes)

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: int | None = None
    ) -> Iterator[CheckpointTuple]:
        where = config["configurable"]
        latest = before["configurable"]["checkpoint_id"] if before else None
        found = []
        for key, rows in self.rows.items():
            if key[0] == where["thread_id"] and key[1] == where.get("checkpoint_ns", key[1]):
                found += [(id, key) for id in rows if latest is None or id < latest]
        for id, key in sorted(found, reverse=True)[:limit]:
            yield self._tuple(key, id)

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> Any:
        for found in self.list(config, **options):
            yield found

    async def aput(self, *given: Any) -> Any:
        return self.put(*given)

    async def aput_writes(self, *given: Any) -> None:
        self.put_writes(*given)
