"""Names of things: ids of tasks and interrupts, and the namespaces of nested graphs.

Rules of this file: pure functions of text. The same inputs give the same ids in every process, which is what lets a
resumed run find the tasks, children and questions of the run that paused.

A namespace is `node:task_id|node:task_id|...`: `|` between levels, `:` before a task id. A child that keeps its state
over calls (`checkpointer=True`) lives at the same path with the task ids cut out.
"""

from __future__ import annotations

from hashlib import blake2b

from stepgraph.values.names import NS_END, NS_SEP
from stepgraph.values.task_ids import task_id

__all__ = (
    "call_id",
    "call_place",
    "child_namespace",
    "digest",
    "interrupt_id",
    "is_interrupt_id",
    "name_digest",
    "namespace_tuple",
    "task_id",
    "without_last_task_id",
    "without_task_ids",
)


def digest(text: str) -> str:
    """32 hexadecimal digits that depend on nothing but the text."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def call_id(caller: str, attempt: int, number: int, name: str) -> str:
    """The id of a task call: its first 96 bits say the place of the call, the last 32 which task is called there."""
    place = blake2b(f"{caller}\0call\0{attempt}\0{number}".encode(), digest_size=12).hexdigest()
    return f"{place[:8]}-{place[8:12]}-{place[12:16]}-{place[16:20]}-{place[20:]}{name_digest(name)}"


def call_place(id: str) -> str:
    """What ids of different tasks that are called at the same place have in common."""
    return id[:28]


def name_digest(name: str) -> str:
    """The part of a call's id that its task's name gives."""
    return blake2b(name.encode(), digest_size=4).hexdigest()


def interrupt_id(task: str, index: int) -> str:
    """The id of the `index`-th question that a task asks."""
    return digest(f"{task}\0interrupt\0{index}")


def is_interrupt_id(text: object) -> bool:
    """Whether a key of a resume map can be an interrupt's id: 32 hexadecimal digits."""
    return isinstance(text, str) and len(text) == 32 and all(c in "0123456789abcdef" for c in text)


def child_namespace(parent: str, node: str, task: str) -> str:
    """Where a graph runs that the task `task` of node `node` starts."""
    segment = f"{node}{NS_END}{task}"
    return f"{parent}{NS_SEP}{segment}" if parent else segment


def without_task_ids(namespace: str) -> str:
    """The namespace of a child with `checkpointer=True`: every task id on the path is cut, counters stay."""
    return NS_SEP.join(part.partition(NS_END)[0] for part in namespace.split(NS_SEP))


def without_last_task_id(namespace: str) -> str:
    """Names a child whichever task started it: used to tell the first visit of a replay from later ones."""
    return namespace.rpartition(NS_END)[0] or namespace


def namespace_tuple(namespace: str) -> tuple[str, ...]:
    """The form that stream parts carry: one entry a level, () for the root."""
    return tuple(namespace.split(NS_SEP)) if namespace else ()
