"""What of a node's result is cached, under which key, and how it becomes the writes of another task.

Theory of operation. A result is kept as its writes: state updates, where the node sent the run (`goto`, `Send`, and what
its conditional edges answered). The node's static edges are not kept: they are the graph's, so graphs that share a
function share results. A hit runs neither the node nor its conditional edges.

Not kept: what an attempt wrote that failed, paused or was cancelled, what an error handler wrote, and any result that
rests on a person's answer, because an answer is no function of the input.

Rules of this file: pure; looking up and waiting are the drivers' part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.results import restore_writes, wire_writes
from stepgraph.values.names import CACHE_NS_WRITES, NO_WRITES

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.plan import NodePlan, Plan
    from stepgraph.pregel.task import Task

Key = tuple[tuple[str, ...], str]


def cache_of(machine: Machine) -> Any:
    """The cache of a machine's graph; one that was compiled without inherits that of the graph above."""
    while machine.plan.cache is None and machine.parent is not None:
        machine = machine.parent.machine
    return machine.plan.cache


def cache_key(task: Task) -> Key:
    """Where the result of a task lies; a key function that raises fails the task."""
    from stepgraph.cache.keys import full_key

    policy = task.node.policy
    assert policy is not None
    assert policy.cache is not None
    arguments, named = task.arguments
    key = policy.cache.key_func(*arguments, **named)
    if not isinstance(key, (str, bytes)):
        raise TypeError(
            f"The key_func of the cache policy of node {task.node.name!r} returned {key!r} of type {type(key).__name__}."
            " A key is text or bytes: return str(...) of it."
        )
    return full_key(cache_namespace(task.node), key)


def kept_writes(task: Task) -> list[tuple[str, Any]] | None:
    """What to keep of a task that succeeded; None if its result must not be reused."""
    if task.asked:
        return None
    static = {node.trigger for node in task.node.targets}
    joins = {join.channel for join in task.node.joins}
    return [
        pair
        for pair in wire_writes(task)
        if pair[0] not in static and pair[0] not in joins and pair[0] != NO_WRITES
    ]


def take_cached(task: Task, pairs: Any) -> None:
    """Make kept writes a task's own."""
    restore_writes(task, [tuple(pair) for pair in pairs])
    task.restored = task.saved = False
    task.cached = True
    task.targets = (*task.node.targets, *task.targets)


def enclosing_ticket(task: Task) -> Any:
    """The ticket of the nearest computation above this task that is being cached."""
    above = task.above
    while above is not None and above.ticket is None:
        above = above.above
    return None if above is None else above.ticket


def cache_namespace(node: NodePlan) -> tuple[str, ...]:
    """Where results of a node are cached: by what it does and its name, the same in every process."""
    return (CACHE_NS_WRITES, _identity(node.action), node.name)


def cache_namespaces(plan: Plan, names: Iterable[str] | None) -> list[tuple[str, ...]]:
    """Where results of these nodes (of all, where none are named) and of the graphs that they run are cached.

    Raises:
        ValueError: There is no such node.
    """
    for name in names or ():
        if name not in plan.nodes:
            known = ", ".join(repr(node.name) for node in plan.nodes.values() if not node.hidden)
            raise ValueError(
                f"Graph {plan.graph_name!r} has no node {name!r} to clear the cache of. Its nodes: {known}."
            )
    found: list[tuple[str, ...]] = []
    pending = [*plan.nodes.values()] if names is None else [plan.nodes[name] for name in names]
    seen = {id(plan)}
    while pending:
        node = pending.pop()
        found.append(cache_namespace(node))
        for graph in node.subgraphs:
            if graph.plan.cache is None and id(graph.plan) not in seen:
                seen.add(id(graph.plan))
                pending += graph.plan.nodes.values()
    return found


def _identity(action: Any) -> str:
    action = getattr(action, "func", action)
    plan = getattr(action, "plan", None)
    if plan is not None and isinstance(getattr(plan, "nodes", None), Mapping):
        from stepgraph.pregel.identity import digest

        parts = [f"{name}={_identity(inner.action)}" for name, inner in sorted(plan.nodes.items())]
        return f"{plan.graph_name}#{digest(' '.join(parts))}"
    module = getattr(action, "__module__", None) or type(action).__module__
    name = getattr(action, "__qualname__", None) or type(action).__qualname__
    code = getattr(action, "__code__", None)
    if "<lambda>" in name and isinstance(code, CodeType):
        from stepgraph.pregel.identity import digest

        return f"{module}.{name}#{digest(repr(_content(code)))}"
    return f"{module}.{name}"


def _content(code: CodeType) -> tuple[Any, ...]:
    """A lambda has no name that tells it from its neighbours: its code does."""
    constants = [_content(item) if isinstance(item, CodeType) else _stable(item) for item in code.co_consts]
    return (code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, constants)


def _stable(constant: Any) -> Any:
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant)
