"""`Pregel`: the face of a compiled graph. It opens runs, hands them to a driver, and shapes what comes out.

Rules of this file: nothing is decided about a run here. Synchronous and asynchronous methods differ in the driver and
trampoline that they call, and in nothing else.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from stepgraph.pregel import bridges
from stepgraph.pregel.batching import Batching
from stepgraph.pregel.checkpointers import Checkpointer, ensure_valid_checkpointer
from stepgraph.pregel.clearing import Clearing
from stepgraph.pregel.describing import Describing
from stepgraph.pregel.drivers import sync
from stepgraph.pregel.drivers.clock import CLOCK
from stepgraph.pregel.drivers.turns import atake_turn, take_turn
from stepgraph.pregel.events import Eventful
from stepgraph.pregel.inspecting import Inspecting
from stepgraph.pregel.opening import PLAIN, Options, modes_of, open_node, open_run, timestamp
from stepgraph.pregel.programs.begin import begin_child, begin_root, begin_without_saver
from stepgraph.pregel.programs.trampoline import arun_program, run_program
from stepgraph.pregel.settings import Planned, planned_names
from stepgraph.pregel.subgraphs import names_tasks
from stepgraph.pregel.task import current_task
from stepgraph.stream.shape import as_output, shaper
from stepgraph.stream.sink import Sink

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.plan import Plan
    from stepgraph.pregel.task import Task

StateT = TypeVar("StateT", default=Any)
ContextT = TypeVar("ContextT", default=None)
InputT = TypeVar("InputT", default=StateT)
OutputT = TypeVar("OutputT", default=StateT)

Config = Mapping[str, Any]


class Pregel(
    Inspecting, Describing, Batching, Clearing, Eventful, Generic[StateT, ContextT, InputT, OutputT]
):
    """A graph that runs: in supersteps, with or without a saver, alone or inside another graph.

    Usually made by `StateGraph.compile()`. Made directly it takes nodes that read and write channels; see
    `NodeBuilder`.

    Args:
        nodes: Name to node.
        channels: Name to channel or managed value.
        input_channels: The channel, or channels, that the input is written to.
        output_channels: What a run returns: one channel's value, or a dict of several.
        stream_channels: What streams show; every channel by default.
        checkpointer: See `StateGraph.compile`.

    Raises:
        ValueError: A node reads or subscribes to a channel that does not exist, or a name is reserved.
    """

    plan: Plan
    clock = CLOCK
    """The time and the chance that retries use; a test may give a graph another."""
    name: str = "LangGraph"
    checkpointer: Checkpointer = None
    store: Any = None
    cache = Planned()
    config: Config | None = None
    context_schema: Any = None
    stream_mode: Any = "values"
    stream_eager: bool = False
    stream_channels = Planned()
    step_timeout = Planned()
    retry_policy = Planned(())
    cache_policy = Planned()
    output_channels = Planned()
    stream_transformers: Any = None
    watcher: Any = None
    """The `Watcher` of runs that begin at this graph, or on the class, at any; see `pregel/observing.py`."""
    _declared_nodes: dict[str, Any]
    _declared_channels: dict[str, Any]
    input_channels: Any

    def __init__(
        self,
        *,
        nodes: dict[str, Any],
        channels: dict[str, Any] | None = None,
        auto_validate: bool = True,
        stream_mode: Any = "values",
        stream_eager: bool = False,
        output_channels: str | Sequence[str],
        stream_channels: str | Sequence[str] | None = None,
        interrupt_after_nodes: Any = (),
        interrupt_before_nodes: Any = (),
        input_channels: str | Sequence[str],
        step_timeout: float | None = None,
        debug: bool | None = None,
        checkpointer: Checkpointer = None,
        store: Any = None,
        cache: Any = None,
        retry_policy: Any = (),
        cache_policy: Any = None,
        context_schema: type[ContextT] | None = None,
        config: Config | None = None,
        trigger_to_nodes: Mapping[str, Sequence[str]] | None = None,
        node_error_handler_map: Mapping[str, str] | None = None,
        name: str = "LangGraph",
        stream_transformers: Sequence[Callable[[tuple[str, ...]], Any]] | None = None,
        concurrency: str = "detect",
        **deprecated_kwargs: Any,
    ) -> None:
        self._settle(
            name=name,
            checkpointer=checkpointer,
            store=store,
            cache=cache,
            interrupt_before=interrupt_before_nodes,
            interrupt_after=interrupt_after_nodes,
            debug=bool(debug),
            context_schema=context_schema,
            stream_mode=stream_mode,
            concurrency=concurrency,
        )
        self.config = config or deprecated_kwargs.get("config_type")
        self.stream_eager = stream_eager
        self.step_timeout = step_timeout
        self.retry_policy = retry_policy
        self.cache_policy = cache_policy
        self.stream_transformers = stream_transformers
        self._declared_nodes = dict(nodes)
        self._declared_channels = dict(channels or {})
        self.input_channels = input_channels
        self.output_channels = output_channels
        self.stream_channels = stream_channels
        if auto_validate:
            self.plan = self.make_plan()

    def make_plan(self) -> Plan:
        """The plan of the nodes and channels that were given, as the settings have them now."""
        from stepgraph.pregel.lowlevel import plan_of_nodes

        return plan_of_nodes(self)

    def _settle(
        self,
        *,
        name: str,
        checkpointer: Checkpointer,
        store: Any,
        cache: Any,
        interrupt_before: Any,
        interrupt_after: Any,
        debug: bool,
        context_schema: Any,
        stream_mode: Any,
        concurrency: str,
    ) -> None:
        """The settings that every compiled graph has."""
        if concurrency not in ("detect", "reject", "allow"):
            raise ValueError(f"concurrency must be 'detect', 'reject' or 'allow'; got {concurrency!r}")
        self.name = name
        self.checkpointer = ensure_valid_checkpointer(checkpointer)
        self.store = store
        self.cache = cache
        self.interrupt_before_nodes = interrupt_before or ()
        self.interrupt_after_nodes = interrupt_after or ()
        self.debug = debug
        self.context_schema = context_schema
        self.stream_mode = stream_mode
        self.concurrency = concurrency

    @property
    def channels(self) -> dict[str, Any]:
        """Name to channel or managed value, as they were declared."""
        return self._declared_channels

    # ---- running, synchronously

    def invoke(
        self,
        input: Any,
        config: Config | None = None,
        *,
        context: ContextT | None = None,
        stream_mode: Any = "values",
        print_mode: Any = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Any = None,
        interrupt_after: Any = None,
        durability: str | None = None,
        control: Any = None,
        version: str = "v1",
        **kwargs: Any,
    ) -> Any:
        """Run the graph to its end, or to where it pauses.

        Args:
            input: The input; None goes on from the last checkpoint, a `Command` answers a pause or jumps.
            config: Thread, tags, limits and the like.
            context: What nodes find in `Runtime.context`.
            stream_mode: `"values"` answers the output; any other mode a list of its parts.
            print_mode: Modes to print while it runs.
            output_keys: Channels to answer in place of the output schema's.
            interrupt_before: Nodes to stop before, in place of the compiled ones; `"*"` for all.
            interrupt_after: Nodes to stop after.
            durability: `"sync"` stores each step before the next begins, `"async"` while it runs, `"exit"` at the end.
            control: A `RunControl` to ask for an orderly stop.
            version: `"v2"` answers a `GraphOutput`.
            kwargs: `debug=True` prints updates and values while it runs.

        Returns:
            The output schema's view of the state; with `__interrupt__` where it pauses; None if nothing was written.

        Raises:
            GraphRecursionError: The limit of supersteps was reached.
            InvalidUpdateError: A node or the input wrote what the state cannot take.
            EmptyInputError: None was given and there is nothing to go on from.
            GraphDrained: The control asked for a stop; the thread can go on later.
            Exception: Whatever a node raised.
        """
        debug = kwargs.get("debug", self.debug)
        told = print_mode or debug or type(self).stream is not _OWN[0]
        if stream_mode == "values" and version == "v1" and not told:
            options = PLAIN
            if not (
                context is output_keys is interrupt_before is interrupt_after is durability is control is None
            ):
                options = self._options(
                    context, output_keys, interrupt_before, interrupt_after, durability, control
                )
            machine, checkpoint_id = open_run(self, config, options)
            return sync.run(machine, partial(self._begin, machine, input, checkpoint_id))
        parts = self.stream(
            input,
            config,
            context=context,
            stream_mode=["values", "updates"] if stream_mode == "values" else stream_mode,
            print_mode=print_mode,
            output_keys=self._output_channels()
            if output_keys is None and stream_mode == "values"
            else output_keys,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            durability=durability,
            control=control,
            debug=debug,
            version=version if stream_mode != "values" else "v1",
        )
        return as_output(self, stream_mode, version, list(parts))

    def stream(
        self,
        input: Any,
        config: Config | None = None,
        *,
        context: ContextT | None = None,
        stream_mode: Any = None,
        print_mode: Any = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Any = None,
        interrupt_after: Any = None,
        durability: str | None = None,
        control: Any = None,
        subgraphs: bool = False,
        debug: bool | None = None,
        version: str = "v1",
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Run the graph and yield what happens while it happens.

        Args:
            input: See `invoke`.
            config: See `invoke`.
            context: See `invoke`.
            stream_mode: One of `values`, `updates`, `custom`, `messages`, `checkpoints`, `tasks`, `debug`, or a list.
            print_mode: Modes to print besides.
            output_keys: Channels to show.
            interrupt_before: See `invoke`.
            interrupt_after: See `invoke`.
            durability: See `invoke`.
            control: See `invoke`.
            subgraphs: Show what nested graphs do, each part with its namespace.
            debug: Print updates and values besides.
            version: `"v2"` yields dicts `{type, ns, data}`.

        Yields:
            v1: the part; `(mode, part)` for a list of modes; with `subgraphs` the namespace before it.

        Raises:
            See `invoke`. Closing the iterator early stops the run and keeps what was finished.
        """
        options = self._options(context, output_keys, interrupt_before, interrupt_after, durability, control)
        modes, shape, show = self._stream_form(stream_mode, print_mode, debug, subgraphs, version)
        buffer: deque[Any] = deque()
        live = None
        put: Callable[[Any], None] = buffer.append
        if self._is_live(modes, subgraphs):
            from queue import SimpleQueue

            live = SimpleQueue[Any]()
            put = partial(_put_live, buffer.append, live.put)
        options.sink = Sink(modes, put, timestamp)
        options.sink.message_events = kwargs.get("message_events", False)
        options.subgraphs = subgraphs
        if options.output_channels is None:
            options.output_channels = self._stream_channels()
        machine, checkpoint_id = open_run(self, config, options)
        for event in sync.stream_run(
            machine, partial(self._begin, machine, input, checkpoint_id), buffer, live
        ):
            if show is not None:
                show(event)
            part = shape(event)
            if part is not None:
                yield part

    def _begin(self, machine: Machine, input: Any, checkpoint_id: str | None) -> Sequence[Task]:
        observer = machine.scope.observer
        if observer is not None:
            observer.run_begins(machine, input)
        tasks = self._first_tasks(machine, input, checkpoint_id)
        if observer is not None and machine.restored:
            observer.run_resumes(machine)
        return tasks

    def _first_tasks(self, machine: Machine, input: Any, checkpoint_id: str | None) -> Sequence[Task]:
        scope = machine.scope
        if machine.ledger is None:
            return begin_without_saver(machine, input)
        if machine.level.persistent and machine.parent is not None:
            take_turn(machine.parent)
            machine.recorder.settle()
        program = (
            begin_root(machine, input, checkpoint_id)
            if machine.parent is None
            else begin_child(machine, input)
        )
        return run_program(program, scope.saver, scope.loop_host)

    def run_nested(self, task: Task) -> Any:
        """Run as the node that `task` executes; called by the engine."""
        machine = open_node(self, task)
        return sync.run(machine, partial(self._begin, machine, task.input, None))

    # ---- running, asynchronously

    async def ainvoke(
        self,
        input: Any,
        config: Config | None = None,
        *,
        context: ContextT | None = None,
        stream_mode: Any = "values",
        print_mode: Any = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Any = None,
        interrupt_after: Any = None,
        durability: str | None = None,
        control: Any = None,
        version: str = "v1",
        **kwargs: Any,
    ) -> Any:
        """The same as `invoke`, awaited."""
        from stepgraph.pregel.drivers import aio

        debug = kwargs.get("debug", self.debug)
        told = print_mode or debug or type(self).astream is not _OWN[1]
        if stream_mode == "values" and version == "v1" and not told:
            options = self._options(
                context, output_keys, interrupt_before, interrupt_after, durability, control
            )
            machine, checkpoint_id = open_run(self, config, options, aio.current_loop())
            aio.lend_loop(machine)
            return await aio.arun(machine, partial(self._abegin, machine, input, checkpoint_id))
        parts = self.astream(
            input,
            config,
            context=context,
            stream_mode=["values", "updates"] if stream_mode == "values" else stream_mode,
            print_mode=print_mode,
            output_keys=self._output_channels()
            if output_keys is None and stream_mode == "values"
            else output_keys,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            durability=durability,
            control=control,
            debug=debug,
            version=version if stream_mode != "values" else "v1",
        )
        return as_output(self, stream_mode, version, [part async for part in parts])

    async def astream(
        self,
        input: Any,
        config: Config | None = None,
        *,
        context: ContextT | None = None,
        stream_mode: Any = None,
        print_mode: Any = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Any = None,
        interrupt_after: Any = None,
        durability: str | None = None,
        control: Any = None,
        subgraphs: bool = False,
        debug: bool | None = None,
        version: str = "v1",
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """The same as `stream`, asynchronously."""
        from stepgraph.pregel.drivers import aio

        options = self._options(context, output_keys, interrupt_before, interrupt_after, durability, control)
        modes, shape, show = self._stream_form(stream_mode, print_mode, debug, subgraphs, version)
        buffer: deque[Any] = deque()
        live = None
        put: Callable[[Any], None] = buffer.append
        if self._is_live(modes, subgraphs):
            live = aio.Live()
            put = partial(_put_awake, buffer.append, live.notify)
        options.sink = Sink(modes, put, timestamp)
        options.sink.message_events = kwargs.get("message_events", False)
        options.subgraphs = subgraphs
        if options.output_channels is None:
            options.output_channels = self._stream_channels()
        machine, checkpoint_id = open_run(self, config, options, aio.current_loop())
        aio.lend_loop(machine)
        events = aio.astream_run(machine, partial(self._abegin, machine, input, checkpoint_id), buffer, live)
        try:
            async for event in events:
                if show is not None:
                    show(event)
                part = shape(event)
                if part is not None:
                    yield part
        finally:
            await events.aclose()  # type: ignore[attr-defined]

    async def _abegin(self, machine: Machine, input: Any, checkpoint_id: str | None) -> Sequence[Task]:
        observer = machine.scope.observer
        if observer is not None:
            await observer.arun_begins(machine, input)
        if machine.ledger is None:
            return begin_without_saver(machine, input)
        if machine.level.persistent and machine.parent is not None:
            await atake_turn(machine.parent)
            await machine.recorder.asettle()
        program = (
            begin_root(machine, input, checkpoint_id)
            if machine.parent is None
            else begin_child(machine, input)
        )
        tasks = await arun_program(program, machine.scope.saver)
        if observer is not None and machine.restored:
            await observer.arun_resumes(machine)
        return tasks

    async def arun_nested(self, task: Task) -> Any:
        """Run as the node that `task` executes, in an asynchronous run; called by the engine."""
        from stepgraph.pregel.drivers import aio

        machine = open_node(self, task)
        return await aio.arun(machine, partial(self._abegin, machine, task.input, None))

    # ---- what the two share

    def _options(
        self, context: Any, output_keys: Any, before: Any, after: Any, durability: str | None, control: Any
    ) -> Options:
        if output_keys is not None:
            self._check_outputs((output_keys,) if isinstance(output_keys, str) else output_keys)
        options = Options()
        options.context, options.output_channels = context, output_keys
        options.interrupt_before, options.interrupt_after = before, after
        options.durability, options.control = durability, control
        return options

    def _check_outputs(self, names: Sequence[str]) -> None:
        if self.plan.fieldset.issuperset(names):
            return
        unknown = [name for name in names if name not in self.channels]
        if unknown:
            raise ValueError(
                f"output_keys names {', '.join(map(repr, unknown))}, which graph {self.name!r} has no channel for. Its channels are: "
                f"{', '.join(map(repr, self.plan.fields))}."
            )

    def _stream_form(
        self, stream_mode: Any, print_mode: Any, debug: bool | None, subgraphs: bool, version: str
    ) -> tuple[frozenset[str], Callable[[Any], Any], Callable[[Any], None] | None]:
        """The modes to produce, how parts are shaped, and what is printed."""
        default = "values" if stream_mode is None and current_task() is not None else self.stream_mode
        modes, single = modes_of(stream_mode, default)
        if version not in ("v1", "v2"):
            raise ValueError(f"version must be 'v1' or 'v2'; got {version!r}")
        printed = frozenset((print_mode,) if isinstance(print_mode, str) else print_mode)
        if debug or (debug is None and self.debug):
            printed |= {"updates", "values"}
        shape = shaper(self, modes, single, subgraphs, version, bool(printed))
        if not printed:
            return modes, shape, None
        from stepgraph.stream.printing import printer

        return modes | printed, shape, printer(printed, subgraphs)

    def _is_live(self, modes: frozenset[str], subgraphs: bool) -> bool:
        """Whether events can come while a lone task runs, so that it must not run on the consumer's thread."""
        if subgraphs or "custom" in modes or "messages" in modes:
            return True
        if "stepgraph.pregel.calls" not in sys.modules or modes.isdisjoint(_MODES_OF_TASKS):
            return False
        if self._calls_tasks is None:
            self._calls_tasks = any(names_tasks(node.action) for node in self.plan.nodes.values())
        return self._calls_tasks

    _calls_tasks: bool | None = None

    def _output_channels(self) -> Any:
        return self.plan.output_channels

    def _stream_channels(self) -> Any:
        return self.plan.stream_channels

    def check_context(self, context: Any) -> Any:
        """The run's context, made into the context schema where a dict was given.

        Raises:
            TypeError: It is neither an instance of the context schema nor a dict of its fields.
        """
        schema = self.context_schema
        if context is None or schema is None:
            return context
        from stepgraph.schema.context import as_context

        return as_context(schema, context, self.name)

    def with_config(self, config: Config | None = None, **kwargs: Any) -> Any:
        """A copy whose runs start from this config."""
        from stepgraph.pregel.config import merge_configs

        return self.copy({"config": merge_configs(self.config, config, kwargs)})

    def copy(self, update: dict[str, Any] | None = None) -> Any:
        """A copy with some attributes changed."""
        twin = self.__class__.__new__(self.__class__)
        twin.__dict__.update({**self.__dict__, **(update or {})})
        if update and "plan" in twin.__dict__ and not planned_names(type(self)).isdisjoint(update):
            twin.plan = twin.make_plan()
        return twin

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """The graph's name, as tracing and pictures show it."""
        own = name or self.name
        return f"{own}{suffix}" if suffix else own

    def validate(self) -> Any:
        """Check a graph that was made with `auto_validate=False`, and make it runnable."""
        if "_declared_nodes" in self.__dict__:
            self.plan = self.make_plan()
        return self

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, nodes={[n for n in self.plan.nodes if n != '__start__']})"
        )


_MODES_OF_TASKS = frozenset(("updates", "tasks", "debug"))
"""The modes in which `@task` calls show."""


def _put_live(append: Callable[[Any], None], wake: Callable[[Any], None], event: Any) -> None:
    append(event)
    wake(None)


def _put_awake(append: Callable[[Any], None], notify: Callable[[], None], event: Any) -> None:
    append(event)
    notify()


bridges.adopt(Pregel)

_OWN = Pregel.stream, Pregel.astream
"""Who overrides or wraps one of these (instrumentation does) sees what `invoke` and `ainvoke` run, too."""
