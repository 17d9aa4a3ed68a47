"""The ids of tasks: where in which checkpoint a task runs, as text of the form of a UUID.

Rules of this file: pure functions of text, part of the stored format: savers that store a task's place work its id out
again when they are read.
"""

from __future__ import annotations

from hashlib import blake2b

from stepgraph.values.names import PULL, PUSH

__all__ = ("pull_path", "push_path", "task_id")


def task_id(checkpoint_id: str, namespace: str, step: int, name: str, path: str) -> str:
    """The id of one task: the same for the same place in the same checkpoint, so that a resume finds it again."""
    h = blake2b(f"{checkpoint_id}\0{namespace}\0{step}\0{name}\0{path}".encode(), digest_size=16).hexdigest()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def pull_path(name: str) -> str:
    """The path of a task whose node was triggered, as sortable text."""
    return f"~{PULL}, {name}"


def push_path(index: int) -> str:
    """The path of the task of a step's `Send` number `index`, as sortable text."""
    return f"~{PUSH}, {index:010d}, False"
