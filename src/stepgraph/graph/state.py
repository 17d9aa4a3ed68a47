"""Declaring a graph: `StateGraph` records what a person says, `compile()` turns it into something that runs.

Rules of this file: declaring only records specs and refuses what can be refused at once; everything derived is made in
`lower.py`, every structural rule stands in `validate.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Self

from typing_extensions import TypeVar

from stepgraph.graph.handlers import check_handler, handler_schema
from stepgraph.graph.old_names import old_names_of_graph, old_names_of_node
from stepgraph.graph.specs import BranchSpec, NodeSpec
from stepgraph.graph.validate import validate
from stepgraph.pregel.call import bind, is_graph
from stepgraph.pregel.policies import policy_from
from stepgraph.schema.callables import (
    command_targets,
    input_schema_of,
    literal_targets,
    name_of,
    return_hint_of,
)
from stepgraph.schema.fields import FieldSpec, SchemaSpec, parse_schema
from stepgraph.schema.merge import merge_field
from stepgraph.values.names import END, GRAPH_SHAPE, NS_END, NS_SEP, RESERVED, START, TASKS

if TYPE_CHECKING:
    from datetime import timedelta

    from stepgraph.cache.base import BaseCache
    from stepgraph.channels.base import BaseChannel
    from stepgraph.graph.compiled import CompiledStateGraph
    from stepgraph.pregel.checkpointers import Checkpointer
    from stepgraph.store.base import BaseStore
    from stepgraph.values.migrations import Migration
    from stepgraph.values.policies import CachePolicy, RetryPolicy, TimeoutPolicy, TracePolicy

__all__ = ("CompiledStateGraph", "StateGraph")

StateT = TypeVar("StateT", default=Any)
ContextT = TypeVar("ContextT", default=None)
InputT = TypeVar("InputT", default=StateT)
OutputT = TypeVar("OutputT", default=StateT)

_DEFAULTED = ("retry_policy", "cache_policy", "error_handler", "timeout")


class StateGraph(Generic[StateT, ContextT, InputT, OutputT]):
    """A graph of nodes that read and update one state.

    Args:
        state_schema: The state: a TypedDict, dataclass, Pydantic model, or a bare type for a state of one value. A
            field's reducer is the last metadata of its annotation: `Annotated[list, operator.add]`.
        context_schema: The type of what a run is given beside its input (`context=`), for `Runtime.context`.
        input_schema: What `invoke` takes; the state by default.
        output_schema: What `invoke` returns; the state by default.

    Raises:
        ValueError: Two schemas declare a field with different reducers, or a reducer does not take two arguments.

    Example:
        >>> import operator
        >>> from typing import Annotated, TypedDict
        >>> from stepgraph.graph import END, START, StateGraph
        >>> class State(TypedDict):
        ...     items: Annotated[list[str], operator.add]
        >>> def greet(state: State) -> dict:
        ...     return {"items": ["hello"]}
        >>> graph = StateGraph(State).add_node(greet).add_edge(START, "greet").add_edge("greet", END).compile()
        >>> graph.invoke({"items": ["start"]})
        {'items': ['start', 'hello']}
    """

    def __init__(
        self,
        state_schema: type[StateT],
        context_schema: type[ContextT] | None = None,
        *,
        input_schema: type[InputT] | None = None,
        output_schema: type[OutputT] | None = None,
        **kwargs: Any,
    ) -> None:
        input_schema, output_schema, context_schema = old_names_of_graph(
            kwargs, input_schema, output_schema, context_schema
        )
        self.state_schema: Any = state_schema
        self.context_schema: Any = context_schema
        self.input_schema: Any = input_schema or state_schema
        self.output_schema: Any = output_schema or state_schema
        self.nodes: dict[str, NodeSpec] = {}
        self.edges: set[tuple[str, str]] = set()
        self.waiting_edges: set[tuple[tuple[str, ...], str]] = set()
        self.branches: dict[str, dict[str, BranchSpec]] = {}
        self.fields: dict[str, FieldSpec] = {}
        self.compiled = False
        self._schemas: dict[Any, SchemaSpec] = {}
        self._defaults: dict[str, Any] = {}
        self._add_schema(state_schema)
        for schema, role in ((self.input_schema, "input"), (self.output_schema, "output")):
            if schema is not state_schema:
                self._add_schema(schema, role)

    # ---- what others look at

    @property
    def schemas(self) -> dict[Any, dict[str, Any]]:
        """Every schema of the graph, with the channel or managed value of each of its fields."""
        return {
            schema: {name: self.fields[name].channel for name in spec.fields}
            for schema, spec in self._schemas.items()
        }

    @property
    def channels(self) -> dict[str, BaseChannel[Any, Any, Any]]:
        """The channel of each field."""
        return {name: spec.channel for name, spec in self.fields.items() if not spec.is_managed}  # type: ignore[misc]

    @property
    def managed(self) -> dict[str, Any]:
        """The managed value of each field that has one."""
        return {name: spec.channel for name, spec in self.fields.items() if spec.is_managed}

    def _add_schema(self, schema: Any, role: str = "state") -> None:
        if _known(self._schemas, schema):
            return
        spec = parse_schema(schema)
        if role in ("input", "output") and spec.managed:
            names = ", ".join(spec.managed)
            raise ValueError(
                f"Invalid managed channels detected in {_schema_name(schema)}: {names}. Managed values cannot be part of an "
                f"{role} schema: the engine computes them. Leave them out of it."
            )
        for name, field in spec.fields.items():
            if name in (TASKS, GRAPH_SHAPE):
                raise ValueError(
                    f"Field {name!r} of {_schema_name(schema)} has a reserved name. Rename the field."
                )
            known = self.fields.get(name)
            self.fields[name] = field if known is None else merge_field(known, field)
        self._schemas[schema] = spec

    # ---- declaring

    def add_node(
        self,
        node: str | Any,
        action: Any = None,
        *,
        defer: bool = False,
        metadata: dict[str, Any] | None = None,
        input_schema: type[Any] | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy[Any] | None = None,
        error_handler: Any = None,
        destinations: dict[str, str] | tuple[str, ...] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
        trace_policy: TracePolicy | None = None,
        max_concurrency: int | None = None,
        executor: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Add a node.

        Args:
            node: Its name, or the action itself, which then gives the name.
            action: A sync or async function or method, a callable object, a partial, a compiled graph, or an object
                with `invoke`/`ainvoke`. It gets the state (and `config`, `runtime`, `writer`, `store`, `previous` by
                name, where it asks for them) and returns an update.
            defer: Run only when nothing else runs any more.
            metadata: Shown with the node in streams, traces and pictures.
            input_schema: What the node reads; by default its first parameter's annotation, else the state.
            retry_policy: When and how to try again; of several, the first that matches.
            cache_policy: Reuse the result of an earlier run with the same input.
            error_handler: A node that gets the `NodeError` after the last attempt, and may update and go on.
            destinations: Where the node may go by `Command(goto=...)`, for checks and pictures.
            timeout: A limit for one attempt, in seconds.
            trace_policy: What tracing shows of the node's payloads.
            max_concurrency: How many of this node's tasks may run at once in this process.
            executor: A `concurrent.futures.Executor` that the node's function runs on.

        Raises:
            ValueError: The name is taken, reserved, or holds `|` or `:`.
            TypeError: The action cannot be called.
        """
        old_names_of_node(kwargs)
        if not isinstance(node, str):
            action, node = node, _action_name(node)
        if action is None:
            raise RuntimeError(f"Node {node!r} was given no action: add_node(name, function).")
        self._check_name(node)
        if self.compiled:
            _warn_compiled("node")
        spec = NodeSpec(node, action, None)
        spec.is_subgraph = is_graph(action)
        spec.calls = bind(action)
        schema = input_schema
        if schema is None and not spec.is_subgraph:
            schema = input_schema_of(action)
        spec.input_schema = schema or self.state_schema
        spec.defer, spec.metadata = defer, metadata
        spec.ends = destinations or _declared_ends(action)
        spec.retry_policy, spec.cache_policy = retry_policy, cache_policy
        spec.error_handler, spec.timeout, spec.trace_policy = error_handler, _timeout(timeout), trace_policy
        spec.max_concurrency, spec.executor = max_concurrency, executor
        self._add_schema(spec.input_schema, "node")
        self._check_policies(f"node {node!r}", error_handler, retry_policy, cache_policy, max_concurrency)
        self.nodes[node] = spec
        return self

    def _check_policies(
        self, where: str, error_handler: Any, retry: Any, cache: Any, max_concurrency: int | None = None
    ) -> None:
        policy_from(retry=retry, cache=cache, max_concurrency=max_concurrency)
        if error_handler is not None:
            check_handler(error_handler, where)
            schema = handler_schema(error_handler)
            if schema is not None:
                self._add_schema(schema, "node")

    def _check_name(self, name: str) -> None:
        if name in self.nodes:
            raise ValueError(f"Node `{name}` already present.")
        if name in (START, END) or name in RESERVED:
            raise ValueError(f"Node `{name}` is reserved.")
        for character in (NS_SEP, NS_END):
            if character in name:
                raise ValueError(
                    f"'{character}' is a reserved character and is not allowed in the node names. It separates the levels of "
                    f"a namespace: rename node {name!r}."
                )

    def add_edge(self, start_key: str | list[str], end_key: str) -> Self:
        """After `start_key`, run `end_key`; after a list of nodes, run it once all of them have run.

        Raises:
            ValueError: `END` is used as a start or `START` as an end, or a node of a list is not there yet.
        """
        if self.compiled:
            _warn_compiled("edge")
        if isinstance(start_key, str):
            if start_key == END:
                raise ValueError("END cannot be a start node")
            if end_key == START:
                raise ValueError("START cannot be an end node")
            self.edges.add((start_key, end_key))
            return self
        for start in start_key:
            if start == END:
                raise ValueError("END cannot be a start node")
            if start not in self.nodes:
                raise ValueError(f"Need to add_node `{start}` first")
        if end_key == START:
            raise ValueError("START cannot be an end node")
        if end_key != END and end_key not in self.nodes:
            raise ValueError(f"Need to add_node `{end_key}` first")
        self.waiting_edges.add((tuple(start_key), end_key))
        return self

    def add_conditional_edges(
        self,
        source: str,
        path: Callable[..., Any] | Any,
        path_map: dict[Hashable, str] | list[str] | None = None,
    ) -> Self:
        """After `source`, run what `path` names.

        Args:
            source: The node, or `START`.
            path: Gets the state as it is after the node's own writes; answers a node's name, a list of names, `Send`s,
                or keys of `path_map`.
            path_map: Label to node, or a list of nodes; without it the `Literal` of `path`'s return annotation.

        Raises:
            ValueError: The source has a branch of this name already, or is `END`.
        """
        if self.compiled:
            _warn_compiled("edge")
        if source == END:
            raise ValueError(
                "END cannot be a start node: a conditional edge needs a node or START as its source"
            )
        name = _action_name(path) if not isinstance(path, str) else path
        bind_check = getattr(path, "invoke", None) or getattr(path, "ainvoke", None)
        if not callable(path) and bind_check is None:
            raise TypeError(f"path must be a function or an object with invoke or ainvoke; got {path!r}")
        known = self.branches.setdefault(source, {})
        if name in known:
            if name not in ("<lambda>", "condition"):
                raise ValueError(f"Branch with name `{name}` already exists for node `{source}`")
            name = f"{name}_{len(known) + 1}"
        known[name] = BranchSpec(name, path, _path_ends(path, path_map), input_schema_of(path))
        if known[name].input_schema is not None:
            self._add_schema(known[name].input_schema, "branch")
        return self

    def add_sequence(self, nodes: Sequence[Any]) -> Self:
        """Add nodes that run one after the other; each is an action or a pair of name and action.

        Raises:
            ValueError: There is none, or a name comes twice.
        """
        if not nodes:
            raise ValueError("Sequence requires at least one node.")
        previous: str | None = None
        for node in nodes:
            name, action = node if isinstance(node, tuple) and len(node) == 2 else (_action_name(node), node)
            if name in self.nodes:
                raise ValueError(
                    f"Node names must be unique: node with the name '{name}' already exists. If you need to use two different "
                    "runnables/callables with the same name (for example, using `lambda`), please provide them as tuples "
                    "(name, runnable/callable)."
                )
            self.add_node(name, action)
            if previous is not None:
                self.add_edge(previous, name)
            previous = name
        return self

    def set_entry_point(self, key: str) -> Self:
        """The same as an edge from `START`."""
        return self.add_edge(START, key)

    def set_finish_point(self, key: str) -> Self:
        """The same as an edge to `END`."""
        return self.add_edge(key, END)

    def set_conditional_entry_point(
        self, path: Callable[..., Any] | Any, path_map: dict[Hashable, str] | list[str] | None = None
    ) -> Self:
        """The same as conditional edges from `START`."""
        return self.add_conditional_edges(START, path, path_map)

    def set_node_defaults(
        self,
        *,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy[Any] | None = None,
        error_handler: Any = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
    ) -> Self:
        """Policies for every node that has none of its own, whether it was added before or is added after."""
        self._check_policies("every node (set_node_defaults)", error_handler, retry_policy, cache_policy)
        given = (retry_policy, cache_policy, error_handler, _timeout(timeout))
        self._defaults.update({name: value for name, value in zip(_DEFAULTED, given) if value is not None})
        return self

    def policy_of(self, spec: NodeSpec, name: str) -> Any:
        """A node's own policy, else the graph's default; an error handler is neither cached nor handled itself."""
        own = getattr(spec, name)
        if own is not None or (spec.is_error_handler and name in ("cache_policy", "error_handler")):
            return own
        return self._defaults.get(name)

    # ---- compiling

    def validate(self, interrupt: Sequence[str] | None = None) -> Self:
        """Check the declaration.

        Raises:
            ValueError: An edge, branch, destination or interrupt names no node, or there is no entry point.
        """
        validate(self, interrupt or ())  # type: ignore[arg-type]
        return self

    def compile(
        self,
        checkpointer: Checkpointer = None,
        *,
        cache: BaseCache[Any] | None = None,
        store: BaseStore | None = None,
        interrupt_before: Any = None,
        interrupt_after: Any = None,
        debug: bool = False,
        name: str | None = None,
        transformers: Sequence[Callable[[tuple[str, ...]], Any]] | None = None,
        concurrency: str = "detect",
        unknown_target: str | None = None,
        strict_serde: bool = False,
        executor: Any = None,
        migrations: Sequence[Migration] = (),
        check: Literal["error", "warn"] | None = None,
    ) -> CompiledStateGraph[StateT, ContextT, InputT, OutputT]:
        """Check the declaration and make it runnable. No user code runs here.

        Args:
            checkpointer: A saver, which makes threads that survive and can be paused; `None`: inherit the parent's when
                nested; `True`: inherit, and keep state over calls; `False`: keep nothing.
            cache: Where results of nodes with a `cache_policy` are kept.
            store: Memory across threads, injected into nodes.
            interrupt_before: Names of nodes to stop before, or `"*"`.
            interrupt_after: Names of nodes to stop after, or `"*"`.
            debug: Check the machine's invariants after every step, and print events.
            name: The graph's name, for events, pictures and as a node; `"LangGraph"` by default.
            transformers: Factories of stream transformers for `stream_events(version="v3")`.
            concurrency: What happens when two runs use one thread. `"detect"`: the one that finds the thread moved on by the
                other stops with `ThreadBusyError`; `"reject"`: besides, a second run does not start, in this process or another;
                `"allow"`: their steps mix.
            unknown_target: `"error"` (the default) or `"warn"`: what a goto to an unknown node does.
            strict_serde: Load only types that the graph's schemas name.
            executor: Where the functions of all nodes run, unless a node says otherwise.
            migrations: What became of nodes and fields since threads were stored that may come back, in order: see
                `stepgraph.migrations`.
            check: `"error"`: look for mistakes (see `check()`) and refuse errors, warn of warnings; `"warn"`: warn of both.

        Raises:
            GraphCheckError: With `check="error"`: the check found errors.
            ValueError: The declaration is broken, or a migration leads to nothing that the graph has.
            TypeError: `checkpointer` is none of the four forms.
        """
        from stepgraph.graph.compiled import compile_graph

        self.validate([*_names(interrupt_before), *_names(interrupt_after)])
        return compile_graph(
            self,
            checkpointer,
            cache=cache,
            store=store,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            debug=debug,
            name=name,
            transformers=transformers,
            concurrency=concurrency,
            unknown_target=unknown_target,
            strict_serde=strict_serde,
            executor=executor,
            migrations=migrations,
            check=check,
        )


def _names(nodes: Any) -> Sequence[str]:
    return () if nodes is None or nodes == "*" else nodes


def _action_name(action: Any) -> str:
    return name_of(action)


def _declared_ends(action: Any) -> tuple[str, ...]:
    if is_graph(action):
        return ()
    hint = return_hint_of(action)
    return () if hint is None else tuple(command_targets(hint))


def _path_ends(path: Any, path_map: Any) -> dict[Any, str] | None:
    if isinstance(path_map, Mapping):
        return dict(path_map)
    if path_map is not None:
        return {name: name for name in path_map}
    targets = literal_targets(return_hint_of(path))
    return {name: name for name in targets} if targets else None


def _known(schemas: dict[Any, Any], schema: Any) -> bool:
    try:
        return schema in schemas
    except TypeError:
        return False


def _timeout(timeout: Any) -> Any:
    if timeout is None:
        return None
    from stepgraph.values.policies import TimeoutPolicy

    return TimeoutPolicy.coerce(timeout)


def _schema_name(schema: Any) -> str:
    return getattr(schema, "__name__", repr(schema))


def _warn_compiled(what: str) -> None:
    import warnings

    warnings.warn(
        f"Adding a {what} to a graph that has already been compiled: graphs compiled before do not see it. Compile again.",
        UserWarning,
        stacklevel=3,
    )


def __getattr__(name: str) -> Any:
    if name == "CompiledStateGraph":
        from stepgraph.graph.compiled import CompiledStateGraph

        return CompiledStateGraph
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
