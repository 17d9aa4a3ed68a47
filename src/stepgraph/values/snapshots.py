"""What a thread looked like: snapshots of state, their tasks, and updates to apply to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stepgraph.values.record import FrozenRecord, set_slot

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import CheckpointMetadata
    from stepgraph.config import RunnableConfig
    from stepgraph.values.commands import Interrupt
    from stepgraph.values.policies import CacheKey, RetryPolicy, TimeoutPolicy


class StateUpdate(NamedTuple):
    """One update of `bulk_update_state`."""

    values: dict[str, Any] | None
    """What to write."""
    as_node: str | None = None
    """As which node; may be left out where it is clear."""
    task_id: str | None = None
    """As which task."""


class PregelTask(NamedTuple):
    """A task of a snapshot: what is to run next, or did run, and how far it came."""

    id: str
    name: str
    """The node."""
    path: tuple[str | int | tuple[Any, ...], ...]
    """How the task came to be: from a trigger or from a `Send`, and its place in the order of writes."""
    error: Exception | None = None
    """What it failed with."""
    interrupts: tuple[Interrupt[Any], ...] = ()
    """The pauses it waits at."""
    state: RunnableConfig | StateSnapshot | None = None
    """Its subgraph: the config of it, or with `subgraphs=True` the snapshot of it."""
    result: Any | None = None
    """What it wrote, if it ended while others of its step did not."""


class StateSnapshot(NamedTuple):
    """The state of a graph at one checkpoint of a thread."""

    values: dict[str, Any] | Any
    """The fields."""
    next: tuple[str, ...]
    """The nodes that run next."""
    config: RunnableConfig
    """The config that leads back to this checkpoint."""
    metadata: CheckpointMetadata | None
    """How the checkpoint came to be."""
    created_at: str | None
    """When, as ISO 8601 text."""
    parent_config: RunnableConfig | None
    """The config of the checkpoint before."""
    tasks: tuple[PregelTask, ...]
    """The tasks that run next, or that ended in part."""
    interrupts: tuple[Interrupt[Any], ...]
    """All pauses of the tasks."""


class PregelExecutableTask(FrozenRecord):
    """A task as low-level code sees it: its input, what runs it, and the writes it has made so far."""

    __slots__ = record_fields = (
        "name",
        "input",
        "proc",
        "writes",
        "config",
        "triggers",
        "retry_policy",
        "cache_key",
        "id",
        "path",
        "writers",
        "subgraphs",
        "timeout",
    )

    def __init__(
        self,
        name: str,
        input: Any,
        proc: Any,
        writes: deque[tuple[str, Any]],
        config: RunnableConfig,
        triggers: Sequence[str],
        retry_policy: Sequence[RetryPolicy],
        cache_key: CacheKey | None,
        id: str,
        path: tuple[str | int | tuple[Any, ...], ...],
        writers: Sequence[Any] = (),
        subgraphs: Sequence[Any] = (),
        timeout: TimeoutPolicy | None = None,
    ) -> None:
        given = locals()
        for field in self.record_fields:
            set_slot(self, field, given[field])
