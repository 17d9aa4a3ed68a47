"""From a stored checkpoint back to a machine that can go on.

Rules of this file: pure; the checkpoint was loaded by whoever calls. This is the one place where "version newer than
seen" is evaluated: during a run, what is due follows from the writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.commit import fold_pairs
from stepgraph.pregel.handling import adopt, stored_handling
from stepgraph.pregel.identity import interrupt_id
from stepgraph.pregel.interrupts import question_id
from stepgraph.pregel.migrate import Refitted
from stepgraph.pregel.older import FORM, with_targets
from stepgraph.pregel.recorded import recognise
from stepgraph.pregel.results import restore_writes
from stepgraph.pregel.task import Task
from stepgraph.values.missing import MISSING
from stepgraph.values.names import ERROR, ERROR_SOURCE_NODE, INTERRUPT, RESUME, SCHEDULED, START, TASKS

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import CheckpointTuple
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.plan import NodePlan
    from stepgraph.values.commands import Send

MARKS = frozenset((ERROR, ERROR_SOURCE_NODE, INTERRUPT, RESUME, SCHEDULED))
"""Pending writes that tell of a task and are no result of it."""
Pending = Mapping[str, Sequence[tuple[str, Any]]]


class Due:
    """What a loaded checkpoint is about to run."""

    __slots__ = ("former", "former_sends", "pulls", "sends", "start_input")

    def __init__(self, pulls: list[NodePlan], sends: list[Send], start_input: Any) -> None:
        self.pulls = pulls
        self.sends = sends
        self.start_input = start_input
        self.former: Mapping[str, str] = {}
        self.former_sends: Sequence[str] | None = None

    def name_as_stored(self, tasks: list[Task]) -> None:
        """Let tasks of renamed nodes be found, and ordered, by the names that they were stored with."""
        for task in tasks:
            if task.index < 0:
                task.former = self.former.get(task.node.name)
            elif self.former_sends is not None and task.index < len(self.former_sends):
                task.former = self.former_sends[task.index]
        tasks.sort(key=lambda task: task.path_text)


def restore_state(machine: Machine, loaded: CheckpointTuple) -> Due:
    """Fill the machine from a checkpoint; answers what is due there."""
    plan = machine.plan
    checkpoint = loaded.checkpoint
    if checkpoint.get("v", FORM) < FORM:
        checkpoint = with_targets(plan, checkpoint)
    values = checkpoint["channel_values"]
    state = machine.state
    for name in plan.fields:
        if name in plan.objects:
            channel = plan.objects[name].from_checkpoint(values.get(name, MISSING))
            machine.objects[name] = channel
            if channel.is_available():
                state[name] = channel.get()
            else:
                state.pop(name, None)
        elif name in values:
            state[name] = values[name]
    machine.state = {name: state[name] for name in plan.fields if name in state}
    machine.containers = {name for name, value in machine.state.items() if type(value) in (list, dict, set)}
    live = _restore_control(machine, values)
    versions = dict(checkpoint["channel_versions"])
    seen = {name: dict(known) for name, known in checkpoint["versions_seen"].items()}
    step = (loaded.metadata or {}).get("step", -2)
    machine.step = step + 1
    limit = machine.scope.limit if machine.level.limit is None else machine.level.limit
    machine.stop = machine.step + limit + 1
    ledger = machine.ledger
    if ledger is not None:
        ledger.versions = versions
        ledger.seen = seen
        ledger.live = live
        ledger.head = ledger.stored = checkpoint["id"]
        parent = loaded.parent_config
        ledger.previous = parent["configurable"].get("checkpoint_id") if parent else None
        ledger.last_metadata = dict(loaded.metadata or {})
    pulls = [
        node
        for channel in (*live, *[name for name in plan.reader_triggers if name in machine.state])
        for node in plan.triggers.get(channel, ())
        if node.name not in machine.deferred
        and newer(versions.get(channel), seen.get(node.name, {}).get(channel))
    ]
    sends = list(values.get(TASKS) or ())
    due = Due(pulls, sends, values.get(START, MISSING))
    if isinstance(loaded, Refitted):
        due.former, due.former_sends = loaded.former, loaded.former_sends
    return due


def _restore_control(machine: Machine, values: Mapping[str, Any]) -> dict[str, Any]:
    """Joins, deferred nodes and triggers; answers the control channels that hold a value."""
    plan = machine.plan
    live: dict[str, Any] = {}
    for channel, value in values.items():
        join = plan.joins.get(channel)
        if join is not None:
            arrived, finished = value if join.deferred else (value, True)
            if len(arrived) == len(join.sources) and finished:
                live[channel] = None
                machine.joins[channel] = set()
            else:
                machine.joins[channel] = set(arrived)
                if len(arrived) == len(join.sources):
                    machine.deferred[join.target.name] = join.target
        elif channel in plan.triggers and channel not in plan.fieldset:
            node = plan.triggers[channel][0]
            if node.deferred and channel == node.trigger and value is not None and not value[1]:
                machine.deferred[node.name] = node
            live[channel] = None
        elif channel == TASKS and value:
            live[TASKS] = None
    return live


def newer(version: Any, seen: Any) -> bool:
    """Whether a channel's version is one that a node has not seen."""
    if version is None:
        return False
    if seen is None:
        return True
    try:
        return bool(version > seen)
    except TypeError:
        return str(version) > str(seen)


def pending_by_task(writes: Sequence[tuple[str, str, Any]] | None) -> dict[str, list[tuple[str, Any]]]:
    """task id -> its stored writes, in order."""
    pending: dict[str, list[tuple[str, Any]]] = {}
    for task_id, channel, value in writes or ():
        pending.setdefault(task_id, []).append((channel, value))
    return pending


def interrupts_of(pairs: Sequence[tuple[str, Any]]) -> tuple[Any, ...]:
    """The questions among a task's stored writes."""
    return tuple(i for channel, value in pairs if channel == INTERRUPT for i in _as_tuple(value))


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def due_tasks(machine: Machine, due: Due, pending: Pending) -> list[Task]:
    """The tasks of the step that a checkpoint is about to run; `pending` is what is stored of them."""
    tasks = machine.make_tasks([node for node in due.pulls if node is not machine.plan.start], due.sends)
    if due.start_input is not MISSING and machine.plan.start in due.pulls:
        tasks.insert(0, Task(machine, machine.plan.start, due.start_input))
    if due.former or due.former_sends is not None:
        due.name_as_stored(tasks)
    if pending:
        recognise(tasks, pending)
    return tasks


def apply_command_writes(machine: Machine, due: Due, pairs: Sequence[tuple[str, Any]]) -> None:
    """Take in what a `Command(update=, goto=)` wrote as input at this checkpoint."""
    plan = machine.plan
    if plan.start is None:
        return
    task = Task(machine, plan.start, None)
    restore_writes(task, [pair for pair in pairs if pair[0] not in MARKS])
    if task.updates:
        folded = fold_pairs(machine, (task,))
        machine.apply(folded)
        if machine.ledger is not None:
            machine.ledger.carried.update({k: v for k, v in folded.items() if k not in plan.untracked})
    for node in task.targets:
        due.pulls.append(node)
        if machine.ledger is not None:
            machine.ledger.live[node.trigger] = None
            machine.ledger.carried[node.trigger] = None
    if task.sends:
        due.sends.extend(task.sends)


def apply_pending(machine: Machine, tasks: Sequence[Task], pending: Pending, rewind: bool) -> None:
    """Give tasks back what was stored of them: results of finished ones, answers and open questions of paused ones.

    With answers at hand, a paused task runs again only if one of its own questions was answered. `rewind` answers an
    old checkpoint: what its questions got before is ignored.
    """
    answers = machine.scope.answers
    answered = answers.by_id if answers is not None else {}
    for task in tasks:
        handler = stored_handling(task, pending)
        if handler is None:
            _give_back(task, pending.get(task.id, ()), rewind, answered)
        else:
            _give_back(handler, pending.get(handler.id, ()), rewind, answered)
            task.handler = handler
            adopt(task, handler)
            task.restored, task.interrupts = handler.restored, handler.interrupts
        if task.interrupts is not None:
            machine.pausing = True


def _give_back(
    task: Task, pairs: Sequence[tuple[str, Any]], rewind: bool, answered: Mapping[str, Any]
) -> None:
    asked = task.stored_interrupts = interrupts_of(pairs)
    results = [pair for pair in pairs if pair[0] not in MARKS]
    given = next((list(_as_tuple(value)) for channel, value in pairs if channel == RESUME), None)
    reasked = bool(asked) and any(i.id in answered for i in asked)
    if rewind and reasked:
        task.answers = _answers_before(task, given or [], answered)
    elif results:
        restore_writes(task, results)
    else:
        task.answers = given
        if asked and answered and not reasked:
            task.interrupts = asked
            task.restored = task.saved = True


def _answers_before(task: Task, given: list[Any], answered: Mapping[str, Any]) -> list[Any] | None:
    for index in range(len(given) + 1):
        if question_id(task, index) in answered:
            return given[:index] or None
    return None


def answered_ids(writes: Sequence[tuple[str, str, Any]] | None) -> list[str]:
    """Ids of the questions that a checkpoint's tasks got answers to: a task's are counted from 0, in the order it asked."""
    return [
        interrupt_id(task_id, index)
        for task_id, pairs in pending_by_task(writes).items()
        for channel, value in pairs
        if channel == RESUME
        for index in range(len(_as_tuple(value)))
    ]


def pending_ids(writes: Sequence[tuple[str, str, Any]] | None, answered_too: bool = False) -> list[str]:
    """Ids of the questions that wait at a checkpoint; `answered_too`: also those of tasks that went on since."""
    waiting = (
        i.id
        for pairs in pending_by_task(writes).values()
        if answered_too or not finished(pairs)
        for i in interrupts_of(pairs)
    )
    return list(dict.fromkeys(waiting))


def finished(pairs: Sequence[tuple[str, Any]]) -> bool:
    """Whether a task's stored writes hold its result."""
    return any(channel not in MARKS for channel, _ in pairs)


__all__ = (
    "MARKS",
    "Due",
    "answered_ids",
    "apply_command_writes",
    "apply_pending",
    "due_tasks",
    "interrupts_of",
    "newer",
    "pending_by_task",
    "pending_ids",
    "restore_state",
)
