"""Looking at a thread: `get_state`, history, and the graphs inside.

Rules of this file: programs (see `trampoline.py`); they read and never write. A machine without a recorder is filled
from the checkpoint, and what it is about to run is read off it, so a snapshot shows what a run would do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.commit import fold_pairs
from stepgraph.pregel.fitting import Deep, below, fitted, gone_from, name_now
from stepgraph.pregel.handling import Pending, adopt, stored_handling
from stepgraph.pregel.identity import without_task_ids
from stepgraph.pregel.ledger import Ledger, RecorderPort
from stepgraph.pregel.machine import Machine
from stepgraph.pregel.programs.trampoline import Program, request
from stepgraph.pregel.restore import (
    MARKS,
    Due,
    apply_command_writes,
    due_tasks,
    interrupts_of,
    pending_by_task,
    restore_state,
)
from stepgraph.pregel.results import restore_writes
from stepgraph.pregel.scope import Level, Scope
from stepgraph.pregel.subgraphs import named_task
from stepgraph.stream.project import written
from stepgraph.values.names import ERROR, NS_SEP, NULL_TASK_ID, RETURN
from stepgraph.values.snapshots import PregelTask, StateSnapshot

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import CheckpointTuple
    from stepgraph.pregel.plan import NodePlan
    from stepgraph.pregel.task import Task


def reading_machine(
    graph: Any, configurable: Mapping[str, Any], saver: Any, new_id: Any, deep: Deep = ()
) -> Machine:
    """A machine that is only looked at; its ledger records nothing."""
    scope = Scope({}, new_id)
    scope.stamp = str
    scope.saver = saver
    scope.thread_id = configurable.get("thread_id")
    scope.quiet_unknown = True
    level = Level(configurable.get("checkpoint_ns") or "")
    level.deep_migrations = deep
    machine = Machine(graph.plan, scope, level)
    machine.ledger = Ledger(machine, RecorderPort(), None)
    return machine


def graph_at(graph: Any, namespace: str) -> Any:
    """The graph that runs at a namespace.

    Raises:
        ValueError: A node on the path does not exist or runs no graph.
    """
    return level_at(graph, namespace)[0]


def level_at(graph: Any, namespace: str) -> tuple[Any, Deep]:
    """The graph that runs at a namespace, and the migrations that graphs above declare for it and what is inside.

    Nodes that were renamed are found by the names that the namespace was made with.

    Raises:
        ValueError: A node on the path does not exist or runs no graph.
    """
    found = graph
    deep: Deep = ()
    node_graphs: Sequence[Any] = ()
    called: NodePlan | None = None
    parts = without_task_ids(namespace).split(NS_SEP) if namespace else []
    for part, following in zip(parts, [*parts[1:], ""]):
        if (
            following in found.node_error_handler_map.values()
        ):  # a handler's graphs live below the task that failed
            continue
        if part.isdigit() and node_graphs:
            found = node_graphs[min(int(part), len(node_graphs) - 1)]
            continue
        if called is None and part not in found.plan.nodes:
            part = name_now(part, (*found.plan.migrations, *[m for path, m in deep if not path]))
        node = found.plan.nodes.get(part) if called is None else called
        node_graphs = node.subgraphs if node is not None else ()
        called = None if node is None else _called(node, following)
        if called is not None:  # a task's graphs live below the node that calls it
            continue
        if not node_graphs:
            raise ValueError(
                f"Subgraph {namespace} not found: node {part!r} of graph {found.name!r} "
                + ("runs no graph that keeps checkpoints." if node is not None else "does not exist.")
            )
        deep = below((*found.plan.deep_migrations, *deep), part)
        found = node_graphs[0]
    return found, deep


def _called(node: NodePlan, name: str) -> NodePlan | None:
    """The task of this name that a node calls, unless a graph that it runs has a node of that name."""
    if not name or any(name in graph.plan.nodes for graph in node.subgraphs):
        return None
    return named_task(node.action, name)


def get_state(graph: Any, config: Mapping[str, Any], subgraphs: bool) -> Program[StateSnapshot]:
    """The state at a checkpoint, or at the newest of the thread."""
    configurable = config["configurable"]
    loaded = yield request("get_tuple", {"configurable": _address(configurable)})
    if loaded is None:
        asked_for: Any = dict(config)
        return StateSnapshot({}, (), asked_for, None, None, None, (), ())
    at = level_at(graph, configurable.get("checkpoint_ns") or "")
    explicit = bool(configurable.get("checkpoint_id"))
    return (yield from snapshot(at, loaded, not explicit, graph if subgraphs else None))


def get_history(
    graph: Any,
    config: Mapping[str, Any],
    filter: Mapping[str, Any] | None,
    before: Mapping[str, Any] | None,
    limit: int | None,
) -> Program[list[StateSnapshot]]:
    """The states of a namespace, newest first, each as it was stored."""
    configurable = config["configurable"]
    at = level_at(graph, configurable.get("checkpoint_ns") or "")
    address = {"configurable": {"checkpoint_ns": "", **_address(configurable)}}
    found = yield request("list", address, filter=filter, before=before, limit=limit)
    states = []
    for loaded in found:
        states.append((yield from snapshot(at, loaded, False, None)))
    return states


def _address(configurable: Mapping[str, Any]) -> dict[str, Any]:
    address = {
        "thread_id": configurable["thread_id"],
        "checkpoint_ns": configurable.get("checkpoint_ns") or "",
    }
    checkpoint_id = configurable.get("checkpoint_id")
    if checkpoint_id:
        address["checkpoint_id"] = checkpoint_id
    return address


def snapshot(at: tuple[Any, Deep], loaded: CheckpointTuple, apply: bool, root: Any) -> Program[StateSnapshot]:
    """One checkpoint as a person sees it.

    Args:
        at: The graph at the checkpoint's namespace, and the migrations that graphs above declare for it.
        loaded: The checkpoint.
        apply: Whether finished tasks' pending writes show in the values.
        root: The root graph, if nested states are wanted in full.
    """
    configurable = loaded.config["configurable"]
    machine = reading_machine(at[0], configurable, None, str, at[1])
    loaded = fitted(machine, loaded, "look")
    due = restore_state(machine, loaded)
    pending = pending_by_task(loaded.pending_writes)
    if pending.get(NULL_TASK_ID):
        apply_command_writes(machine, due, pending[NULL_TASK_ID])
    gone = gone_from(machine, loaded)
    tasks = _present_tasks(machine, due, pending) if gone else due_tasks(machine, due, pending)
    shown: list[PregelTask] = []
    finished: list[Task] = []
    waiting: list[str] = []
    for task in sorted(tasks, key=lambda task: task.index < 0):
        view = yield from _task(task, pending, root, apply)
        shown.append(view)
        done = task.restored
        if done:
            finished.append(task)
        if not done or not apply:
            waiting.append(task.node.name)
    for id, name, path in gone:
        pairs = pending.get(id, ())
        error = next((value for channel, value in pairs if channel == ERROR), None)
        shown.append(PregelTask(id, name, path, error, interrupts_of(pairs)))
        waiting.append(name)
    state = machine.state
    if apply and finished:
        finished.sort(key=lambda task: task.path_text)
        folded = _folded(machine, finished)
        shown_state = {**state, **folded}
        state = {k: shown_state[k] for k in machine.plan.fields if k in shown_state}
    metadata: dict[str, Any] = {k: v for k, v in (loaded.metadata or {}).items() if not k.startswith("__")}
    parents = metadata.get("parents") or {}
    return StateSnapshot(
        machine.view(machine.plan.stream_channels, state),
        tuple(waiting),
        _config(configurable, parents),
        metadata,  # type: ignore[arg-type]
        loaded.checkpoint["ts"],
        None if not loaded.parent_config else _config(loaded.parent_config["configurable"], parents),
        tuple(shown),
        tuple(i for task in shown for i in task.interrupts),
    )


def _present_tasks(machine: Machine, due: Due, pending: Pending) -> list[Task]:
    """The tasks of a step some of whose `Send`s name nodes that do not exist; the others keep their places."""
    kept = [index for index, send in enumerate(due.sends) if send.node in machine.plan.nodes]
    due.sends = [due.sends[index] for index in kept]
    tasks = due_tasks(machine, due, pending)
    for task, index in zip([task for task in tasks if task.index >= 0], kept):
        task.index = index
    return tasks


def _folded(machine: Machine, finished: Sequence[Task]) -> dict[str, Any]:
    """What finished tasks' pending writes make of the state; nothing where a reducer refuses them.

    Such a run has failed with that refusal; its thread must stay readable.
    """
    try:
        return fold_pairs(machine, finished)
    except Exception:
        return {}


def _config(configurable: Mapping[str, Any], parents: Mapping[str, str]) -> Any:
    namespace = configurable.get("checkpoint_ns") or ""
    shown = {
        "thread_id": configurable["thread_id"],
        "checkpoint_ns": namespace,
        "checkpoint_id": configurable.get("checkpoint_id"),
    }
    if namespace:
        shown["checkpoint_map"] = {**parents, namespace: configurable.get("checkpoint_id")}
    return {"configurable": shown}


def _task(task: Task, pending: Pending, root: Any, apply: bool) -> Program[PregelTask]:
    pairs = pending.get(task.id, ())
    error = next((value for channel, value in pairs if channel == ERROR), None)
    acting = stored_handling(task, pending) or task
    if acting is not task:
        pairs = pending.get(acting.id, ())
    results = [pair for pair in pairs if pair[0] not in MARKS]
    asked = () if results and apply else interrupts_of(pairs)
    result: Any = None
    if results:
        restore_writes(acting, results)
        adopt(task, acting)
        task.restored = True
        returned = [value for channel, value in results if channel == RETURN]
        result = returned[0] if returned else written(task, task.machine.plan.stream_keys)
    state: Any = None
    running = acting if acting.node.subgraphs else task
    if running.node.subgraphs:
        namespace = yield from _where_it_runs(running, asked)
        state = {"configurable": {"thread_id": task.machine.scope.thread_id, "checkpoint_ns": namespace}}
        if root is not None:
            state = yield from get_state(root, state, True)
    return PregelTask(task.id, task.node.name, task.path, error, asked, state, result)


def _where_it_runs(task: Task, asked: Sequence[Any]) -> Program[str]:
    """The namespace of a task's graph; of several that it calls in turn, the one that asked, else the first."""
    graphs = task.node.subgraphs
    namespace = task.namespace
    if graphs[0].checkpointer is True:
        namespace = without_task_ids(namespace)
    if task.node.action in graphs or not asked:
        return namespace
    ids = {i.id for i in asked}
    count = 0
    while True:
        candidate = namespace if count == 0 else f"{namespace}{NS_SEP}{count}"
        found = yield request(
            "get_tuple",
            {"configurable": {"thread_id": task.machine.scope.thread_id, "checkpoint_ns": candidate}},
        )
        if found is None:
            return namespace
        if any(
            i.id in ids
            for pairs in pending_by_task(found.pending_writes).values()
            for i in interrupts_of(pairs)
        ):
            return candidate
        count += 1
