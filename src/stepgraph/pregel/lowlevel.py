"""Low-level graphs: nodes that subscribe to, read and write channels, with no edges between them.

`plan_of_nodes` checks the declaration (six rules, each a function) and makes the same kind of plan that a `StateGraph`
becomes, so one engine runs both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.channels.base import BaseChannel
from stepgraph.channels.last_value import LastValue
from stepgraph.channels.topic import Topic
from stepgraph.errors import EmptyInputError, InvalidUpdateError
from stepgraph.managed.base import is_managed_value
from stepgraph.pregel.call import bind
from stepgraph.pregel.fields import plan_channel
from stepgraph.pregel.node import PregelNode
from stepgraph.pregel.plan import NodePlan, Plan
from stepgraph.pregel.policies import policy_from
from stepgraph.pregel.results import known_pairs, report_unknown_keys, take_state_result
from stepgraph.values.commands import Command, Send
from stepgraph.values.names import INPUT, RESERVED, TASKS

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.pregel import Pregel
    from stepgraph.pregel.task import Task


def plan_of_nodes(graph: Pregel[Any, Any, Any, Any]) -> Plan:
    """The plan of a low-level graph.

    Raises:
        ValueError: One of the six rules does not hold.
    """
    nodes = {name: _built(node) for name, node in graph._declared_nodes.items()}
    channels = dict(graph._declared_channels)
    if TASKS in channels and not isinstance(channels[TASKS], Topic):
        raise ValueError(
            f"Channel {TASKS!r} is reserved and cannot be used in the graph: it carries Sends. Rename the channel."
        )
    managed = {name: value for name, value in channels.items() if is_managed_value(value)}
    values = {name: value for name, value in channels.items() if name not in managed and name != TASKS}
    check_names(values, managed, nodes)
    check_reads(nodes, values, managed)
    check_subscriptions(nodes, values)
    check_input(nodes, values, graph.input_channels)
    check_outputs(values, graph.output_channels, graph.stream_channels)
    check_interrupts(nodes, graph.interrupt_before_nodes, graph.interrupt_after_nodes)
    return _plan(graph, nodes, values, managed)


def _built(node: Any) -> PregelNode:
    return node if isinstance(node, PregelNode) else node.build()


def check_names(values: Mapping[str, Any], managed: Mapping[str, Any], nodes: Mapping[str, Any]) -> None:
    """1. No channel, managed value or node has a reserved name."""
    for kind, names in (("Channel", values), ("Managed", managed), ("Node", nodes)):
        for name in names:
            if name in RESERVED:
                raise ValueError(f"{kind} name '{name}' is reserved")


def check_reads(
    nodes: Mapping[str, PregelNode], values: Mapping[str, Any], managed: Mapping[str, Any]
) -> None:
    """2. Every channel that a node reads exists."""
    for name, node in nodes.items():
        for channel in [node.channels] if isinstance(node.channels, str) else node.channels:
            if channel not in values and channel not in managed:
                raise ValueError(
                    f"Node {name} reads channel '{channel}' not in known channels: {sorted(values)}"
                )


def check_subscriptions(nodes: Mapping[str, PregelNode], values: Mapping[str, Any]) -> None:
    """3. Every channel that a node subscribes to exists."""
    for node in nodes.values():
        for channel in node.triggers:
            if channel not in values:
                raise ValueError(f"Subscribed channel '{channel}' not in known channels: {sorted(values)}")


def check_input(
    nodes: Mapping[str, PregelNode], values: Mapping[str, Any], inputs: str | Sequence[str]
) -> None:
    """4. The input exists and makes some node run."""
    subscribed = {channel for node in nodes.values() for channel in node.triggers}
    names = [inputs] if isinstance(inputs, str) else list(inputs)
    for name in names:
        if name not in values:
            raise ValueError(f"Input channel '{name}' not in known channels: {sorted(values)}")
    if isinstance(inputs, str) and inputs not in subscribed:
        raise ValueError(f"Input channel {inputs} is not subscribed to by any node")
    if not subscribed.intersection(names):
        raise ValueError(f"None of the input channels {names} are subscribed to by any node")


def check_outputs(
    values: Mapping[str, Any], outputs: str | Sequence[str], streams: str | Sequence[str] | None
) -> None:
    """5. Every output and stream channel exists."""
    for channels in (outputs, streams or ()):
        for name in [channels] if isinstance(channels, str) else channels:
            if name not in values:
                raise ValueError(f"Output channel '{name}' not in known channels: {sorted(values)}")


def check_interrupts(nodes: Mapping[str, PregelNode], before: Any, after: Any) -> None:
    """6. Every node to stop at exists."""
    for names in (before, after):
        for name in () if names == "*" else names:
            if name not in nodes:
                raise ValueError(f"Node {name} not in nodes")


def _plan(
    graph: Pregel[Any, Any, Any, Any],
    nodes: Mapping[str, PregelNode],
    values: Mapping[str, BaseChannel[Any, Any, Any]],
    managed: Mapping[str, Any],
) -> Plan:
    plan = Plan(graph.name)
    plan.cache = graph.cache
    starts: list[tuple[str, Any]] = []
    plan.fields = tuple(values)
    plan.channels = dict(values)
    plan.managed = frozenset(managed)
    for name, channel in values.items():
        channel.key = name
        if type(channel) is LastValue and not channel.is_available():
            continue
        plan_channel(plan, name, channel, starts)
    plan.starts = tuple(starts)
    inputs, outputs = graph.input_channels, graph.output_channels
    streams = graph.stream_channels if graph.stream_channels is not None else tuple(values)
    plan.input_channels = inputs if isinstance(inputs, str) else tuple(inputs)
    plan.input_keys = frozenset((inputs,) if isinstance(inputs, str) else inputs)
    plan.output_channels = outputs if isinstance(outputs, str) else tuple(outputs)
    plan.output_keys = frozenset((outputs,) if isinstance(outputs, str) else outputs)
    plan.stream_channels = streams if isinstance(streams, str) else tuple(streams)
    plan.stream_keys = frozenset((streams,) if isinstance(streams, str) else streams)
    source = NodePlan(INPUT)
    source.triggers = ()
    source.hidden = True
    source.take = _take_nothing
    plan.nodes = {name: _node(graph, name, node, managed) for name, node in nodes.items()}
    plan.nodes[INPUT] = source
    return plan.seal()


def _node(graph: Any, name: str, node: PregelNode, managed: Mapping[str, Any]) -> NodePlan:
    planned = NodePlan(name)
    planned.action = node.bound
    planned.triggers = tuple(node.triggers)
    planned.trigger = node.triggers[0] if node.triggers else ""
    if node.bound is None:
        planned.call = _pass
    else:
        planned.call, planned.acall = bind(node.bound)
    planned.is_async = planned.call is None
    channels = node.channels
    if isinstance(channels, str):
        planned.keys = channels
    else:
        planned.keys = tuple(channel for channel in channels if channel not in managed)
        planned.managed = tuple((c, managed[c].get) for c in channels if c in managed)
    planned.mapper = node.mapper
    planned.metadata = node.metadata
    planned.tags = tuple(node.tags or ())
    planned.writers = tuple(node.writers)
    planned.take = take_writers_result if node.writers else take_state_result
    planned.policy = policy_from(
        retry=node.retry_policy or graph.retry_policy or None,
        cache=node.cache_policy or graph.cache_policy,
        timeout=node.timeout if node.timeout is not None else graph.step_timeout,
    )
    return planned


def _pass(task: Task) -> Any:
    return task.input


def _take_nothing(task: Task, result: Any) -> None:
    task.updates = {}


def take_writers_result(task: Task, result: Any) -> None:
    """Write what the node's writers make of its result."""
    pairs: list[tuple[str, Any]] = []
    for writer in task.node.writers:
        if isinstance(writer, Send):
            task.sends = [*(task.sends or ()), writer]
            continue
        value = result if writer.value is ... else writer.value
        if writer.mapper is not None:
            value = writer.mapper(value)
        if value is None and writer.skip_none:
            continue
        pairs.append((writer.channel, value))
    if isinstance(result, Command):
        raise InvalidUpdateError(
            f"Node {task.node.name!r} of low-level graph {task.node.plan.graph_name!r} returned a Command; only nodes of a "
            "StateGraph can. Write to channels instead (NodeBuilder.write_to)."
        )
    pairs = known_pairs(task, pairs)
    updates = dict(pairs)
    task.updates = updates if len(updates) == len(pairs) else pairs


def input_writes(machine: Machine, input: Any) -> dict[str, Any]:
    """What a run's input writes to the graph's input channels.

    Raises:
        EmptyInputError: It holds none of them.
        InvalidUpdateError: It names no channels.
    """
    plan = machine.plan
    channels = plan.input_channels
    if isinstance(channels, str):
        return {channels: input}
    if not isinstance(input, dict):
        raise InvalidUpdateError(
            f"Expected dict, got {input!r}: the input of {plan.graph_name!r} names its channels {channels}."
        )
    unknown = [name for name in input if name not in plan.fieldset and name not in plan.managed]
    if unknown and machine.parent is None and not machine.scope.quiet_unknown:
        report_unknown_keys(plan, "The input", unknown)
    updates = {name: value for name, value in input.items() if name in plan.input_keys}
    if not updates:
        raise EmptyInputError(f"The input of {plan.graph_name!r} holds none of its channels {channels}.")
    return updates
