"""The public face of the values a person holds. Definitions live in `stepgraph.values`; names are loaded when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepgraph.lazy import names_from

if TYPE_CHECKING:
    from stepgraph.pregel.checkpointers import Checkpointer, ensure_valid_checkpointer
    from stepgraph.pregel.interrupts import interrupt
    from stepgraph.values.commands import Command, Interrupt, Overwrite, Send
    from stepgraph.values.migrations import (
        Migration,
        convert_field,
        remove_field,
        rename_field,
        rename_node,
    )
    from stepgraph.values.parts import (
        All,
        CheckpointPayload,
        CheckpointStreamPart,
        CheckpointTask,
        CustomStreamPart,
        DebugPayload,
        DebugStreamPart,
        Durability,
        GraphOutput,
        MessagesStreamPart,
        StreamMode,
        StreamPart,
        StreamWriter,
        TaskPayload,
        TaskResultPayload,
        TasksStreamPart,
        UpdatesStreamPart,
        ValuesStreamPart,
    )
    from stepgraph.values.policies import (
        CachePolicy,
        RetryPolicy,
        TimeoutPolicy,
        TracePolicy,
        omit_payload,
    )
    from stepgraph.values.snapshots import PregelExecutableTask, PregelTask, StateSnapshot, StateUpdate

__all__ = (
    "All",
    "CachePolicy",
    "CheckpointPayload",
    "CheckpointStreamPart",
    "CheckpointTask",
    "Checkpointer",
    "Command",
    "CustomStreamPart",
    "DebugPayload",
    "DebugStreamPart",
    "Durability",
    "GraphOutput",
    "Interrupt",
    "MessagesStreamPart",
    "Migration",
    "Overwrite",
    "PregelExecutableTask",
    "PregelTask",
    "RetryPolicy",
    "Send",
    "StateSnapshot",
    "StateUpdate",
    "StreamMode",
    "StreamPart",
    "StreamWriter",
    "TaskPayload",
    "TaskResultPayload",
    "TasksStreamPart",
    "TimeoutPolicy",
    "TracePolicy",
    "UpdatesStreamPart",
    "ValuesStreamPart",
    "convert_field",
    "ensure_valid_checkpointer",
    "interrupt",
    "omit_payload",
    "remove_field",
    "rename_field",
    "rename_node",
)

_HOMES: Final[dict[str, tuple[str, ...]]] = {
    "stepgraph.values.commands": ("Command", "Interrupt", "Overwrite", "Send"),
    "stepgraph.values.migrations": (
        "Migration",
        "convert_field",
        "remove_field",
        "rename_field",
        "rename_node",
    ),
    "stepgraph.values.missing": ("MISSING",),
    "stepgraph.values.policies": (
        "CacheKey",
        "CachePolicy",
        "RetryPolicy",
        "TimeoutPolicy",
        "TracePolicy",
        "default_retry_on",
        "omit_payload",
    ),
    "stepgraph.values.snapshots": ("PregelExecutableTask", "PregelTask", "StateSnapshot", "StateUpdate"),
    "stepgraph.pregel.checkpointers": ("Checkpointer", "ensure_valid_checkpointer"),
    "stepgraph.pregel.interrupts": ("interrupt",),
}
_HOME_OF: Final = {
    **dict.fromkeys(__all__, "stepgraph.values.parts"),
    **{name: home for home, names in _HOMES.items() for name in names},
}

__getattr__ = names_from(globals(), _HOME_OF)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
