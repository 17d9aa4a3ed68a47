"""Task ids that were given elsewhere: by the program that stored a thread which was imported here.

Theory of operation. A task's id follows from its place (`identity.py`), unless the checkpoint says otherwise: for a task
that has stored writes or nested graphs under another id, the importer stores one more pending write of the task, a mark
in the channel `__scheduled__`: a dict with the task's `path`, which is empty if it was not stored. Where a checkpoint is
loaded, each task that is due there takes the id that is marked with its path, or else the marked id that the other
program would have made of its place; so it finds its results, its children and its questions. A call of a task function
does the same when it is made. Tasks that fit no marked id, and those of later steps, have ids of our own.

Rules: pure. Costs nothing where nothing is marked but a look at the pending writes that were loaded anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.older import older_triggers
from stepgraph.values.names import INTERRUPT, RESUME, SCHEDULED

if TYPE_CHECKING:
    from stepgraph.pregel.calls import CallTask
    from stepgraph.pregel.task import Task

Pending = Mapping[str, Sequence[tuple[str, Any]]]


def marks_of(pending: Pending) -> dict[str, str]:
    """Id to path, which may be empty, of all tasks whose ids were given elsewhere."""
    return {
        task_id: str(value.get("path") or "")
        for task_id, pairs in pending.items()
        for channel, value in pairs
        if channel == SCHEDULED and isinstance(value, dict)
    }


def recognise(tasks: Iterable[Task], pending: Pending) -> None:
    """Give the tasks of a loaded step the ids under which something is stored of them."""
    marks = marks_of(pending)
    if not marks:
        return
    by_path = {path: task_id for task_id, path in marks.items() if path}
    for task in tasks:
        known = by_path.get(task.path_text) or next((id for id in _elsewhere(task) if id in marks), None)
        if known is not None:
            _become(task, known, pending, task.machine.namespace)


def recognise_handler(handler: Task, failed: Task, pending: Pending) -> None:
    """The same for the task that handles the failure of another."""
    for task_id, path in marks_of(pending).items():
        if path == handler.path_text:
            _become(handler, task_id, pending, failed.namespace)


def recognise_call(call: CallTask, pending: Pending) -> bool:
    """The same for a call; answers whether something is stored of it. Its id tells the name of the task, its path does not."""
    from stepgraph.checkpoint.imports.ids import call_parts, task_ids

    machine, caller = call.machine, call.caller
    parts = call_parts(_path_elsewhere(caller), call.number)
    for id in task_ids(machine.checkpoint_id, caller.namespace, machine.step, call.node.name, parts):
        if id in pending:
            _become(call, id, pending, caller.namespace)
            return True
    return False


def _path_elsewhere(task: Task) -> str:
    """The path as LangGraph writes it, which has a number for a truth value."""
    return task.path_text.replace(", False", f", {0:010d}")


def _elsewhere(task: Task) -> Iterator[str]:
    """The ids that LangGraph may have given to a task."""
    from stepgraph.checkpoint.imports.ids import node_parts, send_parts, task_ids

    machine, node = task.machine, task.node
    if task.index >= 0:
        choices = [send_parts(task.index)]
    else:
        choices = node_parts(node.triggers) + node_parts(older_triggers(machine.plan, node))
    for parts in choices:
        yield from task_ids(machine.checkpoint_id, machine.namespace, machine.step, node.name, parts)


def _become(task: Task, id: str, pending: Pending, namespace: str) -> None:
    """Give a task its id, and its waiting question the id under which a person may know it."""
    from stepgraph.checkpoint.imports.ids import question_ids

    task._id = id
    asked: list[str] = []
    answers: Sequence[Any] = ()
    for channel, value in pending[id]:
        if channel == INTERRUPT:
            asked = [question.id for question in value]
        elif channel == RESUME:
            answers = value if isinstance(value, (list, tuple)) else (value,)
    if asked:
        own = question_ids(namespace, task.former or task.node.name, id, len(answers))
        task.asked_as = next(((len(answers), known) for known in asked if known in own), None)


__all__ = ("marks_of", "recognise", "recognise_call", "recognise_handler")
