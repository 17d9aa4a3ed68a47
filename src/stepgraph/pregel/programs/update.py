"""Writing to a thread from outside: `update_state` and its relatives.

An update is one superstep that a node is said to have run: its writes are folded, its branches look at the result, what
was due before is no longer due, and what follows the node is. Rules: programs (see `trampoline.py`); nothing is written
before everything was folded and checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.errors import InvalidUpdateError
from stepgraph.pregel.drivers.recorder import version_source
from stepgraph.pregel.fitting import Deep, carry_shape, fitted
from stepgraph.pregel.ledger import Ledger, RecorderPort
from stepgraph.pregel.machine import Machine
from stepgraph.pregel.programs.snapshot import level_at
from stepgraph.pregel.programs.trampoline import Program, request
from stepgraph.pregel.restore import due_tasks, pending_by_task, restore_state
from stepgraph.pregel.scope import Level, Scope
from stepgraph.pregel.task import Task
from stepgraph.values.names import COPY, END, INPUT, METADATA_KEY_TRACE, START

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import CheckpointTuple
    from stepgraph.checkpoint.changes import StepChanges
    from stepgraph.values.snapshots import StateUpdate


class Collected(RecorderPort):
    """Keeps what the ledger hands over, so that the program can ask for it to be stored."""

    def __init__(self, thread_id: Any) -> None:
        self.thread_id = thread_id
        self.steps: list[tuple[Any, str, StepChanges, dict[str, Any]]] = []

    def step(self, namespace: str, changes: StepChanges, metadata: dict[str, Any]) -> None:
        self.steps.append((self.thread_id, namespace, changes, metadata))


def bulk_update(
    graph: Any, config: Mapping[str, Any], supersteps: Sequence[Sequence[StateUpdate]], make_scope: Any
) -> Program[dict[str, Any]]:
    """Apply supersteps of updates one after the other; answers the config of the last checkpoint."""
    if not supersteps:
        raise ValueError("No supersteps provided")
    if not all(supersteps):
        raise ValueError("No updates provided")
    at, deep = level_at(graph, config["configurable"].get("checkpoint_ns") or "")
    current: dict[str, Any] = dict(config)
    for updates in supersteps:
        current = yield from _one_superstep(at, deep, current, updates, make_scope(current))
    return current


def _one_superstep(
    graph: Any, deep: Deep, config: Mapping[str, Any], updates: Sequence[StateUpdate], scope: Scope
) -> Program[dict[str, Any]]:
    configurable = config["configurable"]
    namespace = configurable.get("checkpoint_ns") or ""
    address: dict[str, Any] = {"thread_id": scope.thread_id, "checkpoint_ns": namespace}
    checkpoint_id = configurable.get("checkpoint_id")
    loaded = yield request(
        "get_tuple",
        {"configurable": {**address, **({"checkpoint_id": checkpoint_id} if checkpoint_id else {})}},
    )
    if loaded is None and checkpoint_id:
        raise ValueError(
            f"Thread {scope.thread_id!r} has no checkpoint {checkpoint_id!r} at {namespace!r}; nothing was updated. List its "
            "checkpoints with get_state_history(config)."
        )
    newest = loaded
    if checkpoint_id:
        newest = yield request("get_tuple", {"configurable": address})
    level = Level(namespace)
    level.deep_migrations = deep
    machine = Machine(graph.plan, scope, level)
    machine.context, machine.store = scope.context, scope.store
    recorder = Collected(scope.thread_id)
    level.parents = dict((loaded.metadata or {}).get("parents") or {}) if loaded is not None else {}
    machine.ledger = ledger = Ledger(machine, recorder, version_source(scope.saver))
    if scope.concurrency != "allow":
        ledger.tip = None if newest is None else newest.checkpoint["id"]
    machine.step = -1
    due = None
    carry_shape(machine)
    if loaded is not None:
        loaded = fitted(machine, loaded, "update")
        known: Any = loaded.metadata
        if known and METADATA_KEY_TRACE in known:
            ledger.metadata[METADATA_KEY_TRACE] = known[METADATA_KEY_TRACE]
        due = restore_state(machine, loaded)
    yield from _apply(machine, loaded, due, updates)
    yield request("__store__", recorder.steps, loaded)
    stored = {**address, "checkpoint_id": ledger.head}
    if namespace:
        stored["checkpoint_map"] = {**level.parents, namespace: ledger.head}
    return {"configurable": stored}


def _apply(
    machine: Machine, loaded: CheckpointTuple | None, due: Any, updates: Sequence[StateUpdate]
) -> Program[None]:
    first = updates[0]
    names = [update.as_node for update in updates]
    if COPY in names or INPUT in names or END in names or (first.values is None and first.as_node is None):
        if len(updates) > 1:
            raise InvalidUpdateError(
                f"Cannot apply multiple updates when one of them is for {', '.join(map(repr, names))}: give that one a superstep "
                "of its own."
            )
        _apply_special(machine, loaded, due, first)
        return
    if loaded is None:
        machine.step = 0
    tasks = []
    known = _due(machine, loaded, due)
    for update in updates:
        task = _task_of(machine, loaded, update, known)
        tasks.append(task)
    for task in tasks:
        if task.node.branches:
            yield request("__branches__", task)
    _commit(machine, tasks)


def _due(machine: Machine, loaded: CheckpointTuple | None, due: Any) -> list[Task]:
    """The tasks that are due where the thread stands."""
    return [] if loaded is None else due_tasks(machine, due, pending_by_task(loaded.pending_writes))


def _task_of(
    machine: Machine, loaded: CheckpointTuple | None, update: StateUpdate, known: Sequence[Task]
) -> Task:
    plan = machine.plan
    name = update.as_node or _infer_node(machine, loaded)
    node = plan.nodes.get(name)
    if node is None:
        names = ", ".join(repr(known) for known in plan.nodes if known != START)
        raise InvalidUpdateError(f"Node {name} does not exist. as_node must be one of {names}, START or END.")
    task = Task(machine, node, None)
    pending = next((task for task in known if task.node is node), None)
    if pending is not None:
        task._id = pending.id
    if update.task_id is not None:
        task._id = update.task_id
    node.take(task, {} if update.values is None and node is plan.start else update.values)
    return task


def _infer_node(machine: Machine, loaded: CheckpointTuple | None) -> str:
    """Who is said to have written: the node of the last step.

    Raises:
        InvalidUpdateError: Several nodes ran in it.
    """
    plan = machine.plan
    nodes = [name for name, node in plan.nodes.items() if not node.hidden]
    if loaded is not None:
        seen = loaded.checkpoint["versions_seen"]
        last: dict[str, Any] = {}
        for name in plan.nodes:
            versions = list(seen.get(name, {}).values())
            if versions:
                last[name] = max(versions)
        if last:
            newest = max(last.values())
            names = [name for name, version in last.items() if version == newest]
            if len(names) == 1:
                return names[0]
            raise InvalidUpdateError(
                f"Ambiguous update, specify as_node: {', '.join(map(repr, names))} ran in the last step of graph "
                f"{plan.graph_name!r}. Say whose update it is: update_state(config, values, as_node=...)."
            )
    if plan.start is not None:
        return START
    if len(nodes) == 1:
        return nodes[0]
    raise InvalidUpdateError(f"Ambiguous update, specify as_node: one of {', '.join(map(repr, nodes))}.")


def _commit(machine: Machine, tasks: Sequence[Task]) -> None:
    """The commit of an update: like a superstep's, under the source `update`."""
    ledger = machine.ledger
    assert ledger is not None
    ledger.source = "update"
    machine.sink = None
    machine.commit(tasks)


def _apply_special(machine: Machine, loaded: CheckpointTuple | None, due: Any, update: StateUpdate) -> None:
    ledger = machine.ledger
    assert ledger is not None
    if update.as_node == COPY:
        if loaded is None:
            raise InvalidUpdateError("Cannot copy a non-existent checkpoint")
        ledger.record_copy(machine, "fork")
    elif update.as_node == INPUT:
        ledger.record_input(machine, update.values)
    elif update.as_node == END:
        if update.values is not None:
            raise InvalidUpdateError(
                "update_state(values, as_node=END) takes no values: END writes nothing. Pass None to clear what is due, or name "
                "the node whose values these are."
            )
        ledger.record_cleared(machine, _due(machine, loaded, due))
    elif loaded is None:
        start = machine.plan.start
        if start is None:
            raise InvalidUpdateError("update_state(None) needs a thread that has a checkpoint.")
        machine.step = 0
        _commit(machine, [Task(machine, start, None)])
    else:
        ledger.record_copy(machine, "update")
