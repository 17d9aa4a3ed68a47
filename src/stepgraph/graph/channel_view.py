"""The channels of a compiled graph as objects, for looking at; the engine itself works on the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepgraph.channels.ephemeral_value import EphemeralValue
from stepgraph.channels.last_value import LastValueAfterFinish
from stepgraph.channels.named_barrier_value import NamedBarrierValue, NamedBarrierValueAfterFinish
from stepgraph.channels.topic import Topic
from stepgraph.values.commands import Send
from stepgraph.values.names import START, TASKS

if TYPE_CHECKING:
    from stepgraph.graph.compiled import CompiledStateGraph


def channel_view(compiled: CompiledStateGraph[Any, Any, Any, Any]) -> dict[str, Any]:
    """Name to channel: fields and managed values, `__start__`, Sends, then one control channel a node and waiting edge."""
    builder, plan = compiled.builder, compiled.plan
    channels: dict[str, Any] = {name: spec.channel for name, spec in builder.fields.items()}
    channels[START] = EphemeralValue(builder.input_schema)
    channels[TASKS] = Topic(Send, accumulate=False)
    for node in plan.nodes.values():
        if node is not plan.start:
            channels[node.trigger] = (
                LastValueAfterFinish(Any) if node.deferred else EphemeralValue(Any, guard=False)
            )
    for join in plan.joins.values():
        kind: Any = NamedBarrierValueAfterFinish if join.deferred else NamedBarrierValue
        channels[join.channel] = kind(str, set(join.sources))
    for name, channel in channels.items():
        if hasattr(channel, "key"):
            channel.key = name
    return channels
