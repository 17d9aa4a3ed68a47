"""From the ledger to a saver: at once, through the ordered writer, or at exit.

Two kinds of saver. Ours take a superstep's changes (`put_step`); any other gets the standard protocol (`put` with a
full checkpoint, `put_writes`). `recorder_for` picks by what the saver's class defines: a subclass of ours that
overrides `put`, `put_writes` or `get_tuple` gets the standard protocol, so its override is seen.

Writes reach the saver in the order in which the ledger hands them over, whatever the durability.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.base import BaseCheckpointSaver
from stepgraph.checkpoint.ids import timestamp_of
from stepgraph.checkpoint.shaped import whole_checkpoint
from stepgraph.checkpoint.step_saver import StepSaver
from stepgraph.pregel.drivers.writer import LoopWriter, OrderedWriter
from stepgraph.pregel.ledger import RecorderPort
from stepgraph.values.missing import MISSING
from stepgraph.values.names import CONFIG_KEY_EXPECTED_HEAD

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import CheckpointTuple
    from stepgraph.checkpoint.changes import StepChanges

Pairs = Sequence[tuple[str, Any]]


class Recorder(RecorderPort):
    """Common to all: who waits, and when."""

    waits = False

    def __init__(self, saver: Any, thread_id: Any) -> None:
        self.saver = saver
        self.thread_id = thread_id
        self.writer: OrderedWriter | None = None
        self.each_step = False
        self.run_id: Any = None

    def drop(self, batch: Sequence[Any]) -> None:
        """These will not be stored: something before them could not be."""

    def _config(self, namespace: str, checkpoint_id: str | None = None) -> dict[str, Any]:
        configurable = {"thread_id": self.thread_id, "checkpoint_ns": namespace}
        if checkpoint_id is not None:
            configurable["checkpoint_id"] = checkpoint_id
        return {"configurable": configurable}

    def _config_of_writes(self, namespace: str, checkpoint_id: str) -> dict[str, Any]:
        """With the run, if a person gave it an id: its writes may stand at a checkpoint that another run made."""
        config = self._config(namespace, checkpoint_id)
        if self.run_id is not None:
            config["run_id"] = self.run_id
        return config

    def loaded(self, namespace: str, loaded: CheckpointTuple) -> None:
        """A run goes on from this checkpoint."""

    def forget(self, namespace: str) -> None:
        """A level of the run has ended."""

    def between_steps(self) -> None:
        """Called by a sync driver after each commit: waits if durability or the bound of the queue says so."""
        writer = self.writer
        if writer is not None and (self.each_step or writer.full):
            writer.wait(self.each_step)

    async def abetween_steps(self) -> None:
        """The same for an async driver."""
        writer = self.writer
        if writer is not None and (self.each_step or writer.full):
            await writer.await_(self.each_step)

    def settle(self) -> None:
        """Wait until everything is stored; raises what storing raised."""
        if self.writer is not None:
            self.writer.wait(True)

    async def asettle(self) -> None:
        """The same for an async driver."""
        if self.writer is not None:
            await self.writer.await_(True)


class InlineRecorder(Recorder):
    """A saver of ours that never waits: called directly."""

    holds = True
    derives = True

    def __init__(self, saver: Any, thread_id: Any) -> None:
        super().__init__(saver, thread_id)
        self._known: dict[str, dict[str, Any]] = {}

    def forget(self, namespace: str) -> None:
        self._known.pop(namespace, None)

    def step(self, namespace: str, changes: StepChanges, metadata: dict[str, Any]) -> None:
        config = self._known.get(namespace)
        if config is None:
            config = self._known[namespace] = self._config(namespace)
        self.saver.put_step(config, changes, metadata)

    def writes(self, namespace: str, checkpoint_id: str, pairs: Pairs, task_id: str, path: str) -> None:
        self.saver.put_writes(self._config_of_writes(namespace, checkpoint_id), pairs, task_id, path)


class StepRecorder(Recorder):
    """A saver of ours that does I/O: values become bytes on the engine's thread, bytes are stored in order."""

    derives = True

    def __init__(self, saver: Any, thread_id: Any, durable: bool) -> None:
        super().__init__(saver, thread_id)
        self._durable = durable
        self._lock = threading.Lock()

    def step(self, namespace: str, changes: StepChanges, metadata: dict[str, Any]) -> None:
        with self._lock:
            self._hand_over(self.saver.encode_step(self._config(namespace), changes, metadata))

    def writes(self, namespace: str, checkpoint_id: str, pairs: Pairs, task_id: str, path: str) -> None:
        with self._lock:
            config = self._config_of_writes(namespace, checkpoint_id)
            self._hand_over(self.saver.encode_writes(config, pairs, task_id, path))

    def _hand_over(self, encoded: Any) -> None:
        if self.writer is None:
            self.perform((encoded,))
        else:
            self.writer.submit(encoded, encoded.size)

    def perform(self, batch: Sequence[Any]) -> None:
        try:
            self.saver.store(batch, durable=self._durable)
        except BaseException:
            self.saver.abandon(batch)
            raise

    async def aperform(self, batch: Sequence[Any]) -> None:
        try:
            await self.saver.astore(batch, durable=self._durable)
        except BaseException:
            self.saver.abandon(batch)
            raise

    def drop(self, batch: Sequence[Any]) -> None:
        self.saver.abandon(batch)


class PlainRecorder(Recorder):
    """Any other saver: it gets full checkpoints, kept up to date from the changes, one for each namespace."""

    def __init__(self, saver: Any, thread_id: Any) -> None:
        super().__init__(saver, thread_id)
        self._lock = threading.Lock()
        self._checkpoints: dict[str, dict[str, Any]] = {}

    def loaded(self, namespace: str, loaded: CheckpointTuple) -> None:
        self._checkpoints[namespace] = whole_checkpoint(loaded)

    def forget(self, namespace: str) -> None:
        self._checkpoints.pop(namespace, None)

    def step(self, namespace: str, changes: StepChanges, metadata: dict[str, Any]) -> None:
        with self._lock:
            for task_id, path, pairs in changes.writes:
                config = self._config(namespace, changes.parent_id)
                self._hand_over(("put_writes", (config, list(pairs), task_id, path)))
            known: dict[str, Any] = self._checkpoints.get(namespace) or {
                "channel_values": {},
                "channel_versions": {},
                "versions_seen": {},
            }
            values = {k: v for k, v in known["channel_values"].items() if k not in changes.versions}
            values.update(changes.values)
            checkpoint: dict[str, Any] = {
                "v": 4,
                "ts": changes.ts or timestamp_of(changes.id),
                "id": changes.id,
                "channel_values": values,
                "channel_versions": {**known["channel_versions"], **changes.versions},
                "versions_seen": {**known["versions_seen"], **changes.seen},
                "updated_channels": changes.updated,
            }
            self._checkpoints[namespace] = checkpoint
            config = self._config(namespace, changes.parent_id)
            if changes.expected_head is not MISSING:
                config["configurable"][CONFIG_KEY_EXPECTED_HEAD] = changes.expected_head
            for_saver = {
                **checkpoint,
                "channel_values": dict(values),
                "channel_versions": dict(checkpoint["channel_versions"]),
            }
            self._hand_over(("put", (config, for_saver, metadata, dict(changes.versions))))

    def writes(self, namespace: str, checkpoint_id: str, pairs: Pairs, task_id: str, path: str) -> None:
        with self._lock:
            config = self._config(namespace, checkpoint_id)
            self._hand_over(("put_writes", (config, list(pairs), task_id, path)))

    def _hand_over(self, job: tuple[str, tuple[Any, ...]]) -> None:
        if self.writer is None:
            self.perform((job,))
        else:
            self.writer.submit(job, 0)

    def perform(self, batch: Sequence[Any]) -> None:
        for method, arguments in batch:
            getattr(self.saver, method)(*arguments)

    async def aperform(self, batch: Sequence[Any]) -> None:
        for method, arguments in batch:
            await getattr(self.saver, "a" + method)(*arguments)


def takes_steps(saver: Any) -> bool:
    """Whether the class that defines `put_step` for this saver also defines the standard methods it would bypass."""
    return isinstance(saver, StepSaver) and _class_takes_steps(type(saver))  # type: ignore[arg-type]


@lru_cache(maxsize=64)
def _class_takes_steps(cls: type) -> bool:
    mro = cls.__mro__
    first = next(cls for cls in mro if any(name in cls.__dict__ for name in _STEP_METHODS))
    return all(
        mro.index(next(cls for cls in mro if name in cls.__dict__)) >= mro.index(first)
        for name in _PLAIN_METHODS
    )


_STEP_METHODS = ("put_step", "encode_step")
_PLAIN_METHODS = ("put", "put_writes", "get_tuple", "aput", "aput_writes", "aget_tuple")


def speaks_sync(saver: Any) -> bool:
    """Whether the saver's own class defines the synchronous half of the protocol."""
    return type(saver).get_tuple is not BaseCheckpointSaver.get_tuple and not getattr(
        saver, "async_only", False
    )


def speaks_async(saver: Any) -> bool:
    """Whether the saver's own class defines the asynchronous half of the protocol."""
    return type(saver).aget_tuple is not BaseCheckpointSaver.aget_tuple


def version_source(saver: Any) -> Callable[[Any], Any] | None:
    """A saver's own versions, where its class makes them; None where a checkpoint's id serves as version."""
    if type(saver).get_next_version is BaseCheckpointSaver.get_next_version:
        return None
    return lambda current: saver.get_next_version(current, None)


def recorder_for(saver: Any, thread_id: Any, durability: str, loop: Any) -> Recorder:
    """The recorder of a root run.

    Args:
        saver: The saver.
        thread_id: The thread.
        durability: `sync`, `async` or `exit`.
        loop: The event loop that an async-only saver is called on; None in a sync driver with a sync saver.
    """
    if takes_steps(saver):
        if saver.inline:
            return InlineRecorder(saver, thread_id)
        recorder: Any = StepRecorder(saver, thread_id, durability == "sync")
    else:
        recorder = PlainRecorder(saver, thread_id)
    if loop is not None and (not speaks_sync(saver) or (speaks_async(saver) and not takes_steps(saver))):
        recorder.writer = LoopWriter(recorder.aperform, recorder.drop, loop)
    elif durability == "async" or loop is not None:
        recorder.writer = OrderedWriter(recorder.perform, recorder.drop)
    recorder.each_step = durability == "sync"
    recorder.waits = recorder.writer is not None
    return recorder  # type: ignore[no-any-return]
