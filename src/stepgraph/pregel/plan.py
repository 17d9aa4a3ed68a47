"""What `compile()` makes and a run reads: frozen data and bound functions, nothing of the builder.

Rules of this file: no behaviour beyond look-ups, no reference to a run, nothing changes after `seal()`. A node's
control flow is a direct reference to other nodes; the names `branch:to:x` and `join:a+b:c` are kept beside them for
everything that a person can see (versions, checkpoints, debug events).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.subgraphs import find_subgraphs

if TYPE_CHECKING:
    from stepgraph.channels.base import BaseChannel
    from stepgraph.pregel.policies import NodePolicy
    from stepgraph.pregel.task import Task
    from stepgraph.values.migrations import Migration

Fold = Callable[[Any, Sequence[Any], dict[str, Any]], Any]
"""(value so far or MISSING, writes of the superstep, memo of this channel in this run) -> value."""


class JoinPlan:
    """A waiting edge: `target` runs once all of `sources` have run since it last fired."""

    __slots__ = ("channel", "deferred", "sources", "target")

    def __init__(self, channel: str, sources: tuple[str, ...], target: NodePlan) -> None:
        self.channel = channel
        self.sources = frozenset(sources)
        self.target = target
        self.deferred = target.deferred


class BranchPlan:
    """A conditional edge: `path` looks at the state after its source's own writes and names what runs next."""

    __slots__ = (
        "action",
        "apath",
        "ends",
        "is_async",
        "jumps",
        "keys",
        "managed",
        "mapper",
        "name",
        "path",
        "plain",
    )

    def __init__(
        self,
        name: str,
        path: Callable[[Any, Task], Any] | None,
        apath: Callable[[Any, Task], Any] | None,
        ends: Mapping[Any, str] | None,
    ) -> None:
        self.name = name
        self.action: Any = None
        self.path = path
        self.apath = apath
        self.is_async = path is None
        self.managed: tuple[tuple[str, Callable[[Any], Any]], ...] = ()
        self.ends = ends
        self.jumps: Mapping[str, tuple[NodePlan, ...]] = {}
        self.plain: Callable[[Any], Any] | None = None
        self.keys: tuple[str, ...] | str | None = None
        self.mapper: Callable[[Any], Any] | None = None


class NodePlan:
    """One node: how it is called, what it reads, and where its result goes.

    `keys` is a tuple of channels, one channel's name, or None for the whole state. `take` turns what the node returned
    into the task's updates, targets and sends. `call` and `acall` hold the call shape that was fixed at compile time;
    one of them may be None. `plain` is the action itself where it wants nothing but its input. `simple` says that a
    call is all it takes: nothing to await, no policy. `quick` is learned: its last run beside others took next to no
    time, so that waking a thread for it would cost more than running it.
    """

    __slots__ = (
        "_subgraphs",
        "acall",
        "action",
        "branches",
        "call",
        "deferred",
        "has_async",
        "hidden",
        "is_async",
        "joins",
        "keys",
        "managed",
        "mapper",
        "metadata",
        "name",
        "plain",
        "plan",
        "policy",
        "quick",
        "simple",
        "tags",
        "take",
        "targets",
        "trace_policy",
        "trigger",
        "triggers",
        "writers",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.trigger = "branch:to:" + name
        self.triggers: tuple[str, ...] = (self.trigger,)
        self.action: Any = None
        self.call: Callable[[Task], Any] | None = None
        self.plain: Callable[[Any], Any] | None = None
        self.acall: Callable[[Task], Any] | None = None
        self.is_async = False
        self.has_async = False
        self.keys: tuple[str, ...] | str | None = None
        self.managed: tuple[tuple[str, Callable[[Any], Any]], ...] = ()
        self.mapper: Callable[[Any], Any] | None = None
        self.take: Callable[[Task, Any], None]
        self.writers: tuple[Any, ...] = ()
        self.targets: tuple[NodePlan, ...] = ()
        self.joins: tuple[JoinPlan, ...] = ()
        self.branches: tuple[BranchPlan, ...] = ()
        self.deferred = False
        self.hidden = False
        self.simple = False
        self.quick = False
        self.policy: NodePolicy | None = None
        self._subgraphs: tuple[Any, ...] | None = None
        self.metadata: Mapping[str, Any] | None = None
        self.tags: Sequence[str] = ()
        self.trace_policy: Any = None
        self.plan: Plan

    @property
    def subgraphs(self) -> tuple[Any, ...]:
        """The compiled graphs that this node may run; looked for on first use."""
        if self._subgraphs is None:
            self._subgraphs = find_subgraphs(self.action)
        return self._subgraphs

    def __repr__(self) -> str:
        return f"NodePlan({self.name!r})"


class Plan:
    """The whole graph, ready to run.

    `folds` holds the reducers of the fields that have one; a field that is in neither `folds` nor `objects` keeps its
    last value. `unusual`: not only plain fields, reducers and edges take part. `objects` are the channels with a life of
    their own; each run works on copies of them. `shapes` is what ledgers remember of the graph's steps. `channels` are the
    declared channels of all fields, to be looked at. `migrations` are those of this graph, `deep_migrations` those of graphs
    inside, each with the names of the nodes that lead there. `shape_texts` is filled on first use, see `shape.py`.
    """

    __slots__ = (
        "cache",
        "channels",
        "deep_migrations",
        "fields",
        "fieldset",
        "folds",
        "graph_name",
        "has_async",
        "has_deferred",
        "input_channels",
        "input_keys",
        "input_take",
        "interrupt_after",
        "interrupt_before",
        "joins",
        "managed",
        "migrations",
        "nodes",
        "objects",
        "output_channels",
        "output_keys",
        "reader_triggers",
        "returned_default",
        "root",
        "shape_texts",
        "shapes",
        "start",
        "starts",
        "stream_channels",
        "stream_keys",
        "triggers",
        "unknown_target",
        "untracked",
        "unusual",
        "validators",
    )

    def __init__(self, graph_name: str) -> None:
        self.graph_name = graph_name
        self.nodes: dict[str, NodePlan] = {}
        self.start: NodePlan | None = None
        self.fields: tuple[str, ...] = ()
        self.fieldset: frozenset[str] = frozenset()
        self.channels: dict[str, BaseChannel[Any, Any, Any]] = {}
        self.migrations: tuple[Migration, ...] = ()
        self.deep_migrations: tuple[tuple[tuple[str, ...], Migration], ...] = ()
        self.shape_texts: dict[tuple[str, ...], str] = {}
        self.managed: frozenset[str] = frozenset()
        self.folds: dict[str, Fold] = {}
        self.starts: tuple[tuple[str, Callable[[], Any]], ...] = ()
        self.objects: dict[str, BaseChannel[Any, Any, Any]] = {}
        self.validators: dict[str, Callable[[str, Any], Any]] = {}
        self.untracked: frozenset[str] = frozenset()
        self.joins: dict[str, JoinPlan] = {}
        self.triggers: dict[str, tuple[NodePlan, ...]] = {}
        self.reader_triggers: dict[str, tuple[NodePlan, ...]] = {}
        self.input_channels: str | tuple[str, ...] = "__start__"
        self.input_keys: frozenset[str] = frozenset()
        self.output_channels: str | tuple[str, ...] = ()
        self.output_keys: frozenset[str] = frozenset()
        self.stream_channels: str | tuple[str, ...] = ()
        self.stream_keys: frozenset[str] = frozenset()
        self.interrupt_before: frozenset[str] | str = frozenset()
        self.interrupt_after: frozenset[str] | str = frozenset()
        self.has_async = False
        self.has_deferred = False
        self.unusual = False
        self.unknown_target = "error"
        self.root = False
        self.cache: Any = None
        self.shapes: dict[Any, Any] = {}

    def seal(self) -> Plan:
        """Derive what follows from nodes and fields; called once, last."""
        triggers: dict[str, list[NodePlan]] = {}
        for node in self.nodes.values():
            node.plan = self
            node.has_async = node.is_async or any(branch.is_async for branch in node.branches)
            node.simple = not node.has_async and node.policy is None
            for channel in node.triggers:
                triggers.setdefault(channel, []).append(node)
        self.triggers = {channel: tuple(nodes) for channel, nodes in triggers.items()}
        self.fieldset = frozenset(self.fields)
        self.reader_triggers = {c: nodes for c, nodes in self.triggers.items() if c in self.fieldset}
        self.has_async = any(node.has_async for node in self.nodes.values())
        self.has_deferred = any(node.deferred for node in self.nodes.values())
        self.unusual = bool(self.has_deferred or self.objects or self.joins or self.reader_triggers)
        return self
