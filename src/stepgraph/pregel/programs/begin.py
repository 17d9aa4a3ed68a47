"""The beginning of a run that has a saver: find out where the thread stands and what the input means there.

Rules of this file: generators that yield requests (see `trampoline.py`), no I/O of their own. A refusal (an answer that
fits no question, an unknown checkpoint) is raised before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.shaped import whole_checkpoint
from stepgraph.errors import EmptyInputError, InvalidUpdateError
from stepgraph.pregel.fitting import fitted, former_namespaces
from stepgraph.pregel.identity import without_last_task_id, without_task_ids
from stepgraph.pregel.interrupts import is_resume_map, match_answers
from stepgraph.pregel.programs.trampoline import Program, request
from stepgraph.pregel.restore import (
    answered_ids,
    apply_command_writes,
    apply_pending,
    due_tasks,
    interrupts_of,
    pending_by_task,
    pending_ids,
    restore_state,
)
from stepgraph.pregel.results import wire_writes
from stepgraph.pregel.scope import Replay
from stepgraph.pregel.task import Task
from stepgraph.values.commands import Command, resume_of
from stepgraph.values.names import NO_WRITES, NS_SEP, NULL_TASK_ID, RESUME

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import CheckpointTuple
    from stepgraph.pregel.machine import Machine


def address(machine: Machine, checkpoint_id: str | None = None) -> dict[str, Any]:
    """The config that names a machine's namespace, or one checkpoint of it."""
    configurable = {"thread_id": machine.scope.thread_id, "checkpoint_ns": machine.namespace}
    if checkpoint_id is not None:
        configurable["checkpoint_id"] = checkpoint_id
    return {"configurable": configurable}


def begin_without_saver(machine: Machine, input: Any) -> Sequence[Task]:
    """The first tasks of a run that nobody stores."""
    if isinstance(input, Command):
        _check_command(machine, input)
        if input.resume_given:
            raise RuntimeError(
                f"Cannot use Command(resume=...) without checkpointer: graph {machine.plan.graph_name!r} was compiled without "
                "one, so nothing of the paused run was kept. Compile with checkpointer=... and pass a thread_id."
            )
    elif input is None:
        raise EmptyInputError(_no_input(machine))
    return machine.begin_input(input)


def begin_root(machine: Machine, input: Any, checkpoint_id: str | None) -> Program[Sequence[Task]]:
    """The first tasks of a root run."""
    if machine.scope.hold is not None:
        yield request("__hold__", machine.scope)
    loaded = yield request("get_tuple", address(machine, checkpoint_id))
    newest = loaded
    if checkpoint_id is not None:
        if loaded is None:
            raise ValueError(
                f"Thread {machine.scope.thread_id!r} has no checkpoint {checkpoint_id!r}. List its checkpoints with "
                "get_state_history(config), or leave checkpoint_id out to go on from the newest."
            )
        newest = yield request("get_tuple", address(machine))
    _remember_head(machine, newest)
    at_head = loaded is None or newest is None or newest.checkpoint["id"] == loaded.checkpoint["id"]
    if isinstance(input, Command):
        _check_command(machine, input)
        if input.resume_given:
            asked_at, newest_there = yield from _asked_at(machine, loaded)
            machine.scope.rewind = not (at_head and newest_there)
            yield from _take_answers(machine, input, asked_at)
    elif input is not None:
        return _begin_with_input(machine, input, loaded)
    if loaded is None:
        if input is None:
            raise EmptyInputError(_no_input(machine))
        return machine.begin_input(input)
    replays = not at_head and input is None and not machine.scope.checkpoint_map
    return _go_on(machine, loaded, input, replays)


def begin_child(machine: Machine, input: Any) -> Program[Sequence[Task]]:
    """The first tasks of a nested run: afresh, on top of what it kept, or from where it paused."""
    parent = machine.parent
    assert parent is not None
    scope = machine.scope
    above = parent.machine
    persistent = machine.level.persistent
    again = above.resuming and parent.attempt == 1
    explicit = scope.checkpoint_map.pop(machine.namespace, None)
    if not persistent and not again and explicit is None and parent.attempt == 1:
        _remember_head(machine, None)
        machine.recorder.forget(machine.namespace)
        return machine.begin_input(input)
    newest = yield request("get_tuple", address(machine))
    if newest is None and persistent:
        newest = yield from _moved_here(machine)
    _remember_head(machine, newest)
    loaded = newest
    if explicit is not None:
        loaded = yield request("get_tuple", address(machine, explicit))
    elif scope.replay is not None:
        loaded = yield from _before_replay(machine, scope.replay, newest)
    elif scope.rewind and again:
        loaded = yield from _where_it_asked(machine, newest)
    if loaded is None or (parent.attempt > 1 and not persistent):
        machine.recorder.forget(machine.namespace)
        return machine.begin_input(input)
    if again and scope.answers is not None and (loaded.metadata or {}).get("source") == "update":
        scope.answers.free_lone()
    belongs = (loaded.metadata or {}).get("parents", {}).get(above.namespace) == above.checkpoint_id
    if input is None or explicit is not None or (again and (belongs or not persistent)):
        replays = explicit is not None and newest is not None and newest.checkpoint["id"] != explicit
        answers_it = scope.rewind and bool(pending_ids(loaded.pending_writes, True))
        return _go_on(machine, loaded, None, replays and not scope.checkpoint_map and not answers_it)
    return _begin_with_input(machine, input, loaded)


def _moved_here(machine: Machine) -> Program[Any]:
    """What a graph that keeps its state stored below a node that has another name now; it is copied to where it is now."""
    for namespace in former_namespaces(machine):
        there = {"configurable": {"thread_id": machine.scope.thread_id, "checkpoint_ns": namespace}}
        found = yield request("get_tuple", there)
        if found is not None:
            checkpoint = whole_checkpoint(found)
            yield request("put", address(machine), checkpoint, found.metadata, checkpoint["channel_versions"])
            return found
    return None


def _remember_head(machine: Machine, newest: Any) -> None:
    if machine.ledger is not None and machine.scope.concurrency != "allow":
        machine.ledger.tip = None if newest is None else newest.checkpoint["id"]


def _begin_with_input(machine: Machine, input: Any, loaded: Any) -> Sequence[Task]:
    if loaded is not None:
        loaded = fitted(machine, loaded, "input")
        restore_state(machine, loaded)
        machine.recorder.loaded(machine.namespace, loaded)
    else:
        machine.step = -1
    return machine.begin_input(input)


def _go_on(machine: Machine, loaded: CheckpointTuple, command: Any, replays: bool) -> Sequence[Task]:
    """Go on from a checkpoint with what was stored of its step, or replay it with nothing of that."""
    scope = machine.scope
    loaded = fitted(machine, loaded, "resume")
    due = restore_state(machine, loaded)
    machine.recorder.loaded(machine.namespace, loaded)
    if scope.observer is not None:
        scope.observer.run_loads(machine, loaded)
    pending: Mapping[str, Sequence[tuple[str, Any]]] = {}
    if replays:
        before = loaded.checkpoint["id"]
        if (loaded.metadata or {}).get("source") == "update" and loaded.parent_config:
            before = loaded.parent_config["configurable"].get("checkpoint_id", before)
        scope.replay = scope.replay or Replay(before)
        scope.replay.visited.update(_levels_down_to(machine))
        if machine.ledger is not None:
            machine.ledger.record_fork(machine)
        due.former, due.former_sends = {}, None
    else:
        pending = pending_by_task(loaded.pending_writes)
        machine.resuming = True
    pairs = list(pending.get(NULL_TASK_ID, ()))
    if not scope.rewind:
        for channel, value in pairs:
            if channel == RESUME and is_resume_map(value):
                scope.kept_answers.update(value)
    commanded = _command_writes(machine, command) if isinstance(command, Command) else []
    if pairs or commanded:
        apply_command_writes(machine, due, [*pairs, *commanded])
    if commanded and machine.ledger is not None:
        machine.ledger.write_as(NULL_TASK_ID, "", commanded)
    tasks = due_tasks(machine, due, pending)
    if pending:
        targets = [namespace for namespace in scope.checkpoint_map if namespace]
        on_path = {task.id for task in tasks if any(_runs_in(task, namespace) for namespace in targets)}
        if machine.ledger is not None:
            machine.ledger.pending = pending
        apply_pending(machine, tasks, {k: v for k, v in pending.items() if k not in on_path}, scope.rewind)
    return machine.begin_restored(tasks)


def _levels_down_to(machine: Machine) -> Iterator[str]:
    """The places of a level and of those above it, without the ids of their last tasks: they are being visited."""
    level: Machine | None = machine
    while level is not None:
        yield without_last_task_id(level.namespace)
        level = None if level.parent is None else level.parent.machine


def _runs_in(task: Task, namespace: str) -> bool:
    """Whether a namespace is inside this task, also where it belongs to a graph that keeps its state over calls."""
    own = task.namespace
    return any(
        namespace == start or namespace.startswith(start + NS_SEP) for start in (own, without_task_ids(own))
    )


def _command_writes(machine: Machine, command: Command[Any]) -> list[tuple[str, Any]]:
    """What a resuming command writes besides its answer: stored before a task runs, so that a crash does not lose it."""
    if not command.update and not command.goto:
        return []
    start = machine.plan.start
    assert start is not None
    task = Task(machine, start, None)
    start.take(task, Command[Any](update=command.update, goto=command.goto))
    task.targets = task.targets[len(start.targets) :]
    return [pair for pair in wire_writes(task) if pair[0] != NO_WRITES]


def _asked_at(machine: Machine, loaded: Any) -> Program[tuple[Any, bool]]:
    """The checkpoint whose questions are answered, and whether it is the newest of its level: the config may name one inside."""
    inside = [namespace for namespace in machine.scope.checkpoint_map if namespace]
    if loaded is None or not inside:
        return loaded, True
    target = {"thread_id": machine.scope.thread_id, "checkpoint_ns": max(inside, key=len)}
    newest = yield request("get_tuple", {"configurable": target})
    named = machine.scope.checkpoint_map[target["checkpoint_ns"]]
    if newest is None or newest.checkpoint["id"] == named:
        return newest or loaded, True
    found = yield request("get_tuple", {"configurable": {**target, "checkpoint_id": named}})
    return found or loaded, False


def _take_answers(machine: Machine, command: Command[Any], loaded: Any) -> Program[None]:
    if loaded is None:
        raise RuntimeError(
            f"Command(resume=...) was given for thread {machine.scope.thread_id!r}, which has no checkpoint: nothing waits "
            "there. Start it with an input first, or check the thread_id."
        )
    value = resume_of(command)
    pending = pending_ids(loaded.pending_writes, machine.scope.rewind)
    answers = match_answers(value, pending, None)
    if answers is None:
        history = yield request("list", {"configurable": {"thread_id": machine.scope.thread_id}})
        asked = [
            key
            for found in history
            for key in (*pending_ids(found.pending_writes, True), *answered_ids(found.pending_writes))
        ]
        answers = match_answers(value, pending, asked)
    machine.scope.answers = answers


def _before_replay(machine: Machine, replay: Replay, newest: Any) -> Program[Any]:
    """A child's newest checkpoint from before the replayed one on the first visit, its newest on later ones."""
    key = without_last_task_id(machine.namespace)
    if key in replay.visited:
        return newest
    replay.visited.add(key)
    before = {"configurable": {"checkpoint_id": replay.before}}
    found = yield request("list", address(machine), before=before, limit=1)
    return found[0] if found else None


def _where_it_asked(machine: Machine, newest: Any) -> Program[Any]:
    """The child's checkpoint at which one of the questions waits that are being answered."""
    answers = machine.scope.answers
    if answers is None or not answers.by_id:
        return newest
    found = yield request("list", address(machine))
    for candidate in found:
        for pairs in pending_by_task(candidate.pending_writes).values():
            if any(i.id in answers.by_id for i in interrupts_of(pairs)):
                return candidate
    return newest


def _check_command(machine: Machine, command: Command[Any]) -> None:
    if command.graph is not None:
        raise InvalidUpdateError(
            f"Command(graph={command.graph!r}) was given as the input of graph {machine.plan.graph_name!r}, which has no parent "
            "here. Leave graph out."
        )
    if machine.plan.start is None and (command.update or command.goto):
        raise InvalidUpdateError(
            f"Command(update=..., goto=...) as input needs a StateGraph: {machine.plan.graph_name!r} has no fields and edges. Pass "
            "the input itself, or Command(resume=...) to answer a question."
        )
    if not command.resume_given and not command.update and not command.goto:
        raise EmptyInputError(
            f"Command() without resume, update or goto was given as the input of graph {machine.plan.graph_name!r}. Say what to "
            "do, or pass None to go on from the last checkpoint."
        )


def _no_input(machine: Machine) -> str:
    where = f"thread {machine.scope.thread_id!r}" if machine.scope.thread_id is not None else "this run"
    return (
        f"Received no input for __start__: graph {machine.plan.graph_name!r} was given None, and {where} has no checkpoint to go "
        "on from. Pass an input, or a config with the thread_id of a thread that was started."
    )
