"""What savers in databases are: every method once, as a program, given to something that runs programs.

Rules: no connections here. The two kinds of methods differ only in how they wait.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from stepgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from stepgraph.checkpoint.growth.codec import CorruptCheckpointError
from stepgraph.checkpoint.growth.frames import Frame
from stepgraph.checkpoint.growth.lanes import Lane
from stepgraph.checkpoint.growth.reader import Loaded, load, load_frame, load_many
from stepgraph.checkpoint.growth.rows import Key
from stepgraph.checkpoint.sql.holding import HoldingSaver
from stepgraph.checkpoint.sql.metadata import StoredMetadata, pack_metadata, unpack_metadata
from stepgraph.checkpoint.sql.programs import Programs
from stepgraph.checkpoint.sql.statements import StatementProgram
from stepgraph.checkpoint.step_saver import (
    Encoded,
    config_of,
    cutoff_of,
    key_of,
    matches,
    note_stored,
    public,
    to_tuple,
    warn_unreadable,
)

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from stepgraph.checkpoint.changes import StepChanges
    from stepgraph.checkpoint.holds import TimeToLive
    from stepgraph.checkpoint.serde.base import SerializerProtocol

__all__ = ("BaseSqlSaver", "Runner")

R = TypeVar("R")

_FIRST_PAGE: Final = 8
_PAGE: Final = 64


class Runner(Protocol):
    """Runs programs: `read` on one state of the database, `write` in a transaction."""

    @property
    def ready(self) -> bool:
        """Whether the tables are known to be there."""

    def may_wait(self) -> bool:
        """Whether `read` and `write` can be called from here."""

    def set_up(self) -> None:
        """Make or migrate the tables, once."""

    async def aset_up(self) -> None:
        """Async twin of `set_up`."""

    def read(self, program: StatementProgram[R]) -> R:
        """Run a program that reads."""

    def write(self, program: StatementProgram[R], *, durable: bool = True) -> R:
        """Run a program that writes."""

    def store(self, batch: Sequence[Encoded], *, durable: bool) -> Mapping[int, int]:
        """Store a batch in one transaction; how many deletions there had been, by counter."""

    async def astore(self, batch: Sequence[Encoded], *, durable: bool) -> Mapping[int, int]:
        """Async twin of `store`."""

    async def aread(self, program: StatementProgram[R]) -> R:
        """Async twin of `read`."""

    async def awrite(self, program: StatementProgram[R], *, durable: bool = True) -> R:
        """Async twin of `write`."""


class BaseSqlSaver(HoldingSaver):
    """Common to all savers in databases.

    Args:
        runner: Runs programs.
        programs: The programs for this kind of database.
        serde: Turns values into bytes and back; by default `JsonPlusSerializer()`.
        ttl: How long threads live.
    """

    _runner: Runner

    def __init__(
        self,
        runner: Runner,
        programs: Programs,
        *,
        serde: SerializerProtocol | None = None,
        ttl: TimeToLive = None,
    ) -> None:
        super().__init__(serde=serde)
        self._runner = runner
        self._programs = programs
        self._generations: dict[int, int] = {}
        if ttl is not None:
            self.set_ttl(ttl)

    # ---- writing

    def put_step(
        self,
        config: Mapping[str, Any],
        changes: StepChanges,
        metadata: Mapping[str, Any],
        *,
        durable: bool = True,
    ) -> None:
        """Encode one superstep's changes and store them. Arguments as in `encode_step` and `store`.

        It is defined here, beside `get_tuple`, because the engine hands steps only to a class that defines both.
        """
        super().put_step(config, changes, metadata, durable=durable)

    async def aput_step(
        self,
        config: Mapping[str, Any],
        changes: StepChanges,
        metadata: Mapping[str, Any],
        *,
        durable: bool = True,
    ) -> None:
        """Async twin of `put_step`."""
        await super().aput_step(config, changes, metadata, durable=durable)

    def store(self, batch: Sequence[Encoded], *, durable: bool) -> None:
        """Store a batch in one transaction, in order: all of it or nothing.

        Args:
            batch: What the encoders gave.
            durable: Whether it must survive a loss of power from the moment this returns.

        Raises:
            ThreadBusyError: The newest checkpoint is not the one that a step expects, or something that the batch
                refers to is not stored: it was deleted meanwhile, or could not be stored before.
        """
        try:
            self._generations.update(self._runner.store(batch, durable=durable))
        except BaseException:
            self.abandon(batch)
            raise
        note_stored(batch)

    async def astore(self, batch: Sequence[Encoded], *, durable: bool) -> None:
        """Async twin of `store`."""
        try:
            self._generations.update(await self._runner.astore(batch, durable=durable))
        except BaseException:
            self.abandon(batch)
            raise
        note_stored(batch)

    def _lane(self, key: Key) -> Lane:
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes.open(key, self._generations.get(self._programs.bucket(key[0]), 0))
        return lane

    def _encode_metadata(self, lane: Lane, metadata: Mapping[str, Any]) -> StoredMetadata:
        return pack_metadata(lane, metadata, self._codec)

    def _make_room(self, key: Key, checkpoint_id: str) -> bool:
        if self._runner.write(self._room_for(key, checkpoint_id)):
            self._lanes.forget(key)
            return True
        return False

    def _recall(self, lane: Lane, checkpoint_id: str) -> None:
        if self._runner.may_wait():
            frame = load_frame(lane.key, checkpoint_id, self._codec)
            self._remember_frame(
                lane,
                checkpoint_id,
                self._runner.read(self._programs.read_with_generation(frame, lane.key[0])),
            )

    def _remember_frame(self, lane: Lane, checkpoint_id: str, found: tuple[Frame | None, int]) -> None:
        frame, generation = found
        if frame is not None and lane.generation == generation:
            lane.remember_frame(checkpoint_id, frame)

    def _fresh_lane(self, key: Key, generation: int) -> Lane:
        """The lane to add to what was just read: without what may have been deleted since it was remembered."""
        lane = self._lane(key)
        if lane.generation != generation:
            self._lanes.forget(key)
            lane = self._lanes.open(key, generation)
        return lane

    # ---- reading

    def get_tuple(self, config: Mapping[str, Any]) -> CheckpointTuple | None:
        """The checkpoint that a config names, or the newest of its thread and namespace.

        Raises:
            CorruptCheckpointError: It cannot be read.
        """
        key = key_of(config)
        return self._take_in(key, self._read_one(key, config))

    async def aget_tuple(self, config: Mapping[str, Any]) -> CheckpointTuple | None:
        """Async twin of `get_tuple`."""
        key = key_of(config)
        return self._take_in(key, await self._aread_one(key, config))

    def _read_one(self, key: Key, config: Mapping[str, Any]) -> tuple[Loaded | None, int]:
        return self._runner.read(self._load(key, config))

    async def _aread_one(self, key: Key, config: Mapping[str, Any]) -> tuple[Loaded | None, int]:
        return await self._runner.aread(self._load(key, config))

    def _load(self, key: Key, config: Mapping[str, Any]) -> StatementProgram[tuple[Loaded | None, int]]:
        checkpoint_id = config["configurable"].get("checkpoint_id") or None
        program = self._programs.read_with_generation(load(key, checkpoint_id, self._codec), key[0])
        return program if self.ttl is None else self._unless_expired(program, key[0])

    def _take_in(self, key: Key, found: tuple[Loaded | None, int]) -> CheckpointTuple | None:
        """Remember what a writer that goes on from here needs."""
        loaded, generation = found
        self._generations[self._programs.bucket(key[0])] = generation
        if loaded is None:
            return None
        result = to_tuple(key, loaded, unpack_metadata(loaded.row.metadata, self._codec, key, loaded.row.id))
        lane = self._fresh_lane(key, generation)
        with lane.lock:
            lane.seed(loaded.row.id, loaded.frame, loaded.known)
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
        listing = self._listing(config, filter, before, limit)
        reply: Any = None
        while True:
            step = listing.send(reply)
            if step is None:
                return
            page, program = step
            reply = None
            if program is not None:
                reply = self._runner.read(program)
            else:
                yield from page

    async def alist(
        self,
        config: Mapping[str, Any] | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async twin of `list`."""
        listing = self._listing(config, filter, before, limit)
        reply: Any = None
        while True:
            step = listing.send(reply)
            if step is None:
                return
            page, program = step
            reply = None
            if program is not None:
                reply = await self._runner.aread(program)
            else:
                for found in page:
                    yield found

    def _listing(
        self,
        config: Mapping[str, Any] | None,
        filter: Mapping[str, Any] | None,
        before: Mapping[str, Any] | None,
        limit: int | None,
    ) -> Generator[tuple[list_[CheckpointTuple], StatementProgram[Any] | None] | None, Any, None]:
        """Yields programs to read with, pages to show, and `None` at the end."""
        where = config["configurable"] if config else {}
        end = before["configurable"].get("checkpoint_id") if before else None
        after: tuple[str, str, str] | None = None
        size, left = _FIRST_PAGE, limit
        while left is None or left > 0:
            found = yield (
                [],
                self._programs.candidates(where, filter, end, after, size, unexpired=self.ttl is not None),
            )
            page = []
            for checkpoint_id, thread_id, namespace, text, more in found:
                key, stored = (thread_id, namespace), StoredMetadata(text, more)
                try:
                    metadata = unpack_metadata(stored, self._codec, key, checkpoint_id)
                except CorruptCheckpointError as error:
                    warn_unreadable(error)
                    continue
                if matches(metadata, filter):
                    page.append((key, checkpoint_id, public(metadata)))
            page = page if left is None else page[:left]
            by_key: dict[Key, list_[str]] = {}
            for key, checkpoint_id, _ in page:
                by_key.setdefault(key, []).append(checkpoint_id)
            loaded: dict[tuple[Key, str], Loaded] = {}
            for key, ids in by_key.items():
                for result in (yield [], self._programs.read_rows(load_many(key, ids, self._codec))):
                    if isinstance(result, CorruptCheckpointError):
                        warn_unreadable(result)
                    else:
                        loaded[key, result.row.id] = result
            yield [to_tuple(k, loaded[k, i], metadata) for k, i, metadata in page if (k, i) in loaded], None
            left = None if left is None else left - len(page)
            if len(found) < size:
                break
            after, size = tuple(found[-1][:3]), _PAGE
        yield None

    # ---- keeping house

    @property
    def is_setup(self) -> bool:
        """Whether the tables are known to be there."""
        return self._runner.ready

    def setup(self) -> Any:
        """Make or migrate the tables. Called by itself when it is needed."""
        raise self._not_defined("setup")

    def delete_thread(self, thread_id: str) -> None:
        """Delete all that a thread stored, at every level."""
        self._forget([str(thread_id)])
        self._runner.write(self._programs.delete_thread(str(thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        """Async twin of `delete_thread`."""
        self._forget([str(thread_id)])
        await self._runner.awrite(self._programs.delete_thread(str(thread_id)))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another one, which must have none.

        Raises:
            ValueError: The target has checkpoints.
        """
        self._runner.write(self._programs.copy_thread(str(source_thread_id), str(target_thread_id), self.ttl))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async twin of `copy_thread`."""
        await self._runner.awrite(
            self._programs.copy_thread(str(source_thread_id), str(target_thread_id), self.ttl)
        )

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
        self._runner.write(self._prune(thread_ids, strategy, older_than, namespaces))

    async def aprune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
        older_than: datetime | timedelta | float | None = None,
        namespaces: Sequence[str] | None = None,
    ) -> None:
        """Async twin of `prune`."""
        await self._runner.awrite(self._prune(thread_ids, strategy, older_than, namespaces))

    def _prune(
        self,
        thread_ids: Sequence[str],
        strategy: str,
        older_than: datetime | timedelta | float | None,
        namespaces: Sequence[str] | None,
    ) -> StatementProgram[None]:
        before = cutoff_of(strategy, older_than)
        threads = [str(thread_id) for thread_id in thread_ids]
        self._forget(threads)
        return self._programs.prune(threads, strategy, before, namespaces, self._codec)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints and pending writes that these runs stored. Those of other runs stay readable."""
        self._runner.write(self._programs.delete_for_runs([str(run_id) for run_id in run_ids], self._codec))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async twin of `delete_for_runs`."""
        await self._runner.awrite(
            self._programs.delete_for_runs([str(run_id) for run_id in run_ids], self._codec)
        )

    def _forget(self, threads: Sequence[str]) -> None:
        for thread_id in threads:
            self._lanes.forget_thread(thread_id)

    # ---- the standard protocol for async callers

    async def aput(
        self,
        config: Mapping[str, Any],
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> dict[str, Any]:
        """Async twin of `put`."""
        key, checkpoint_id = key_of(config), checkpoint["id"]
        parent = config["configurable"].get("checkpoint_id") or None
        replaces = await self._runner.awrite(self._room_for(key, checkpoint_id))
        if replaces:
            self._lanes.forget(key)
        lane = self._lane(key)
        if parent is not None and parent not in lane.frames:
            frame = load_frame(key, parent, self._codec)
            found = await self._runner.aread(self._programs.read_with_generation(frame, key[0]))
            with lane.lock:
                self._remember_frame(lane, parent, found)
        encoded = self._encode_whole(lane, config, checkpoint, metadata, new_versions)
        encoded.replaces = replaces
        await self.astore((encoded,), durable=True)
        return config_of(key, checkpoint_id)

    async def aput_writes(
        self, config: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Async twin of `put_writes`."""
        await self.astore((self.encode_writes(config, writes, task_id, task_path),), durable=True)


list_ = list
"""The builtin, in a class whose own `list` hides it."""
