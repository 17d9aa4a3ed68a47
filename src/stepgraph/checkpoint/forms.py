"""The wire form of a checkpoint, and functions on it.

Rules of this file: names and shapes here are the field's standard; they cross process borders and never change. The public
place of all these names is `stepgraph.checkpoint.base`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import gmtime, strftime, time_ns
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

from stepgraph.checkpoint.ids import next_checkpoint_id
from stepgraph.errors import EmptyChannelError
from stepgraph.values.missing import MISSING
from stepgraph.values.names import ERROR, INTERRUPT, RESUME, SCHEDULED

__all__ = (
    "EXCLUDED_METADATA_KEYS",
    "LATEST_VERSION",
    "WRITES_IDX_MAP",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "DeltaChannelHistory",
    "OpenHistory",
    "PendingWrite",
    "RunnableConfig",
    "copy_checkpoint",
    "create_checkpoint",
    "empty_checkpoint",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
    "get_serializable_checkpoint_metadata",
)

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


class OpenHistory:
    """Gathers what channels were written, from one ancestor of a checkpoint to the one before.

    Args:
        channels: The channels.
    """

    def __init__(self, channels: Sequence[str]) -> None:
        self._channels = channels
        self._open: dict[str, list[list[PendingWrite]]] = {name: [] for name in channels}
        self._closed: dict[str, DeltaChannelHistory] = {}

    def __bool__(self) -> bool:
        """Whether there is a channel of which no ancestor held the value yet."""
        return bool(self._open)

    def take(self, ancestor: CheckpointTuple) -> None:
        """Take one ancestor's writes; close the channels whose value it holds."""
        values = ancestor.checkpoint["channel_values"]
        by_channel: dict[str, list[PendingWrite]] = {}
        for write in ancestor.pending_writes or ():
            by_channel.setdefault(write[1], []).append(write)
        for name in list(self._open):
            if name in by_channel:
                self._open[name].append(by_channel[name])
            if name in values:
                self._closed[name] = {"writes": _oldest_first(self._open.pop(name)), "seed": values[name]}

    def result(self) -> dict[str, DeltaChannelHistory]:
        """For each channel its history; without a seed where no ancestor held its value."""
        for name, writes in self._open.items():
            self._closed[name] = {"writes": _oldest_first(writes)}
        return {name: self._closed[name] for name in self._channels}


def _oldest_first(writes: list[list[PendingWrite]]) -> list[PendingWrite]:
    return [write for step in reversed(writes) for write in step]
