"""`CompiledStateGraph`: a `StateGraph` that runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Generic

from stepgraph.graph.lower import lower
from stepgraph.pregel.pregel import ContextT, InputT, OutputT, Pregel, StateT
from stepgraph.pregel.settings import PlanSettings
from stepgraph.pregel.subgraphs import find_subgraphs
from stepgraph.schema.objects import mapper_for
from stepgraph.values import defaults
from stepgraph.values.names import START

if TYPE_CHECKING:
    from stepgraph.graph.state import StateGraph
    from stepgraph.pregel.plan import Plan
    from stepgraph.values.migrations import Migration


_DEFAULT_SETTINGS: dict[str, Any] = {
    "name": "LangGraph",
    "checkpointer": None,
    "store": None,
    "cache": None,
    "interrupt_before": (),
    "interrupt_after": (),
    "debug": False,
    "context_schema": None,
    "stream_mode": "updates",
    "concurrency": "detect",
}


class CompiledStateGraph(
    Pregel[StateT, ContextT, InputT, OutputT], Generic[StateT, ContextT, InputT, OutputT]
):
    """What `StateGraph.compile()` answers. `builder` is the declaration that it was made from."""

    builder: StateGraph[StateT, ContextT, InputT, OutputT]
    strict_serde = False
    _unknown_target: str | None = None
    _executor: Any = None
    _migrations: tuple[Migration, ...] = ()

    def __init__(
        self,
        *,
        builder: StateGraph[Any, Any, Any, Any],
        schema_to_mapper: Mapping[Any, Any] | None = None,
        plan: Plan | None = None,
        **kwargs: Any,
    ) -> None:
        settings = {**_DEFAULT_SETTINGS, **kwargs}
        self.builder = builder
        self._settle(**settings)
        self.input_channels = START
        plan = plan or self.make_plan()
        output, stream = plan.output_channels, plan.stream_channels
        self.output_channels = output if isinstance(output, str) else list(output)
        self.stream_channels = stream if isinstance(stream, str) else list(stream)
        self.plan = plan

    def make_plan(self) -> Plan:
        """The plan of the declaration, as the settings have it now."""
        settings = PlanSettings(
            cache=self.cache,
            retry_policy=self.retry_policy,
            cache_policy=self.cache_policy,
            step_timeout=self.step_timeout,
            output_channels=self.output_channels,
            stream_channels=self.stream_channels,
            unknown_target=self._unknown_target or defaults.unknown_target,
            executor=self._executor,
            migrations=self._migrations,
        )
        builder: StateGraph[Any, Any, Any, Any] = self.builder
        return lower(builder, self.name, settings)

    @property
    def channels(self) -> dict[str, Any]:
        """Every channel by name: fields, the input, control channels, Sends."""
        from stepgraph.graph.channel_view import channel_view

        return channel_view(self)

    @property
    def schema_to_mapper(self) -> dict[Any, Any]:
        """How each schema's objects are built; one function a schema."""
        return {schema: mapper_for(schema) for schema in self.builder.schemas}

    def copy(self, update: dict[str, Any] | None = None) -> Any:
        """A copy with some attributes changed; another saver is read as strictly as this graph was compiled to."""
        if update and "checkpointer" in update:
            saver = _strict(self.builder, update["checkpointer"], self.strict_serde)
            update = {**update, "checkpointer": saver}
        return super().copy(update)

    # ---- adding to a compiled graph

    def attach_node(self, key: str, node: Any) -> None:
        """Add a declared node (None leaves the hidden start node as it is) to this compiled graph alone."""
        if node is not None:
            self._attach(lambda builder: builder.nodes.__setitem__(key, node))

    def attach_edge(self, starts: str | Sequence[str], end: str) -> None:
        """Add an edge, or a waiting edge of several nodes, to this compiled graph alone."""
        if isinstance(starts, str):
            self._attach(lambda builder: builder.edges.add((starts, end)))
        else:
            self._attach(lambda builder: builder.waiting_edges.add((tuple(starts), end)))

    def attach_branch(self, start: str, name: str, branch: Any, *, with_reader: bool = True) -> None:
        """Add a declared conditional edge to this compiled graph alone; it always reads the fresh state."""
        self._attach(lambda builder: builder.branches.setdefault(start, {}).__setitem__(name, branch))

    def _attach(self, change: Callable[[StateGraph[Any, Any, Any, Any]], object]) -> None:
        """Change a copy of the declaration and make the plan anew; graphs compiled beside this one do not see it."""
        twin: StateGraph[Any, Any, Any, Any] = copy(self.builder)
        twin.nodes, twin.edges = dict(twin.nodes), set(twin.edges)
        twin.waiting_edges = set(twin.waiting_edges)
        twin.branches = {source: dict(branches) for source, branches in twin.branches.items()}
        change(twin)
        twin.validate()
        self.builder = twin
        self.plan = self.make_plan()

    def _schema_of(self, what: str) -> Any:
        return self.builder.input_schema if what == "input" else self.builder.output_schema


def compile_graph(
    builder: StateGraph[Any, Any, Any, Any],
    checkpointer: Any,
    *,
    cache: Any,
    store: Any,
    interrupt_before: Any,
    interrupt_after: Any,
    debug: bool,
    name: str | None,
    transformers: Any,
    concurrency: str,
    unknown_target: str | None,
    strict_serde: bool,
    executor: Any,
    migrations: Sequence[Migration],
    check: str | None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Assemble the compiled graph of a validated declaration."""
    name = name or "LangGraph"
    settings = {
        "name": name,
        "checkpointer": _strict(builder, checkpointer, strict_serde),
        "store": store,
        "cache": cache,
        "interrupt_before": interrupt_before,
        "interrupt_after": interrupt_after,
        "debug": debug,
        "context_schema": builder.context_schema,
        "stream_mode": "updates",
        "concurrency": concurrency,
    }
    plan = lower(
        builder,
        name,
        PlanSettings(
            cache=cache,
            unknown_target=unknown_target or defaults.unknown_target,
            executor=executor,
            migrations=tuple(migrations),
        ),
    )
    compiled: CompiledStateGraph[Any, Any, Any, Any] = CompiledStateGraph(
        builder=builder, plan=plan, **settings
    )
    compiled.stream_transformers = transformers
    compiled.strict_serde = strict_serde
    compiled._unknown_target, compiled._executor = unknown_target, executor
    compiled._migrations = tuple(migrations)
    if check is not None:
        tell_findings(compiled, check)
    builder.compiled = True
    return compiled


NEEDS_THE_ROOT = "SG401"
"""The rule that a graph which may still be nested must not be judged by."""


def tell_findings(graph: CompiledStateGraph[Any, Any, Any, Any], check: str) -> None:
    """Refuse, or warn of, what the check of a graph finds; whether a saver is missing shows only where it is nested.

    Raises:
        GraphCheckError: `check` is `error`, and there are errors.
        ValueError: `check` is something else than `error` or `warn`.
    """
    from warnings import warn

    from stepgraph.errors import GraphCheckError
    from stepgraph.warnings import GraphCheckWarning

    if check not in ("error", "warn"):
        raise ValueError(f"check must be 'error' or 'warn'; got {check!r}")
    found = [f for f in graph.check() if f.severity != "hint" and f.code != NEEDS_THE_ROOT]
    errors = [finding for finding in found if finding.severity == "error"]
    if errors and check == "error":
        raise GraphCheckError(graph.name, errors)
    for finding in found:
        warn(str(finding), GraphCheckWarning, stacklevel=4)


def _strict(builder: StateGraph[Any, Any, Any, Any], saver: Any, strict: bool) -> Any:
    """With strict serialization, a saver that restores only the types that schemas name, here and in graphs inside."""
    if saver is None or isinstance(saver, bool):
        return saver
    if strict:
        return saver.as_strict(_schema_classes(builder))
    if os.environ.get("LANGGRAPH_STRICT_MSGPACK", "false").lower() not in ("1", "true", "yes"):
        return saver
    return saver.with_allowlist(_schema_classes(builder)) if hasattr(saver, "with_allowlist") else saver


def _schema_classes(root: StateGraph[Any, Any, Any, Any]) -> set[tuple[str, str]]:
    """Module and name of every class that the schemas of a declaration reach, and those of graphs inside."""
    from stepgraph.schema.reachable import schema_types

    found = {id(root)}
    waiting = [root]
    schemas: list[Any] = []
    while waiting:
        builder = waiting.pop()
        schemas += [*builder.schemas, *([builder.context_schema] if builder.context_schema else [])]
        for spec in builder.nodes.values():
            for inside in find_subgraphs(spec.action):
                inner = getattr(inside, "builder", None)
                if inner is not None and id(inner) not in found:
                    found.add(id(inner))
                    waiting.append(inner)
    return {(cls.__module__, cls.__qualname__) for cls in schema_types(schemas)}
