"""What a run tells while it runs: the sink it tells it to, and the forms a person receives.

The names here are those of `stream_events(version="v3")`; they are loaded when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepgraph.lazy import names_from

if TYPE_CHECKING:
    from stepgraph.stream._types import ProtocolEvent, StreamTransformer
    from stepgraph.stream.run_stream import (
        AsyncGraphRunStream,
        AsyncSubgraphRunStream,
        GraphRunStream,
        SubgraphRunStream,
    )
    from stepgraph.stream.stream_channel import StreamChannel
    from stepgraph.stream.transformers import (
        CheckpointsTransformer,
        CustomTransformer,
        DebugTransformer,
        LifecyclePayload,
        LifecycleTransformer,
        SubgraphStatus,
        SubgraphTransformer,
        TasksTransformer,
        UpdatesTransformer,
    )

__all__ = (
    "AsyncGraphRunStream",
    "AsyncSubgraphRunStream",
    "CheckpointsTransformer",
    "CustomTransformer",
    "DebugTransformer",
    "GraphRunStream",
    "LifecyclePayload",
    "LifecycleTransformer",
    "ProtocolEvent",
    "StreamChannel",
    "StreamTransformer",
    "SubgraphRunStream",
    "SubgraphStatus",
    "SubgraphTransformer",
    "TasksTransformer",
    "UpdatesTransformer",
)

_HOMES = {
    **dict.fromkeys(__all__, "transformers"),
    "ProtocolEvent": "_types",
    "StreamTransformer": "_types",
    "StreamChannel": "stream_channel",
    "AsyncGraphRunStream": "run_stream",
    "AsyncSubgraphRunStream": "run_stream",
    "GraphRunStream": "run_stream",
    "SubgraphRunStream": "run_stream",
}

__getattr__ = names_from(globals(), _HOMES)
