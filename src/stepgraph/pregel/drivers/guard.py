"""The border around one attempt that has a time limit: what crosses it counts as progress, until it is closed.

Theory of operation. A Python thread cannot be killed, so an attempt with a limit runs on a twin of its task, whose machine
is a twin too: its saver, its stream and those of all graphs below lead through one `Guard`. When the limit has passed the
guard is closed under its lock; from then on nothing of that attempt is stored or shown, whatever its thread still does,
and a graph that it runs ends at its next superstep. The task itself was not touched, so it can fail or be tried again at
once. An attempt that ends in time hands its twin's outcome over to the task.

Rules of this file: no waiting; `limits.py` and `limits_aio.py` wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from stepgraph.errors import NodeTimeoutError
from stepgraph.pregel.config import control_of
from stepgraph.pregel.machine import Machine
from stepgraph.pregel.policies import overdue, seconds_left
from stepgraph.stream.sink import Event, Sink, joined

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task
    from stepgraph.values.policies import TimeoutPolicy

_NO_MODES: frozenset[str] = frozenset()


class AttemptGivenUpError(BaseException):
    """Raised inside an attempt that nobody waits for any more, to end it; it reaches no caller."""


class Guard:
    """One attempt with a limit: how long it ran, when it last made progress, and whether it still counts."""

    __slots__ = ("_lock", "_outer", "_progressed", "_started", "closed", "limits")

    def __init__(self, limits: TimeoutPolicy, outer: Guard | None) -> None:
        self.limits = limits
        self.closed = False
        self._outer = outer
        self._lock = threading.RLock()
        self._started = self._progressed = monotonic()

    def progress(self, automatic: bool) -> None:
        """Something came out of the attempt: a heartbeat, or (`automatic`) any other sign of life."""
        if not automatic or self.limits.refresh_on == "auto":
            self._progressed = monotonic()
        if self._outer is not None:
            self._outer.progress(automatic)

    def check(self) -> None:
        """Raises AttemptGivenUpError if this attempt, or one around it, does not count any more."""
        if self.given_up:
            raise AttemptGivenUpError

    @property
    def given_up(self) -> bool:
        """Whether nobody waits for this attempt any more, or for one around it."""
        return self.closed or (self._outer is not None and self._outer.given_up)

    def through(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Do what leaves the attempt, unless it is closed; closing waits until it is done."""
        with self._lock:
            self.check()
            return action(*arguments)

    def seconds_left(self) -> float:
        """How long the attempt may go on if it makes no progress."""
        return min(3600.0, seconds_left(self.limits, self._started, self._progressed, monotonic()))

    def close_if_overdue(self, node: str, ended: Callable[[], bool]) -> NodeTimeoutError | None:
        """Close if a limit has passed and the attempt has not ended; answers the error that says so."""
        with self._lock:
            late = overdue(self.limits, self._started, self._progressed, monotonic())
            if late is None or ended():
                return None
            self.closed = True
        limits: Any = self.limits
        return NodeTimeoutError(
            node,
            late.elapsed,
            kind=late.kind,
            idle_timeout=limits.idle_timeout,
            run_timeout=limits.run_timeout,
        )

    def close(self) -> None:
        """Nobody waits for the attempt any more."""
        with self._lock:
            self.closed = True


class GuardedSink(Sink):
    """A sink behind a guard; where nobody listens it still notices progress and the end."""

    __slots__ = ("guard", "inner")

    def __init__(self, guard: Guard, inner: Sink | None) -> None:
        super().__init__(
            _NO_MODES if inner is None else inner.modes, self._pass, str if inner is None else inner.stamp
        )
        self.guard = guard
        self.inner = inner

    def _pass(self, event: Event) -> None:
        if self.inner is not None:
            self.guard.through(self.inner.put, event)

    def beside(self, other: Sink) -> Sink:
        """The same guard around this sink and another."""
        return GuardedSink(self.guard, joined(other, self.inner))

    def tasks_begin(self, tasks: Sequence[Task]) -> None:
        self.guard.check()
        self.guard.progress(True)
        super().tasks_begin(tasks)

    def task_done(self, task: Task) -> None:
        self.guard.progress(True)
        super().task_done(task)


class _Guarded:
    """A recorder or ledger behind a guard: it reads as ever, its writes pass through the guard."""

    _writing: frozenset[str] = frozenset(("step", "writes", "write", "write_as"))

    def __init__(self, guard: Guard, inner: Any) -> None:
        self._guard = guard
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in self._writing:
            return found
        return lambda *arguments: self._guard.through(found, *arguments)


def guarded(task: Task, guard: Guard) -> Task:
    """A twin of a task that runs behind a guard."""
    machine = task.machine
    control_of(machine)
    twin = Machine.__new__(Machine)
    for name in Machine.__slots__:
        if hasattr(machine, name):
            setattr(twin, name, getattr(machine, name))
    twin.guard = guard
    twin.sink = None if machine.sink is None else GuardedSink(guard, machine.sink)
    twin.child_sink = GuardedSink(guard, machine.child_sink)
    if machine.recorder is not None:
        twin.recorder = _Guarded(guard, machine.recorder)
    if machine.ledger is not None:
        twin.ledger = _Guarded(guard, machine.ledger)  # type: ignore[assignment]
    copy = task.__class__.__new__(task.__class__)
    copy.__dict__.update(task.__dict__)
    copy.machine = twin
    return copy


def hand_over(twin: Task, task: Task) -> None:
    """What an attempt that ended in time left on its task becomes the task's own."""
    outcome = {**twin.__dict__, "machine": task.machine, "_config": None, "_runtime": None}
    task.__dict__.update(outcome)
