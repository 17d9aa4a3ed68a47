"""Watching attempts from outside of the engine: the hook for tracing and callbacks.

A run that is watched has an observer on its scope. Both drivers enter `around(task)` once for each attempt, inside the
task's own context, and leave it with the attempt's exception, if there is one; pauses and hand-overs come as exceptions
too. `task.attempt` says which attempt it is, `task.config` and `task.runtime` are there to look at, and what the attempt
wrote stands on the task when the block is left without an exception.

Rules of this file: the base that does nothing. An observer derives from it and lives in the room of what it reports to.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task


class Observer:
    """Sees nothing; a run whose tasks are governed by something else than policies has this one."""

    def around(self, task: Task) -> AbstractContextManager[None]:
        """What to enter around an attempt in a synchronous driver."""
        return nullcontext()

    def aaround(self, task: Task) -> AbstractAsyncContextManager[None]:
        """The same in an asynchronous driver."""
        return nullcontext()


UNSEEN = Observer()
