"""Opening a run: from a call's arguments to a machine that is ready to begin.

Three ways in: a root run; a compiled graph that is a node of another; a graph that a node's code calls. The last is
told from a root by the task that the calling code belongs to, unless the call names a `thread_id` of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.base import get_checkpoint_metadata
from stepgraph.checkpoint.ids import next_checkpoint_id
from stepgraph.pregel import bridges, register
from stepgraph.pregel.config import merge_configs
from stepgraph.pregel.drivers.recorder import recorder_for, speaks_sync, version_source
from stepgraph.pregel.fitting import carry_shape, inherit
from stepgraph.pregel.ledger import Ledger
from stepgraph.pregel.machine import Machine
from stepgraph.pregel.scope import NO_CONFIG, Level, Scope
from stepgraph.pregel.task import Task, current_task
from stepgraph.stream.sink import Sink, joined
from stepgraph.values.names import CONFIG_KEY_CHECKPOINTER, CONFIG_KEY_DURABILITY, CONFIG_KEY_SCRATCHPAD

if TYPE_CHECKING:
    from stepgraph.pregel.pregel import Pregel

DEFAULT_LIMIT = int(os.environ.get("LANGGRAPH_DEFAULT_RECURSION_LIMIT", "10007"))
CHECK_INVARIANTS = os.environ.get("STEPGRAPH_CHECK_INVARIANTS", "") not in ("", "0")
"""Whether every run checks the engine's invariants after each superstep, as `debug=True` does."""
_DURABILITIES = ("async", "sync", "exit")


class Options:
    """The arguments of one call that change how it runs; all of them may be left at their defaults."""

    __slots__ = (
        "context",
        "control",
        "durability",
        "interrupt_after",
        "interrupt_before",
        "output_channels",
        "sink",
        "subgraphs",
    )

    def __init__(self) -> None:
        self.context: Any = None
        self.interrupt_before: Any = None
        self.interrupt_after: Any = None
        self.durability: str | None = None
        self.control: Any = None
        self.output_channels: Any = None
        self.sink: Sink | None = None
        self.subgraphs = False


PLAIN = Options()


def timestamp() -> str:
    """Now, as ISO 8601 in UTC."""
    from datetime import datetime

    return datetime.now(UTC).isoformat()


def calling_task(config: Mapping[str, Any] | None) -> Task | None:
    """The task that a call belongs to; None if it starts a run of its own."""
    if config:
        configurable = config.get("configurable")
        if configurable:
            carried = configurable.get(CONFIG_KEY_SCRATCHPAD)
            if isinstance(carried, Task):
                return carried
            if "thread_id" in configurable:
                return None
    return current_task()


def open_run(
    graph: Pregel[Any, Any, Any, Any], config: Mapping[str, Any] | None, options: Options, loop: Any = None
) -> tuple[Machine, str | None]:
    """The machine of a call, and for a root the checkpoint id that its config names."""
    parent = calling_task(config)
    if parent is not None:
        return open_called(graph, parent, config, options), None
    return open_root(graph, config, options, loop)


def open_root(
    graph: Pregel[Any, Any, Any, Any], config: Mapping[str, Any] | None, options: Options, loop: Any
) -> tuple[Machine, str | None]:
    """A run of its own, at namespace ''."""
    if graph.config:
        config = merge_configs(graph.config, config)
    if bridges.active is not None:
        config = bridges.active.root_config(config)
    scope = Scope(config or NO_CONFIG, next_checkpoint_id)
    scope.stamp = timestamp
    scope.started_by = current_task()
    configurable: Mapping[str, Any] = scope.config.get("configurable") or NO_CONFIG
    limit = scope.config.get("recursion_limit")
    if limit is None:
        limit = DEFAULT_LIMIT
    elif limit < 1:
        raise ValueError(f"recursion_limit must be at least 1, got {limit}")
    scope.limit = limit
    most = scope.config.get("max_concurrency")
    if most is not None and (not isinstance(most, int) or most < 1):
        raise ValueError(f"max_concurrency must be a whole number of at least 1, got {most!r}")
    scope.max_concurrency = most
    scope.run_id = scope.config.get("run_id")
    scope.context = graph.check_context(options.context)
    scope.store = graph.store
    scope.clock = graph.clock
    scope.control = options.control
    scope.subgraphs = options.subgraphs
    scope.debug = graph.debug or CHECK_INVARIANTS
    scope.thread_id = configurable.get("thread_id")
    checkpoint_id = None
    saver = graph.checkpointer
    if configurable and CONFIG_KEY_CHECKPOINTER in configurable and saver is not False:
        saver = configurable[CONFIG_KEY_CHECKPOINTER]
    if saver is True:
        raise RuntimeError("checkpointer=True cannot be used for root graphs.")
    level = Level("")
    _stops(graph, level, options)
    level.sink = options.sink
    level.output_channels = options.output_channels
    if saver is not None and saver is not False:
        checkpoint_id = _with_saver(graph, scope, saver, configurable, options, loop)
    if scope.max_concurrency:
        _bound(scope, scope.max_concurrency)
    machine = Machine(graph.plan, scope, level)
    machine.context, machine.store = scope.context, scope.store
    machine.child_sink = options.sink if options.subgraphs else None
    if scope.saver is not None:
        attach_ledger(machine)
    if graph.watcher is not None:
        scope.observer = graph.watcher.observer_of(machine) or scope.observer
    if bridges.active is None and scope.config.get("callbacks"):
        bridges.load()
    if bridges.active is not None:
        bridges.active.observe(machine, options)
    return machine, checkpoint_id


def _bound(scope: Scope, max_concurrency: int) -> None:
    """Let no more tasks of the run be at work at once; with an observer every task takes the way that counts them."""
    from stepgraph.pregel.drivers.slots import Slots
    from stepgraph.pregel.observing import UNSEEN

    scope.slots = Slots(max_concurrency)
    if scope.observer is None:
        scope.observer = UNSEEN


def _with_saver(
    graph: Pregel[Any, Any, Any, Any],
    scope: Scope,
    saver: Any,
    configurable: Mapping[str, Any],
    options: Options,
    loop: Any,
) -> str | None:
    if scope.thread_id is None:
        raise ValueError(
            "Checkpointer requires one or more of the following 'configurable' keys: thread_id, checkpoint_ns, checkpoint_id. "
            f"Graph {graph.name!r} stores its steps: pass {{'configurable': {{'thread_id': '...'}}}} as the config."
        )
    _refuse_own_thread(scope, saver)
    scope.saver = saver
    scope.concurrency = graph.concurrency
    scope.metadata = dict(get_checkpoint_metadata(scope.config, {}))
    named = scope.metadata.get("run_id") if scope.run_id is None else scope.run_id
    scope.writer_id = os.urandom(5).hex() if named is None else str(named)
    if scope.concurrency == "reject":
        register.enter(scope)
    if scope.concurrency == "reject" or getattr(saver, "ttl", None) is not None:
        scope.hold = register.hold_of(scope)
    durability = options.durability or configurable.get(CONFIG_KEY_DURABILITY) or "async"
    if durability not in _DURABILITIES:
        raise ValueError(f"durability must be one of {', '.join(_DURABILITIES)}; got {durability!r}")
    scope.durability = durability
    if loop is None and not speaks_sync(saver):
        from stepgraph.pregel.drivers.loop_host import LoopHost

        scope.loop_host = LoopHost()
        loop = scope.loop_host.loop()
    scope.recorder = recorder_for(saver, scope.thread_id, durability, loop)
    scope.recorder.run_id = scope.run_id
    checkpoint_id = configurable.get("checkpoint_id")
    checkpoint_map = configurable.get("checkpoint_map")
    if configurable.get("checkpoint_ns"):
        checkpoint_id = None
        if checkpoint_map:
            scope.checkpoint_map = {ns: key for ns, key in checkpoint_map.items() if ns}
            checkpoint_id = checkpoint_map.get("")
    return None if checkpoint_id is None else str(checkpoint_id)


def _refuse_own_thread(scope: Scope, saver: Any) -> None:
    task = current_task()
    while task is not None:
        around = task.machine.scope
        if around.saver is saver and around.thread_id == scope.thread_id:
            raise RuntimeError(
                f"Node {task.node.name!r} started a run on thread {scope.thread_id!r} with the saver that its own run uses: they "
                "would overwrite each other. Leave thread_id out to run nested, or use another thread_id."
            )
        task = around.started_by


def open_called(
    graph: Pregel[Any, Any, Any, Any], parent: Task, config: Mapping[str, Any] | None, options: Options
) -> Machine:
    """A graph that a node's code calls."""
    machine = open_child(graph, parent, options.sink, options.subgraphs)
    level = machine.level
    if options is not PLAIN:
        _stops(graph, level, options)
        machine.stops = machine.stops or bool(level.interrupt_before or level.interrupt_after)
        if options.output_channels is not None:
            level.output_channels = options.output_channels
            chosen = options.output_channels
            machine.output_keys = frozenset((chosen,) if isinstance(chosen, str) else chosen)
        if options.context is not None:
            machine.context = graph.check_context(options.context)
    if config:
        _configure(machine, merge_configs(graph.config, config))
    if bridges.active is not None:
        bridges.active.observe(machine, options)
    return machine


def open_node(graph: Pregel[Any, Any, Any, Any], parent: Task) -> Machine:
    """A graph that is the node which a task executes."""
    machine = open_child(graph, parent)
    if machine.level.config is not None and bridges.active is not None:
        bridges.active.observe(machine, PLAIN)
    return machine


def _configure(machine: Machine, config: Mapping[str, Any]) -> None:
    """Let a nested graph run with a config of its own, over what it inherits."""
    machine.level.config = config
    limit = config.get("recursion_limit")
    if limit is not None:
        machine.level.limit = machine.stop = limit


def open_child(
    graph: Pregel[Any, Any, Any, Any], parent: Task, sink: Sink | None = None, subgraphs: bool = False
) -> Machine:
    """A graph at the level below a task: it inherits what the run has, but a saver only if it wants one."""
    above = parent.machine
    scope = above.scope
    keeps = graph.checkpointer is not False
    if not keeps and scope.saver is not None:
        scope = scope.without_saver()
    level = Level(None)
    level.count = parent.child_count
    parent.child_count += 1
    if parent.run_slot is not None:
        parent.run_slot.lend()
    level.persistent = graph.checkpointer is True
    level.interrupt_before = graph.interrupt_before_nodes
    level.interrupt_after = graph.interrupt_after_nodes
    inherited = above.child_sink
    level.sink = joined(sink, inherited)
    machine = Machine(graph.plan, scope, level, parent)
    machine.context = above.context
    machine.store = graph.store or above.store
    machine.child_sink = joined(sink if subgraphs else None, inherited)
    if scope.saver is not None:
        level.parents = parent.checkpoint_map
        if above.plan.deep_migrations or above.level.deep_migrations:
            inherit(level, above, parent.node.name)
        attach_ledger(machine)
    if graph.config:
        _configure(machine, graph.config)
    return machine


def attach_ledger(machine: Machine) -> None:
    """Let a machine's commits be stored."""
    scope = machine.scope
    saver = scope.saver
    machine.recorder = scope.recorder if machine.parent is None else machine.parent.machine.recorder
    machine.ledger = Ledger(machine, machine.recorder, version_source(saver))
    machine.listens = True
    machine.step = -1
    carry_shape(machine)


def _stops(graph: Pregel[Any, Any, Any, Any], level: Level, options: Options) -> None:
    before, after = options.interrupt_before, options.interrupt_after
    level.interrupt_before = graph.interrupt_before_nodes if before is None else before
    level.interrupt_after = graph.interrupt_after_nodes if after is None else after


def modes_of(stream_mode: str | Sequence[str] | None, default: Any) -> tuple[frozenset[str], bool]:
    """The modes asked for, and whether it was one by name (its parts then come bare).

    Raises:
        ValueError: A mode that does not exist.
    """
    chosen = default if stream_mode is None else stream_mode
    single = isinstance(chosen, str)
    modes = frozenset((chosen,) if isinstance(chosen, str) else chosen)
    unknown = modes.difference(MODES)
    if unknown:
        raise ValueError(
            f"Unknown stream_mode {', '.join(sorted(unknown))}. Choose from {', '.join(sorted(MODES))}."
        )
    return modes, single


MODES = ("values", "updates", "custom", "messages", "checkpoints", "tasks", "debug", "tools")
"""What a stream can show."""
