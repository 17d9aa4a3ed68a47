"""A saver that keeps everything in this process's memory, in bytes: nothing outlives the process, nothing is shared.

Rules: stores at once and never waits, so its async methods are those of `UnwaitingSaver`. The lock of a history is taken before
that of its lane, always.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from stepgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from stepgraph.checkpoint.expiry import touched
from stepgraph.checkpoint.growth.codec import CorruptCheckpointError
from stepgraph.checkpoint.growth.encoder import encode_writes_rows
from stepgraph.checkpoint.growth.frames import Record
from stepgraph.checkpoint.growth.lanes import Lane, common_part
from stepgraph.checkpoint.growth.reader import Loaded, load, load_frame, load_many
from stepgraph.checkpoint.growth.retention import doomed_of, needs, plan_drop, plan_keep_newest
from stepgraph.checkpoint.growth.rows import Key, Row
from stepgraph.checkpoint.memory_async import UnwaitingSaver
from stepgraph.checkpoint.memory_holds import MemoryHolds
from stepgraph.checkpoint.memory_rows import MemoryHistory, nested_view, run_program
from stepgraph.checkpoint.step_saver import (
    Encoded,
    EncodedStep,
    EncodedWrites,
    config_of,
    cutoff_of,
    deleted_meanwhile,
    key_of,
    matches,
    note_stored,
    public,
    run_id_of,
    to_tuple,
    warn_unreadable,
    written_checkpoint,
)
from stepgraph.errors import ThreadBusyError
from stepgraph.values.missing import MISSING

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from types import TracebackType

    from stepgraph.checkpoint.changes import StepChanges
    from stepgraph.checkpoint.holds import TimeToLive
    from stepgraph.checkpoint.serde.base import SerializerProtocol

__all__ = ("InMemorySaver", "MemorySaver")

_FIRST_PAGE = 8
_PAGE = 64


class InMemorySaver(MemoryHolds, UnwaitingSaver):
    """Keeps checkpoints in memory, as bytes, by difference. For tests, notebooks and short-lived programs.

    It may be used from many threads, by many graphs, and as a context manager (which does nothing).

    Args:
        serde: Turns values into bytes and back; by default `JsonPlusSerializer()`.
        factory: Accepted for programs written for the model, and not used.
        ttl: How long threads live after the last write to them, or the end of their last run: minutes, a `timedelta`, or
            `{"default_ttl": ..., "sweep_interval_minutes": ...}`. An expired thread reads as if it had never been; its
            place is given back by `sweep_ttl()` or a background sweeper (`start_ttl_sweeper()`). By default for ever.

    Example:
        >>> from stepgraph.checkpoint.base import empty_checkpoint
        >>> saver = InMemorySaver()
        >>> config = saver.put({"configurable": {"thread_id": "1"}}, empty_checkpoint(), {"step": -1}, {})
        >>> saver.get_tuple({"configurable": {"thread_id": "1"}}).metadata
        {'step': -1}
    """

    inline: ClassVar[bool] = True

    def __init__(
        self, *, serde: SerializerProtocol | None = None, factory: Any = None, ttl: TimeToLive = None
    ) -> None:
        super().__init__(serde=serde)
        self._histories: dict[Key, MemoryHistory] = {}
        self._bare: bytes | None = None
        self._deadlines: dict[str, float] = {}
        if ttl is not None:
            self.set_ttl(ttl)

    # ---- looking in

    @property
    def storage(self) -> Mapping[str, Any]:
        """Thread to namespace to checkpoint id to (checkpoint, metadata, id of the parent): read-only."""

        def get(key: Key, checkpoint_id: str) -> Any:
            found = self.get_tuple(config_of(key, checkpoint_id))
            if found is None:
                raise KeyError(checkpoint_id)
            parent = found.parent_config
            return found.checkpoint, found.metadata, parent and parent["configurable"]["checkpoint_id"]

        return nested_view(self._histories, get)

    @property
    def writes(self) -> Mapping[str, Any]:
        """Thread to namespace to checkpoint id to its pending writes (task, channel, value): read-only."""

        def get(key: Key, checkpoint_id: str) -> Any:
            found = self.get_tuple(config_of(key, checkpoint_id))
            return found.pending_writes if found else []

        return nested_view(self._histories, get, writes=True)

    @property
    def blobs(self) -> Mapping[str, Any]:
        """Thread to namespace to checkpoint id to the bytes that it stores for its values: read-only."""
        return nested_view(
            self._histories, lambda key, checkpoint_id: self._histories[key].rows[checkpoint_id][5]
        )

    def stored_bytes(self) -> int:
        """How many bytes are stored, ids included."""
        total = 0
        for history in list_(self._histories.values()):
            with history.lock:
                total += history.stored_bytes()
        return total

    # ---- writing

    def put_step(
        self,
        config: Mapping[str, Any],
        changes: StepChanges,
        metadata: Mapping[str, Any],
        *,
        durable: bool = True,
    ) -> None:
        """Store one superstep's changes.

        Raises:
            ThreadBusyError: The newest checkpoint is not the expected one.
            NotStorableError: A value cannot be stored.
        """
        key = key_of(config)
        history = self._histories.get(key) or self._history(key)
        with history.lock:
            if history.gone:
                self.put_step(config, changes, metadata, durable=durable)
                return
            if changes.expected_head is not MISSING and changes.expected_head != history.newest:
                self._refuse(key, history, history.newest, changes.run_id, changes.parent_id)
            if changes.parent_id is not None and changes.parent_id not in history.rows:
                raise deleted_meanwhile(key, changes.run_id)
            lane = self._lanes.get(key) or self._lane(key)
            history.add(self._encode_row(lane, config, changes, metadata))

    def put(
        self,
        config: Mapping[str, Any],
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> dict[str, Any]:
        """Store a complete checkpoint; what did not change since its parent is not stored again."""
        key = key_of(config)
        if self.ttl is not None:
            self.begin_hold(touched(self, key[0]))
        with self._locked(key):
            return super().put(config, checkpoint, metadata, new_versions)

    def encode_step(
        self, config: Mapping[str, Any], changes: StepChanges, metadata: Mapping[str, Any]
    ) -> EncodedStep:
        """Turn one superstep's changes into bytes; see `StepSaver.encode_step`."""
        with self._locked(key_of(config)):
            return super().encode_step(config, changes, metadata)

    def encode_writes(
        self, config: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> EncodedWrites:
        """Turn a task's writes into bytes; see `StepSaver.encode_writes`."""
        with self._locked(key_of(config)):
            return super().encode_writes(config, writes, task_id, task_path)

    def put_writes(
        self, config: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote against a checkpoint, before a later checkpoint folds it."""
        key = key_of(config)
        checkpoint_id = written_checkpoint(config)
        with self._locked(key) as history:
            lane = self._lanes.get(key) or self._lane(key)
            for row in encode_writes_rows(lane, writes, task_id, task_path, run_id_of(config), self._codec):
                history.add_writes(checkpoint_id, row)

    def _encode_metadata(self, lane: Lane, metadata: Mapping[str, Any]) -> Any:
        """`(source, step, the rest packed)`; all packed where source or step are none."""
        source, step = metadata.get("source"), metadata.get("step")
        if type(source) is not str or type(step) is not int:
            return self._codec.pack(dict(metadata))
        if lane.common is not None and lane.offered is not None and lane.offered is lane.accepted:
            return source, step, lane.common[1]
        return source, step, common_part(lane, metadata, self._pack_common)

    def _pack_common(self, part: dict[str, Any]) -> bytes:
        """Packed; that of a root which was told nothing is the same for all threads."""
        if part != {"parents": {}} or not self._codec.keeps_literals:
            return self._codec.pack(part)
        if self._bare is None:
            self._bare = self._codec.pack(part)
        return self._bare

    def _metadata(self, stored: Any) -> dict[str, Any]:
        if type(stored) is not tuple:
            whole: dict[str, Any] = self._codec.unpack(stored)
            return whole
        return {"source": stored[0], "step": stored[1], **self._codec.unpack(stored[2])}

    def store(self, batch: Sequence[Encoded], *, durable: bool) -> None:
        """Store a batch: all of it or nothing."""
        histories: dict[Key, MemoryHistory] = {}
        with ExitStack() as stack:
            for key in sorted({item.key for item in batch}):
                histories[key] = stack.enter_context(self._locked(key))
            self._check_batch(batch, histories)
            for item in batch:
                if isinstance(item, EncodedStep):
                    histories[item.key].add(item.row)
                elif isinstance(item, EncodedWrites):
                    for writes in item.rows:
                        histories[item.key].add_writes(item.checkpoint_id, writes)
        note_stored(batch)

    def _check_batch(self, batch: Sequence[Encoded], histories: Mapping[Key, MemoryHistory]) -> None:
        """Refuse a batch of which a step expects another head than it will find, or refers to what was deleted."""
        heads = {key: history.newest for key, history in histories.items()}
        stored: set[tuple[Key, str]] = set()
        try:
            for item in batch:
                if not isinstance(item, EncodedStep):
                    continue
                checkpoint_id, parent, run_id, *_ = item.row
                key, newest = item.key, heads[item.key]
                if item.expected_head is not MISSING and item.expected_head != newest:
                    self._refuse(key, histories[key], newest, run_id, parent)
                if item.lane.contested or self._lanes.get(key) is not item.lane:
                    for place in needs(Row(*item.row)):
                        if place not in histories[key].rows and (key, place) not in stored:
                            raise deleted_meanwhile(key, run_id)
                heads[key] = checkpoint_id if newest is None else max(newest, checkpoint_id)
                stored.add((key, checkpoint_id))
        except ThreadBusyError:
            self.abandon(batch)
            raise

    def _history(self, key: Key) -> MemoryHistory:
        history = self._histories.get(key)
        return self._histories.setdefault(key, MemoryHistory()) if history is None else history

    @contextmanager
    def _locked(self, key: Key) -> Iterator[MemoryHistory]:
        """A history while nobody else reads or changes it; never one that was deleted."""
        while True:
            history = self._history(key)
            with history.lock:
                if not history.gone:
                    yield history
                    return

    def _refuse(
        self, key: Key, history: MemoryHistory, newest: str | None, run_id: str | None, parent: str | None
    ) -> NoReturn:
        other = history.rows.get(newest or "")
        last = history.rows.get(parent or "")
        raise ThreadBusyError(
            key[0],
            key[1],
            run_id=run_id,
            other_run_id=other[2] if other else None,
            last_step=self._metadata(last[3]).get("step") if last else None,
        )

    def _make_room(self, key: Key, checkpoint_id: str) -> bool:
        history = self._histories.get(key)
        if history is None or checkpoint_id not in history.rows:
            return False
        with history.lock:
            self._lanes.forget(key)
            plan = run_program(history, plan_drop(key, (checkpoint_id,), self._codec, replaced=True))
            history.apply(plan, replaced=True)
        return True

    def _recall(self, lane: Lane, checkpoint_id: str) -> None:
        history = self._history(lane.key)
        with history.lock:
            frame = run_program(history, load_frame(lane.key, checkpoint_id, self._codec))
        if frame is not None:
            lane.remember_frame(checkpoint_id, frame)

    # ---- reading

    def get_tuple(self, config: Mapping[str, Any]) -> CheckpointTuple | None:
        """The checkpoint that a config names, or the newest of its thread and namespace.

        Raises:
            CorruptCheckpointError: It cannot be read.
        """
        key = key_of(config)
        checkpoint_id = config["configurable"].get("checkpoint_id") or None
        history = self._histories.get(key)
        if history is None or (self.ttl is not None and self._has_expired(key[0])):
            return None
        with history.lock:
            if history.gone:
                return self.get_tuple(config)
            found = run_program(history, load(key, checkpoint_id, self._codec))
            if found is None:
                return None
            result = to_tuple(key, found, self._metadata(found.row.metadata))
            lane = self._lane(key)
            with lane.lock:
                lane.seed(found.row.id, found.frame, found.known)
            self._lanes.weigh(lane)
        return result

    def list(
        self,
        config: Mapping[str, Any] | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first; see `BaseCheckpointSaver.list`.

        Lists and dicts that grew over the listed checkpoints share their elements: do not change them in place.
        """
        where = config["configurable"] if config else {}
        end = before["configurable"].get("checkpoint_id") if before else None
        size, left = _FIRST_PAGE, limit
        page: list_[tuple[Key, str, dict[str, Any]]] = []
        for checkpoint_id, key in self._candidates(where, end):
            if left is not None and left <= 0:
                break
            row = self._history(key).rows.get(checkpoint_id)
            metadata = None if row is None else self._metadata(row[3])
            if metadata is None or not matches(metadata, filter):
                continue
            left = None if left is None else left - 1
            page.append((key, checkpoint_id, metadata))
            if len(page) >= size:
                yield from self._load_page(page)
                page, size = [], _PAGE
        yield from self._load_page(page)

    def _candidates(self, where: Mapping[str, Any], end: str | None) -> list_[tuple[str, Key]]:
        thread = str(where["thread_id"]) if "thread_id" in where else None
        namespace, only = where.get("checkpoint_ns"), where.get("checkpoint_id")
        expired = self._expired_threads(self._histories)
        found = [
            (checkpoint_id, key)
            for key, history in list_(self._histories.items())
            if thread in (None, key[0]) and namespace in (None, key[1]) and key[0] not in expired
            for checkpoint_id in list_(history.rows)
            if only in (None, checkpoint_id) and (end is None or checkpoint_id < end)
        ]
        found.sort(reverse=True)
        return found

    def _load_page(self, page: list_[tuple[Key, str, dict[str, Any]]]) -> Iterator[CheckpointTuple]:
        by_key: dict[Key, list_[str]] = {}
        for key, checkpoint_id, _ in page:
            by_key.setdefault(key, []).append(checkpoint_id)
        loaded: dict[tuple[Key, str], Loaded] = {}
        for key, ids in by_key.items():
            history = self._history(key)
            with history.lock:
                results = run_program(history, load_many(key, ids, self._codec))
            for result in results:
                if isinstance(result, CorruptCheckpointError):
                    warn_unreadable(result)
                else:
                    loaded[key, result.row.id] = result
        for key, checkpoint_id, metadata in page:
            found = loaded.get((key, checkpoint_id))
            if found is not None:
                yield to_tuple(key, found, public(metadata))

    # ---- keeping house

    def delete_thread(self, thread_id: str) -> None:
        """Delete all that a thread stored, at every level."""
        thread_id = str(thread_id)
        for key in [key for key in list_(self._histories) if key[0] == thread_id]:
            history = self._histories.get(key)
            if history is not None:
                with history.lock:
                    self._lanes.forget(key)
                    self._remove(key, history)
        self._deadlines.pop(thread_id, None)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another one, which must have none.

        Raises:
            ValueError: The target has checkpoints.
        """
        source, target = str(source_thread_id), str(target_thread_id)
        for thread_id in (source, target):
            if self._has_expired(thread_id):
                self.delete_thread(thread_id)
        histories = list_(self._histories.items())
        if any(key[0] == target and history.rows for key, history in histories):
            raise ValueError(
                f"Thread {target!r} has checkpoints. Copy to a new thread id, or delete it first."
            )
        with ExitStack() as stack:
            levels = sorted(key for key, _ in histories if key[0] == source)
            locked = {key: stack.enter_context(self._locked(key)) for key in levels}
            for (_, namespace), history in locked.items():
                self._histories[target, namespace] = history.copy()
        self._live_on(target)

    def prune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
        older_than: datetime | timedelta | float | None = None,
        namespaces: Sequence[str] | None = None,
    ) -> None:
        """Delete old checkpoints of threads. What is kept stays readable as it is.

        Args:
            thread_ids: The threads.
            strategy: `"keep_latest"` keeps the newest checkpoint of each namespace; `"delete"` keeps nothing.
            older_than: Delete only what was made before this time, or is older than this (in seconds).
            namespaces: Only in these namespaces; by default in all.

        Raises:
            ValueError: The strategy is unknown.
        """
        before = cutoff_of(strategy, older_than)
        threads = {str(thread_id) for thread_id in thread_ids}
        for key, history in list_(self._histories.items()):
            if key[0] in threads and (namespaces is None or key[1] in namespaces):
                with history.lock:
                    ids = [(i, Record(history.rows[i][4]).made_at(i)) for i in history.newest_first()]
                    self._drop(key, history, doomed_of(ids, strategy, before))

    async def aprune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
        older_than: datetime | timedelta | float | None = None,
        namespaces: Sequence[str] | None = None,
    ) -> None:
        """Async twin of `prune`."""
        self.prune(thread_ids, strategy=strategy, older_than=older_than, namespaces=namespaces)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints and pending writes that these runs stored. Those of other runs stay readable."""
        runs = {str(run_id) for run_id in run_ids}
        for key, history in list_(self._histories.items()):
            with history.lock:
                for held in history.writes.values():
                    for place in [place for place, row in held.items() if row[4] in runs]:
                        del held[place]
                self._drop(key, history, {row[0] for row in history.rows.values() if row[2] in runs})

    def _remove(self, key: Key, history: MemoryHistory) -> None:
        """Who waits for the lock of this history finds that it is gone, and looks for the one in its place."""
        history.gone = True
        if self._histories.get(key) is history:
            del self._histories[key]

    def _drop(self, key: Key, history: MemoryHistory, doomed: set[str]) -> None:
        if not doomed:
            return
        self._lanes.forget(key)
        if len(doomed) == len(history.rows):
            self._remove(key, history)
            return
        if len(doomed) == len(history.rows) - 1 and history.newest not in doomed:
            plan = run_program(history, plan_keep_newest(key, self._codec))
        else:
            plan = run_program(history, plan_drop(key, doomed, self._codec))
        history.apply(plan)

    def __enter__(self) -> InMemorySaver:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    async def __aenter__(self) -> InMemorySaver:
        return self

    async def __aexit__(
        self,
        __exc_type: type[BaseException] | None,
        __exc_value: BaseException | None,
        __traceback: TracebackType | None,
    ) -> None:
        return None


list_ = list
"""The builtin, in a class whose own `list` hides it."""

MemorySaver = InMemorySaver
"""Another name for the same class."""
