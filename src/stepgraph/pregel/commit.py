"""The commit of a superstep: folding what the tasks wrote into values.

Rules of this file: pure functions of the machine's state and the tasks' writes. Writes are folded in the order of task
paths, never by who finished first. Nothing is changed in place: a fold makes new containers, so whoever holds the old
state still sees it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.channels.fold import overwrite_of
from stepgraph.errors import InvalidUpdateError
from stepgraph.values.commands import Overwrite
from stepgraph.values.missing import MISSING
from stepgraph.values.names import ERROR

if TYPE_CHECKING:
    from stepgraph.channels.base import BaseChannel
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.plan import NodePlan
    from stepgraph.pregel.task import Task
    from stepgraph.values.commands import Send

_OVERWRITE_KEY = "__overwrite__"


def fold_mapping(machine: Machine, updates: dict[str, Any], task: Task) -> dict[str, Any]:
    """The new values of the channels that one task wrote once each."""
    plan = machine.plan
    folds = plan.folds
    state = machine.state
    folded: dict[str, Any] = {}
    for key, value in updates.items():
        fold = folds.get(key)
        if fold is not None:
            try:
                folded[key] = fold(state.get(key, MISSING), (value,), machine.memo(key))
            except Exception as error:
                raise explained(error, machine, key, (task,), value) from error.__cause__
        elif plan.objects and key in plan.objects:
            previewed = preview(machine.objects[key], (value,))
            if previewed is not MISSING:
                folded[key] = previewed
        else:
            kind = type(value)
            if kind is Overwrite:
                value = value.value
            elif kind is dict and len(value) == 1 and _OVERWRITE_KEY in value:
                value = value[_OVERWRITE_KEY]
            folded[key] = value
    if plan.validators:
        validate(machine, folded, (task,))
    return folded


def fold_pairs(machine: Machine, tasks: Sequence[Task]) -> dict[str, Any]:
    """The new values of all channels that these tasks wrote."""
    plan = machine.plan
    folds = plan.folds
    state = machine.state
    folded: dict[str, Any] = {}
    for key, values in grouped(tasks).items():
        fold = folds.get(key)
        if fold is not None:
            try:
                folded[key] = fold(state.get(key, MISSING), values, machine.memo(key))
            except Exception as error:
                raise explained(error, machine, key, tasks, values) from error.__cause__
        elif plan.objects and key in plan.objects:
            previewed = preview(machine.objects[key], values)
            if previewed is not MISSING:
                folded[key] = previewed
        elif len(values) == 1:
            value = values[0]
            if type(value) is Overwrite:
                value = value.value
            elif type(value) is dict and len(value) == 1 and _OVERWRITE_KEY in value:
                value = value[_OVERWRITE_KEY]
            folded[key] = value
        else:
            folded[key] = settle_plain(machine, key, values, tasks)
    if plan.validators:
        validate(machine, folded, tasks)
    return folded


def grouped(tasks: Iterable[Task]) -> dict[str, list[Any]]:
    """channel -> its writes of this superstep, in the order of tasks."""
    writes: dict[str, list[Any]] = {}
    for task in tasks:
        updates = task.updates
        for key, value in updates.items() if isinstance(updates, dict) else updates:
            known = writes.get(key)
            if known is None:
                writes[key] = [value]
            else:
                known.append(value)
    return writes


def settle_plain(machine: Machine, key: str, values: Sequence[Any], tasks: Sequence[Task]) -> Any:
    """The value of a plain field with several writes in one step: one Overwrite wins, anything else is a conflict."""
    replaced = [content for found, content in map(overwrite_of, values) if found]
    if len(replaced) == 1:
        return replaced[0]
    who = ", ".join(repr(name) for name in writers_of(key, tasks))
    conflict = InvalidUpdateError(
        f"At key '{key}': Can receive only one value per step. Use an Annotated key to handle multiple values. "
        f"In step {machine.step} of graph {machine.plan.graph_name!r} it was written by {who}: give the field a reducer "
        "(Annotated[type, reducer]), or let one of them write another field."
    )
    _blame(machine, key, tasks, conflict)
    raise conflict


def _blame(machine: Machine, key: str, tasks: Iterable[Task], error: Exception) -> None:
    """What a commit refuses is not kept as a task's result, or it would be refused at every later try too."""
    ledger = machine.ledger
    for task in tasks:
        if ledger is not None and task.finished and not task.saved and writers_of(key, (task,)):
            task.saved = True
            ledger.write(task, [(ERROR, error)])


def writers_of(key: str, tasks: Iterable[Task]) -> list[str]:
    """The nodes that wrote a channel in this superstep, one entry a write."""
    names = []
    for task in tasks:
        updates = task.updates
        keys = updates if isinstance(updates, dict) else [k for k, _ in updates]
        names += [task.node.name for k in keys if k == key]
    return names


def explained(error: Exception, machine: Machine, key: str, tasks: Sequence[Task], value: Any) -> Exception:
    """The reducer's own exception, with a note on which field, whose write and which value it was."""
    who = ", ".join(repr(name) for name in writers_of(key, tasks)) or "the input"
    shown = repr(value)
    if len(shown) > 200:
        shown = shown[:200] + "..."
    error.add_note(
        f"While field {key!r} of graph {machine.plan.graph_name!r} took in {shown} from {who} in step {machine.step}"
        f"{' of ' + repr(machine.namespace) if machine.namespace else ''}. Nothing of this step was saved."
    )
    _blame(machine, key, tasks, error)
    return error


def validate(machine: Machine, folded: dict[str, Any], tasks: Sequence[Task]) -> None:
    """Check folded values against a Pydantic state; the channel keeps what was folded."""
    validators = machine.plan.validators
    for key, value in folded.items():
        check = validators.get(key)
        if check is not None:
            try:
                check(key, value)
            except Exception as error:
                raise explained(error, machine, key, tasks, value) from error.__cause__


def preview(channel: BaseChannel[Any, Any, Any], values: Sequence[Any]) -> Any:
    """What a channel with a life of its own would hold after these writes; the channel itself is not touched."""
    trial = channel.copy()
    trial.update(values)
    return trial.get() if trial.is_available() else MISSING


def commit_objects(
    machine: Machine, tasks: Sequence[Task], folded: dict[str, Any], finishing: bool = False
) -> tuple[set[str], set[str]]:
    """Let the channels with a life of their own take the step's writes, or its end.

    Puts the visible value of each changed one into `folded`. Returns the names that changed, and those among them that
    now hold nothing.
    """
    writes = grouped(tasks)
    changed: set[str] = set()
    for task in tasks:
        for name in task.node.triggers:
            channel = machine.objects.get(name)
            if channel is not None and channel.consume():
                changed.add(name)
    for name, channel in machine.objects.items():
        values = writes.get(name)
        if values:
            try:
                if channel.update(values):
                    changed.add(name)
            except InvalidUpdateError as error:
                raise explained(error, machine, name, tasks, values) from error.__cause__
        elif channel.step_sensitive and channel.is_available() and channel.update(()):
            changed.add(name)
        folded.pop(name, None)
    return changed, show_objects(machine, changed, folded)


def finish_objects(machine: Machine, folded: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Tell the channels that nothing triggers any more."""
    changed = {name for name, channel in machine.objects.items() if channel.finish()}
    return changed, show_objects(machine, changed, folded)


def show_objects(machine: Machine, changed: set[str], folded: dict[str, Any]) -> set[str]:
    """Mirror changed channel objects in `folded`; answers which of them hold nothing now."""
    empty = set()
    for name in changed:
        channel = machine.objects[name]
        if channel.is_available():
            folded[name] = channel.get()
        else:
            empty.add(name)
    return empty


def gathered(tasks: Sequence[Task]) -> tuple[list[NodePlan], list[Send] | None]:
    """The nodes and Sends that the tasks of a superstep lead to, in the order of tasks."""
    pulls: list[NodePlan] = []
    sends: list[Send] | None = None
    for task in tasks:
        if task.targets:
            pulls += task.targets
        if task.sends:
            if sends is None:
                sends = list(task.sends)
            else:
                sends += task.sends
    return pulls, sends
