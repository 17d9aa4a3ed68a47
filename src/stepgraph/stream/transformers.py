"""The built-in transformers of `stream_events(version="v3")`, under one name."""

from __future__ import annotations

from stepgraph.stream.lifecycle import (
    LifecyclePayload,
    LifecycleTransformer,
    SubgraphStatus,
    SubgraphTransformer,
    _TasksLifecycleBase,
)
from stepgraph.stream.message_streams import MessagesTransformer
from stepgraph.stream.projections import (
    CheckpointsTransformer,
    CustomTransformer,
    DebugTransformer,
    TasksTransformer,
    UpdatesTransformer,
    ValuesTransformer,
)

__all__ = (
    "CheckpointsTransformer",
    "CustomTransformer",
    "DebugTransformer",
    "LifecyclePayload",
    "LifecycleTransformer",
    "MessagesTransformer",
    "SubgraphStatus",
    "SubgraphTransformer",
    "TasksTransformer",
    "UpdatesTransformer",
    "ValuesTransformer",
    "_TasksLifecycleBase",
)

BUILTIN = (ValuesTransformer, MessagesTransformer, LifecycleTransformer, SubgraphTransformer)
"""What every stream has, in this order."""
