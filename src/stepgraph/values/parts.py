"""What a run hands out: stream parts, their payloads, and the output of `invoke(version="v2")`.

Loaded only by who names one of these types; the engine makes plain dicts of the same shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, NotRequired, TypeAlias, TypedDict, TypeVar

from typing_extensions import TypeAliasType

from stepgraph.values.commands import Interrupt
from stepgraph.values.names import INTERRUPT
from stepgraph.values.record import FrozenRecord, set_slot
from stepgraph.values.snapshots import StateSnapshot

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import CheckpointMetadata
    from stepgraph.config import RunnableConfig

StateT = TypeVar("StateT")
OutputT = TypeVar("OutputT")

All: TypeAlias = Literal["*"]
"""Means every node, where names of nodes are asked for."""

StreamMode: TypeAlias = Literal["values", "updates", "checkpoints", "tasks", "debug", "messages", "custom"]
"""What a stream shows: the state after each step, what each node wrote, checkpoints, tasks as they begin and end, the two
before together, tokens of chat models, and what nodes send by hand."""

StreamWriter: TypeAlias = Callable[[Any], None]
"""Sends one custom event to who streams the run."""

Durability: TypeAlias = Literal["sync", "async", "exit"]
"""When a step is saved: before the next one starts, while it runs, or only when the run ends."""


class TaskPayload(TypedDict):
    """A task begins."""

    id: str
    name: str
    input: Any
    triggers: list[str]
    metadata: NotRequired[dict[str, Any]]


class TaskResultPayload(TypedDict):
    """A task ended."""

    id: str
    name: str
    error: str | None
    interrupts: list[dict[str, Any]]
    result: dict[str, Any]


class CheckpointTask(TypedDict):
    """A task as a checkpoint event shows it."""

    id: str
    name: str
    error: NotRequired[str]
    result: NotRequired[Any]
    interrupts: NotRequired[list[dict[str, Any]]]
    state: StateSnapshot | RunnableConfig | None


class CheckpointPayload(TypedDict, Generic[StateT]):
    """A checkpoint was made."""

    config: RunnableConfig | None
    metadata: CheckpointMetadata
    values: StateT
    next: list[str]
    parent_config: RunnableConfig | None
    tasks: list[CheckpointTask]


class DebugCheckpointPayload(TypedDict, Generic[StateT]):
    """A checkpoint, in a debug stream."""

    step: int
    timestamp: str
    type: Literal["checkpoint"]
    payload: CheckpointPayload[StateT]


class DebugTaskPayload(TypedDict):
    """The start of a task, in a debug stream."""

    step: int
    timestamp: str
    type: Literal["task"]
    payload: TaskPayload


class DebugTaskResultPayload(TypedDict):
    """The end of a task, in a debug stream."""

    step: int
    timestamp: str
    type: Literal["task_result"]
    payload: TaskResultPayload


DebugPayload = TypeAliasType(
    "DebugPayload",
    DebugCheckpointPayload[StateT] | DebugTaskPayload | DebugTaskResultPayload,
    type_params=(StateT,),
)
"""One event of a debug stream; `type` tells which."""


class ValuesStreamPart(TypedDict, Generic[OutputT]):
    """The state after a step."""

    type: Literal["values"]
    ns: tuple[str, ...]
    data: OutputT
    interrupts: tuple[Interrupt[Any], ...]


class UpdatesStreamPart(TypedDict):
    """What a node wrote."""

    type: Literal["updates"]
    ns: tuple[str, ...]
    data: dict[str, Any]


class MessagesStreamPart(TypedDict):
    """A message or a part of one, and the metadata of the run that made it."""

    type: Literal["messages"]
    ns: tuple[str, ...]
    data: tuple[Any, dict[str, Any]]


class CustomStreamPart(TypedDict):
    """What a node sent by hand."""

    type: Literal["custom"]
    ns: tuple[str, ...]
    data: Any


class CheckpointStreamPart(TypedDict, Generic[StateT]):
    """A checkpoint was made."""

    type: Literal["checkpoints"]
    ns: tuple[str, ...]
    data: CheckpointPayload[StateT]


class TasksStreamPart(TypedDict):
    """A task begins or ended."""

    type: Literal["tasks"]
    ns: tuple[str, ...]
    data: TaskPayload | TaskResultPayload


class DebugStreamPart(TypedDict, Generic[StateT]):
    """One debug event."""

    type: Literal["debug"]
    ns: tuple[str, ...]
    data: DebugPayload[StateT]


StreamPart = TypeAliasType(
    "StreamPart",
    ValuesStreamPart[OutputT]
    | UpdatesStreamPart
    | MessagesStreamPart
    | CustomStreamPart
    | CheckpointStreamPart[StateT]
    | TasksStreamPart
    | DebugStreamPart[StateT],
    type_params=(StateT, OutputT),
)
"""One part of a stream of version 2; `type` tells which."""


class GraphOutput(FrozenRecord, Generic[OutputT]):
    """What `invoke(version="v2")` returns.

    Args:
        value: The output.
        interrupts: The pauses that wait for an answer; empty if the run came to its end.
    """

    __slots__ = ("interrupts", "value")
    record_fields = ("value", "interrupts")

    value: OutputT
    interrupts: tuple[Interrupt[Any], ...]

    def __init__(self, value: OutputT, interrupts: tuple[Interrupt[Any], ...] = ()) -> None:
        set_slot(self, "value", value)
        set_slot(self, "interrupts", interrupts)

    def __getitem__(self, key: str) -> Any:
        """A key of the output, as in version 1 (deprecated: use `.value` and `.interrupts`).

        Raises:
            KeyError: The output has no such key.
        """
        _warn_deprecated("result[key]")
        if key == INTERRUPT:
            return self.interrupts
        if isinstance(self.value, dict):
            return self.value[key]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        """Whether the output has a key, as in version 1 (deprecated)."""
        _warn_deprecated("key in result")
        if key == INTERRUPT:
            return bool(self.interrupts)
        return isinstance(self.value, dict) and key in self.value


def _warn_deprecated(expression: str) -> None:
    from warnings import warn

    from stepgraph.warnings import LangGraphDeprecatedSinceV11

    warn(
        f"Accessing GraphOutput via `{expression}` is deprecated. Use `result.value` to access the output value directly,"
        " or `result.interrupts` for interrupts.",
        LangGraphDeprecatedSinceV11,
        stacklevel=3,
    )
