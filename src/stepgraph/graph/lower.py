"""From declaration to plan: specs become frozen data and bound functions.

Like a query planner, this runs no user code and generates none. Rules: the result holds no reference to the builder,
and nothing is appended to it after `seal()`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from stepgraph.channels.base import BaseChannel
from stepgraph.channels.last_value import LastValue
from stepgraph.graph.handlers import bind_handler, handler_spec
from stepgraph.graph.migrations import plan_migrations
from stepgraph.pregel.call import bind, bind_path, plain_function
from stepgraph.pregel.executors import bind_on_executor, runs_on_executors
from stepgraph.pregel.fields import plan_channel
from stepgraph.pregel.handling import DEFAULT_HANDLER
from stepgraph.pregel.plan import BranchPlan, JoinPlan, NodePlan, Plan
from stepgraph.pregel.policies import policy_from
from stepgraph.pregel.results import take_child_result, take_input, take_root_result, take_state_result
from stepgraph.schema.fields import FieldSpec, parse_schema
from stepgraph.schema.objects import mapper_for
from stepgraph.schema.validate import validator_for
from stepgraph.values.names import END, ROOT, START

if TYPE_CHECKING:
    from stepgraph.graph.specs import BranchSpec, NodeSpec
    from stepgraph.graph.state import StateGraph
    from stepgraph.pregel.settings import PlanSettings


def lower(builder: StateGraph, name: str, settings: PlanSettings) -> Plan:
    """The plan of a validated declaration."""
    plan = Plan(name)
    plan.unknown_target = settings.unknown_target
    plan.cache = settings.cache
    plan_fields(plan, builder.fields.values())
    _plan_ends(plan, builder, settings)
    plan.start = _start_node()
    plan.nodes = {START: plan.start}
    _plan_nodes(plan, builder, settings)
    _plan_edges(plan, builder)
    _plan_branches(plan, builder)
    _plan_validators(plan, builder)
    if settings.migrations:
        plan_migrations(plan, settings.migrations)
    return plan.seal()


def plan_fields(plan: Plan, specs: Iterable[FieldSpec]) -> None:
    """Sort fields by how their writes are folded."""
    fields: list[str] = []
    starts: list[tuple[str, Any]] = []
    managed: list[str] = []
    for spec in specs:
        channel = spec.channel
        if not isinstance(channel, BaseChannel):
            managed.append(spec.name)
            continue
        fields.append(spec.name)
        plan.channels[spec.name] = channel
        if type(channel) is LastValue:
            continue
        plan_channel(plan, spec.name, channel, starts)
    plan.fields = tuple(fields)
    plan.managed = frozenset(managed)
    plan.starts = tuple(starts)
    plan.root = fields == [ROOT]


def _plan_ends(plan: Plan, builder: StateGraph, settings: PlanSettings) -> None:
    """What goes in, what comes out, and what streams show."""
    plan.input_channels = START
    plan.input_keys = frozenset(parse_schema(builder.input_schema).channels)
    outputs = tuple(parse_schema(builder.output_schema).channels)
    chosen = settings.output_channels, settings.stream_channels
    output = (ROOT if outputs == (ROOT,) else outputs) if chosen[0] is None else chosen[0]
    stream = (ROOT if plan.root else plan.fields) if chosen[1] is None else chosen[1]
    plan.output_channels = output if isinstance(output, str) else tuple(output)
    plan.stream_channels = stream if isinstance(stream, str) else tuple(stream)
    plan.output_keys = frozenset((output,) if isinstance(output, str) else output)
    plan.stream_keys = frozenset((stream,) if isinstance(stream, str) else stream)


def _start_node() -> NodePlan:
    node = NodePlan(START)
    node.trigger = START
    node.triggers = (START,)
    node.hidden = True
    node.call = _pass_input
    node.take = take_input
    return node


def _pass_input(task: Any) -> Any:
    return task.input


def _plan_nodes(plan: Plan, builder: StateGraph, settings: PlanSettings) -> None:
    """The declared nodes, and the hidden ones that handle their failures."""
    handlers: dict[str, NodePlan] = {}
    for spec in builder.nodes.values():
        node = _node(plan, spec)
        node.call, node.acall = _calls(spec, settings.executor)
        node.is_async = node.call is None
        if node.call is not None and spec.calls is not None and node.call is spec.calls[0]:
            node.plain = plain_function(spec.action)
        handler = None
        handling = handler_spec(builder, spec)
        if handling is not None:
            handler = handlers.get(handling.name)
            if handler is None:
                handler = handlers[handling.name] = _handler(plan, builder, handling)
            if handling.name != DEFAULT_HANDLER:
                plan.nodes[handling.name] = handler
        node.policy = policy_from(
            retry=builder.policy_of(spec, "retry_policy") or settings.retry_policy,
            cache=_first(builder.policy_of(spec, "cache_policy"), settings.cache_policy),
            timeout=_first(builder.policy_of(spec, "timeout"), settings.step_timeout),
            error_handler=handler,
            handler_reads=node if handling is None or handling.input_schema is None else handler,
            max_concurrency=spec.max_concurrency,
        )
        plan.nodes[spec.name] = node
    if DEFAULT_HANDLER in handlers:
        plan.nodes[DEFAULT_HANDLER] = handlers[DEFAULT_HANDLER]


def _first(own: Any, default: Any) -> Any:
    return default if own is None else own


def _calls(spec: NodeSpec, executor: Any) -> Any:
    """How the node's action is called: directly, or on an executor."""
    chosen = executor if spec.executor is None else spec.executor
    if chosen is None or (spec.executor is None and not runs_on_executors(spec.action)):
        return spec.calls or bind(spec.action)
    return bind_on_executor(spec.name, spec.action, chosen)


def _handler(plan: Plan, builder: StateGraph, spec: NodeSpec) -> NodePlan:
    handler = _node(plan, spec, builder.state_schema)
    handler.call, handler.acall = bind_handler(spec.action)
    handler.is_async = handler.call is None
    handler.policy = policy_from(
        retry=builder.policy_of(spec, "retry_policy"), timeout=builder.policy_of(spec, "timeout")
    )
    return handler


def _node(plan: Plan, spec: NodeSpec, default_schema: Any = None) -> NodePlan:
    node = NodePlan(spec.name)
    node.action = spec.action
    node.deferred = spec.defer
    node.metadata = spec.metadata
    node.trace_policy = spec.trace_policy
    if plan.root:
        node.take = take_root_result
    else:
        node.take = take_child_result if spec.is_subgraph else take_state_result
    schema = spec.input_schema or default_schema
    node.keys, node.managed = reads(plan, schema)
    if not spec.is_subgraph:
        node.mapper = mapper_for(schema)
    return node


def reads(plan: Plan, schema: Any) -> tuple[tuple[str, ...] | str | None, tuple[tuple[str, Any], ...]]:
    """What a reader of this schema sees: channels (None for the whole state) and managed values."""
    spec = parse_schema(schema)
    names = tuple(spec.channels)
    if names == (ROOT,):
        return ROOT, ()
    managed = tuple((name, value.get) for name, value in spec.managed.items())
    whole = len(names) == len(plan.fields) and set(names) == set(plan.fields)
    return (None if whole else names), managed


def _plan_edges(plan: Plan, builder: StateGraph) -> None:
    nodes = plan.nodes
    targets: dict[str, dict[str, NodePlan]] = {}
    for source, target in sorted(builder.edges):
        if target != END:
            targets.setdefault(source, {})[target] = nodes[target]
    for source, found in targets.items():
        nodes[source].targets = tuple(found.values())
    for sources, target in sorted(builder.waiting_edges):
        if target == END:
            continue
        channel = f"join:{'+'.join(sources)}:{target}"
        join = JoinPlan(channel, sources, nodes[target])
        plan.joins[channel] = join
        nodes[target].triggers += (channel,)
        for source in join.sources:
            nodes[source].joins += (join,)


def _plan_branches(plan: Plan, builder: StateGraph) -> None:
    anywhere: dict[str, tuple[NodePlan, ...]] = {END: ()}
    if builder.branches:
        anywhere.update({name: (node,) for name, node in plan.nodes.items() if node is not plan.start})
    for source, branches in builder.branches.items():
        node = plan.nodes[source]
        default = builder.nodes[source].input_schema if source in builder.nodes else builder.state_schema
        node.branches = tuple(_branch(plan, spec, default, anywhere) for spec in branches.values())


def _branch(
    plan: Plan, spec: BranchSpec, default_schema: Any, anywhere: dict[str, tuple[NodePlan, ...]]
) -> BranchPlan:
    path, apath = bind_path(spec.path)
    schema = spec.input_schema or default_schema
    branch = BranchPlan(spec.name, path, apath, spec.ends)
    branch.action = spec.path
    branch.plain = plain_function(spec.path)
    if spec.ends is None:
        branch.jumps = anywhere
    else:
        branch.jumps = {END: (), **{label: anywhere[name] for label, name in spec.ends.items()}}
    branch.keys, managed = reads(plan, schema)
    if managed and branch.keys is None:
        branch.keys = plan.fields
    branch.managed = managed
    branch.mapper = mapper_for(schema)
    return branch


def _plan_validators(plan: Plan, builder: StateGraph) -> None:
    for schema in (builder.state_schema, builder.input_schema, builder.output_schema):
        check = validator_for(schema)
        if check is not None:
            for name in parse_schema(schema).channels:
                plan.validators.setdefault(name, check)
