"""The protocol that every saver follows, and the wire form of a checkpoint.

A saver keeps, for each thread and each level of nesting (the checkpoint namespace), a history of checkpoints, and for
each checkpoint the writes of tasks that finished against it but are not folded into a checkpoint yet. Where a
checkpoint is said in a config: `{"configurable": {"thread_id", "checkpoint_ns", "checkpoint_id"}}`.

Rules of this file: names and shapes here are the field's standard; they cross process borders and never change.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from time import gmtime, strftime, time_ns
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar

from stepgraph.checkpoint.ids import next_checkpoint_id
from stepgraph.errors import EmptyChannelError
from stepgraph.values.missing import MISSING
from stepgraph.values.names import ERROR, INTERRUPT, RESUME, SCHEDULED

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.base import SerializerProtocol

__all__ = (
    "EXCLUDED_METADATA_KEYS",
    "LATEST_VERSION",
    "WRITES_IDX_MAP",
    "BaseCheckpointSaver",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "DeltaChannelHistory",
    "EmptyChannelError",
    "PendingWrite",
    "copy_checkpoint",
    "create_checkpoint",
    "empty_checkpoint",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
    "get_serializable_checkpoint_metadata",
)

V = TypeVar("V", int, float, str)

LATEST_VERSION = 2
"""The version of the checkpoint's wire form."""

RunnableConfig: TypeAlias = Mapping[str, Any]
PendingWrite: TypeAlias = tuple[str, str, Any]
"""Task id, channel, value."""
ChannelVersions: TypeAlias = dict[str, str | int | float]
"""Channel to version. Versions of one channel only grow."""


class CheckpointMetadata(TypedDict, total=False):
    """What is known about a checkpoint beside the state itself. Other keys come from the config of the run."""

    source: Literal["input", "loop", "update", "fork"]
    """Made by a run's input, by a superstep, by `update_state`, or as a copy of another checkpoint."""
    step: int
    """-1 for a thread's first input, then one more a checkpoint."""
    parents: dict[str, str]
    """For a nested graph: namespace to checkpoint id, for each level above."""
    run_id: str
    """The run that made it."""
    counters_since_delta_snapshot: dict[str, tuple[int, int]]
    """Kept for readers of old data."""


class Checkpoint(TypedDict, total=False):
    """The state of one level of a graph between two supersteps."""

    v: int
    """The version of this form."""
    id: str
    """Unique, and in the order of time."""
    ts: str
    """When it was made: ISO 8601 with a zone."""
    channel_values: dict[str, Any]
    """Channel to value, for the channels that hold one."""
    channel_versions: ChannelVersions
    """Channel to version, for the channels that were ever written."""
    versions_seen: dict[str, ChannelVersions]
    """Node to the versions of its trigger channels when it last ran."""
    updated_channels: list[str] | None
    """The channels that were written in the superstep."""


class CheckpointTuple(NamedTuple):
    """A checkpoint with everything that belongs to it.

    Attributes:
        config: Names this checkpoint.
        checkpoint: The checkpoint.
        metadata: Its metadata.
        parent_config: Names the checkpoint before it, if there is one.
        pending_writes: Writes of tasks that finished against this checkpoint.
    """

    config: dict[str, Any]
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    parent_config: dict[str, Any] | None = None
    pending_writes: list[PendingWrite] | None = None


class DeltaChannelHistory(TypedDict, total=False):
    """What a channel was written on the way to a checkpoint."""

    writes: list[PendingWrite]
    """The writes, oldest first, since `seed`."""
    seed: Any
    """The channel's value before these writes; missing if it never held one."""


WRITES_IDX_MAP: dict[str, int] = {ERROR: -1, SCHEDULED: -2, INTERRUPT: -3, RESUME: -4}
"""Writes that are no writes to a channel: each has one fixed place a task, and a later one replaces it."""

EXCLUDED_METADATA_KEYS: set[str] = {
    "thread_id",
    "checkpoint_id",
    "checkpoint_ns",
    "checkpoint_map",
    "langgraph_step",
    "langgraph_node",
    "langgraph_triggers",
    "langgraph_path",
    "langgraph_checkpoint_ns",
}
"""Keys of a config that say where a run is, not what it is about: they never go into metadata."""


def _now() -> str:
    """The time as ISO 8601 text, by `time` alone: `datetime` would make the start of every program slower."""
    micros = time_ns() // 1000
    return f"{strftime('%Y-%m-%dT%H:%M:%S', gmtime(micros // 1_000_000))}.{micros % 1_000_000:06d}+00:00"


def empty_checkpoint() -> Checkpoint:
    """A checkpoint of a state that was never written, with a new id."""
    return {
        "v": LATEST_VERSION,
        "id": next_checkpoint_id(),
        "ts": _now(),
        "channel_values": {},
        "channel_versions": {},
        "versions_seen": {},
        "updated_channels": None,
    }


def create_checkpoint(
    checkpoint: Checkpoint, channels: Mapping[str, Any] | None, step: int, *, id: str | None = None
) -> Checkpoint:
    """The checkpoint that follows another.

    Args:
        checkpoint: The one before: versions are taken from it.
        channels: Channel objects to take the values from; `None` to keep the values of `checkpoint`.
        step: The superstep. Ids do not depend on it.
        id: The id; a new one by default.

    Returns:
        A new checkpoint that shares no dict with the given one.
    """
    versions = checkpoint["channel_versions"]
    if channels is None:
        values = dict(checkpoint["channel_values"])
    else:
        values = {}
        for name, channel in channels.items():
            if name in versions:
                try:
                    value = channel.checkpoint()
                except EmptyChannelError:
                    continue
                if value is not MISSING:
                    values[name] = value
    return {
        "v": LATEST_VERSION,
        "id": id or next_checkpoint_id(),
        "ts": _now(),
        "channel_values": values,
        "channel_versions": dict(versions),
        "versions_seen": {node: dict(seen) for node, seen in checkpoint["versions_seen"].items()},
        "updated_channels": checkpoint.get("updated_channels"),
    }


def copy_checkpoint(checkpoint: Checkpoint) -> Checkpoint:
    """A copy whose dicts can be changed; the values of channels are shared."""
    result = checkpoint.copy()
    result["channel_values"] = dict(checkpoint["channel_values"])
    result["channel_versions"] = dict(checkpoint["channel_versions"])
    result["versions_seen"] = {node: dict(seen) for node, seen in checkpoint["versions_seen"].items()}
    return result


def get_checkpoint_id(config: RunnableConfig) -> str | None:
    """The id of the checkpoint that a config names, or `None` where it names the newest."""
    configurable = config["configurable"]
    checkpoint_id: str | None = configurable.get("checkpoint_id")
    return checkpoint_id


_SCALARS = frozenset((str, int, float, bool))


def _is_plain(value: Any) -> bool:
    """Whether a value can be stored as it is in any store: text, numbers, truth values, and lists and dicts of them."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is list:
        return all(map(_is_plain, value))
    if kind is dict:
        return all(type(key) is str and (item is None or _is_plain(item)) for key, item in value.items())
    return False


def get_checkpoint_metadata(config: RunnableConfig, metadata: CheckpointMetadata) -> CheckpointMetadata:
    """The metadata to store: that of the checkpoint, and what the config says about the run.

    Args:
        config: Its `metadata` (what can be stored) and the scalar `configurable` keys are added, but no private ones
            (they begin with `__`) and none of `EXCLUDED_METADATA_KEYS`.
        metadata: The checkpoint's own: its keys win.

    Returns:
        A new dict.

    Example:
        >>> get_checkpoint_metadata({"configurable": {"thread_id": "1", "user": "ann"}}, {"step": 1})
        {'step': 1, 'user': 'ann'}
    """
    result: dict[str, Any] = dict(metadata)
    for key, value in (config.get("metadata") or {}).items():
        if _may_add(key, result) and _is_plain(value):
            result[key] = value
    for key, value in (config.get("configurable") or {}).items():
        if _may_add(key, result) and type(value) in _SCALARS:
            result[key] = value
    return result  # type: ignore[return-value]


def _may_add(key: Any, metadata: Mapping[str, Any]) -> bool:
    return (
        isinstance(key, str) and key not in metadata and key not in EXCLUDED_METADATA_KEYS and key[:2] != "__"
    )


def get_serializable_checkpoint_metadata(
    config: RunnableConfig, metadata: CheckpointMetadata
) -> CheckpointMetadata:
    """Like `get_checkpoint_metadata`, without the key `writes` of old checkpoints, which may hold any object."""
    result = get_checkpoint_metadata(config, metadata)
    result.pop("writes", None)  # type: ignore[typeddict-item]
    return result


class _DefaultSerializer:
    """The serializer of savers that never called `BaseCheckpointSaver.__init__`; made when it is first asked for."""

    _made: SerializerProtocol | None = None

    def __get__(self, saver: object, owner: type) -> SerializerProtocol:
        if self._made is None:
            from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

            _DefaultSerializer._made = JsonPlusSerializer()
        assert self._made is not None
        return self._made


class BaseCheckpointSaver(Generic[V]):
    """Base of all savers. A saver defines at least `get_tuple`, `list`, `put`, `put_writes` and `delete_thread`.

    The `a...` twins call the plain methods in a worker thread unless a saver defines them itself.

    Args:
        serde: Turns values into bytes and back; by default `JsonPlusSerializer()`.
    """

    serde: SerializerProtocol = _DefaultSerializer()  # type: ignore[assignment]

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        from stepgraph.checkpoint.serde.base import maybe_add_typed_methods
        from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

        self.serde = maybe_add_typed_methods(serde) if serde is not None else JsonPlusSerializer()

    @property
    def config_specs(self) -> Sequence[Any]:
        """What may be configured a run; nothing by default."""
        return []

    # ---- reading

    def get(self, config: RunnableConfig) -> Checkpoint | None:
        """The checkpoint that a config names, or the newest of its thread and namespace; `None` if there is none."""
        found = self.get_tuple(config)
        return found.checkpoint if found else None

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Like `get`, with all that belongs to the checkpoint."""
        raise self._not_defined("get_tuple")

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first.

        Args:
            config: Which thread; which namespace (all of them if it names none); which checkpoint. `None`: all threads.
            filter: Only checkpoints whose metadata has these keys with these values.
            before: Only checkpoints older than the one this config names.
            limit: At most so many.
        """
        raise self._not_defined("list")

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What channels were written on the way to a checkpoint, back to the last ancestor that holds their value.

        Args:
            config: Names the checkpoint, or the newest.
            channels: The channels.

        Returns:
            For each channel the writes, oldest first, and the value before them (`seed`), if it held one.
        """
        found = self.get_tuple(config)
        open_channels: dict[str, list[list[PendingWrite]]] = {name: [] for name in channels}
        history: dict[str, DeltaChannelHistory] = {}
        while open_channels and found is not None and found.parent_config is not None:
            found = self.get_tuple(found.parent_config)
            if found is not None:
                _walk_back(found, open_channels, history)
        return _close_history(channels, open_channels, history)

    # ---- writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> dict[str, Any]:
        """Store a checkpoint.

        Args:
            config: Names thread and namespace; its `checkpoint_id`, if any, is the parent.
            checkpoint: The checkpoint, complete.
            metadata: Its metadata.
            new_versions: The channels whose version is new since the parent.

        Returns:
            The config that names the stored checkpoint.
        """
        raise self._not_defined("put")

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote against a checkpoint, before a later checkpoint folds it.

        A write that the task already has is kept as it is; those of `WRITES_IDX_MAP` are replaced.

        Args:
            config: Names the checkpoint.
            writes: Channel and value, in order.
            task_id: The task.
            task_path: Where the task stands among those of its superstep.
        """
        raise self._not_defined("put_writes")

    # ---- keeping house

    def delete_thread(self, thread_id: str) -> None:
        """Delete all that a thread stored, at every level."""
        raise self._not_defined("delete_thread")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made. Those that other runs made stay readable."""
        raise self._not_defined("delete_for_runs")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another one."""
        raise self._not_defined("copy_thread")

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete old checkpoints of threads.

        Args:
            thread_ids: The threads.
            strategy: `"keep_latest"` keeps the newest checkpoint of each namespace; `"delete"` keeps nothing.
        """
        raise self._not_defined("prune")

    # ---- versions and types

    def get_next_version(self, current: V | None, channel: None) -> V:
        """The version that follows another. Override it to number channels your own way.

        Args:
            current: The highest version in use; `None` if there is none.
            channel: Not used; always `None`.

        Returns:
            A greater version: one more than a number, a new time-ordered id after a text.
        """
        if isinstance(current, str):
            return next_checkpoint_id()
        return 1 if current is None else current + 1  # type: ignore[return-value]

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[V]:
        """The same saver over the same data, that also restores the classes named here.

        Args:
            extra_allowlist: Module and name of each class.
        """
        widen = getattr(self.serde, "with_msgpack_allowlist", None)
        if widen is None:
            return self
        twin = copy(self)
        twin.serde = widen(extra_allowlist)
        return twin

    def _not_defined(self, method: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} does not define {method}(). Define it, or use a saver that has it"
            " (InMemorySaver, SqliteSaver, AsyncSqliteSaver)."
        )

    # ---- the same for async callers

    async def aget(self, config: RunnableConfig) -> Checkpoint | None:
        """Async twin of `get`."""
        found = await self.aget_tuple(config)
        return found.checkpoint if found else None

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async twin of `get_tuple`."""
        found: CheckpointTuple | None = await self._in_thread("get_tuple", config)
        return found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async twin of `list`. Fetches in pages, so an early end costs little."""

        def pages() -> Iterator[list_[CheckpointTuple]]:
            yield from _in_pages(self.list(config, filter=filter, before=before, limit=limit))

        if type(self).list is BaseCheckpointSaver.list:
            raise self._not_defined("alist")
        source = pages()
        while page := await _run_in_thread(next, source, ()):
            for found in page:
                yield found

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Async twin of `get_delta_channel_history`."""
        found = await self.aget_tuple(config)
        open_channels: dict[str, list_[list_[PendingWrite]]] = {name: [] for name in channels}
        history: dict[str, DeltaChannelHistory] = {}
        while open_channels and found is not None and found.parent_config is not None:
            found = await self.aget_tuple(found.parent_config)
            if found is not None:
                _walk_back(found, open_channels, history)
        return _close_history(channels, open_channels, history)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> dict[str, Any]:
        """Async twin of `put`."""
        stored: dict[str, Any] = await self._in_thread("put", config, checkpoint, metadata, new_versions)
        return stored

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Async twin of `put_writes`."""
        await self._in_thread("put_writes", config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Async twin of `delete_thread`."""
        await self._in_thread("delete_thread", thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async twin of `delete_for_runs`."""
        await self._in_thread("delete_for_runs", run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async twin of `copy_thread`."""
        await self._in_thread("copy_thread", source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Async twin of `prune`."""
        await self._in_thread("prune", thread_ids, strategy=strategy)

    async def _in_thread(self, method: str, *args: Any, **options: Any) -> Any:
        if getattr(type(self), method) is getattr(BaseCheckpointSaver, method):
            raise self._not_defined("a" + method)
        return await _run_in_thread(getattr(self, method), *args, **options)


list_ = list
"""The builtin, in a class whose own `list` hides it."""

_PAGE = 20


async def _run_in_thread(function: Any, *args: Any, **options: Any) -> Any:
    from asyncio import to_thread

    return await to_thread(function, *args, **options)


def _in_pages(found: Iterable[CheckpointTuple]) -> Iterator[list[CheckpointTuple]]:
    page: list[CheckpointTuple] = []
    for item in found:
        page.append(item)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page


def _walk_back(
    ancestor: CheckpointTuple,
    open_channels: dict[str, list[list[PendingWrite]]],
    history: dict[str, DeltaChannelHistory],
) -> None:
    """Take one ancestor's writes; close the channels whose value it holds."""
    values = ancestor.checkpoint["channel_values"]
    by_channel: dict[str, list[PendingWrite]] = {}
    for write in ancestor.pending_writes or ():
        by_channel.setdefault(write[1], []).append(write)
    for name in list(open_channels):
        if name in by_channel:
            open_channels[name].append(by_channel[name])
        if name in values:
            writes = open_channels.pop(name)
            history[name] = {"writes": _oldest_first(writes), "seed": values[name]}


def _close_history(
    channels: Sequence[str],
    open_channels: dict[str, list[list[PendingWrite]]],
    history: dict[str, DeltaChannelHistory],
) -> dict[str, DeltaChannelHistory]:
    """Channels that no ancestor holds have writes only."""
    for name, writes in open_channels.items():
        history[name] = {"writes": _oldest_first(writes)}
    return {name: history[name] for name in channels}


def _oldest_first(writes: list[list[PendingWrite]]) -> list[PendingWrite]:
    return [write for step in reversed(writes) for write in step]
