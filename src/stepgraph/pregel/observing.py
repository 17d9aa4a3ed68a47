"""What watches a run: the protocol that callbacks, tracers and meters implement.

Theory of operation. `scope.observer` is None, or one `Observer` that is told of every run of that scope (the root's and
those of nested graphs), of every attempt of a task, and of every path function, in the order in which they begin and end;
`None` costs one comparison a task that has to be made anyway, and no call. `machine.observed` and `task.observed` belong to
LangChain's observer: `task.observed.callbacks` becomes the `callbacks` of the config that the node is given. Any other
observer is made anew for each root run by a `Watcher` (see `Pregel.watcher`), and keeps what it knows itself; an attempt with a
time limit runs with twins of its machine and task, which share `machine.level` and `task.id` with them. Several observers of
one run: `observers.py`.

Each hook exists twice. The plain one is called where code runs that may block: in synchronous runs, and on worker threads
of asynchronous ones. The one with an `a` is awaited on the event loop. An observer that never waits implements the plain
ones only.

Rules of this file: pure; it knows no library that an observer reports to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import CheckpointTuple
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.plan import BranchPlan
    from stepgraph.pregel.task import Task


class Watcher(Protocol):
    """Makes an observer for each root run of the graphs that it watches."""

    def observer_of(self, machine: Machine) -> Observer | None:
        """The observer of a run that was just opened; None to let it pass."""


class Observer:
    """Watches the runs of one scope; every hook does nothing unless it is overridden."""

    def run_begins(self, machine: Machine, input: Any) -> None:
        """A run begins, before its input is looked at."""

    def run_loads(self, machine: Machine, loaded: CheckpointTuple) -> None:
        """The run goes on from, or replays, this checkpoint; told before anything is stored. Never awaited."""

    def run_resumes(self, machine: Machine) -> None:
        """The run that has begun goes on from a stored checkpoint."""

    def run_ends(self, machine: Machine, output: Any) -> None:
        """A run came to its end or pauses; `output` is its state as the output schema shows it."""

    def run_fails(self, machine: Machine, error: BaseException) -> None:
        """A run ends by an exception: of a node, or one that hands a pause or a command up."""

    def task_begins(self, task: Task) -> None:
        """An attempt begins; called in the task's own context."""

    def task_ends(self, task: Task, result: Any) -> None:
        """An attempt returned `result`, and its path functions have run."""

    def task_fails(self, task: Task, error: BaseException) -> None:
        """An attempt, or one of its path functions, raised."""

    def branch_begins(self, task: Task, branch: BranchPlan, number: int, state: Any) -> None:
        """The path function of a conditional edge is about to run; `number` counts the node's edges from 0."""

    def branch_ends(self, task: Task, answer: Any) -> None:
        """The path function answered."""

    def branch_fails(self, task: Task, error: BaseException) -> None:
        """The path function raised."""

    def tool_begins(self, task: Task, name: str, call_id: str | None, arguments: Any) -> Any:
        """A `ToolNode` calls a tool; what is answered here is given back when the call ends, in the same context. None: no
        interest. Never awaited, like the two below."""
        return None

    def tool_ends(self, begun: Any, result: Any) -> None:
        """The tool answered."""

    def tool_fails(self, begun: Any, error: BaseException) -> None:
        """The tool raised."""

    def shipped(self, task: Task, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """What is sent to another process in place of a node's function."""
        return function

    async def arun_begins(self, machine: Machine, input: Any) -> None:
        """`run_begins` on the event loop."""
        self.run_begins(machine, input)

    async def arun_resumes(self, machine: Machine) -> None:
        """`run_resumes` on the event loop."""
        self.run_resumes(machine)

    async def arun_ends(self, machine: Machine, output: Any) -> None:
        """`run_ends` on the event loop."""
        self.run_ends(machine, output)

    async def arun_fails(self, machine: Machine, error: BaseException) -> None:
        """`run_fails` on the event loop."""
        self.run_fails(machine, error)

    async def atask_begins(self, task: Task) -> None:
        """`task_begins` on the event loop."""
        self.task_begins(task)

    async def atask_ends(self, task: Task, result: Any) -> None:
        """`task_ends` on the event loop."""
        self.task_ends(task, result)

    async def atask_fails(self, task: Task, error: BaseException) -> None:
        """`task_fails` on the event loop."""
        self.task_fails(task, error)

    async def abranch_begins(self, task: Task, branch: BranchPlan, number: int, state: Any) -> None:
        """`branch_begins` on the event loop."""
        self.branch_begins(task, branch, number, state)

    async def abranch_ends(self, task: Task, answer: Any) -> None:
        """`branch_ends` on the event loop."""
        self.branch_ends(task, answer)

    async def abranch_fails(self, task: Task, error: BaseException) -> None:
        """`branch_fails` on the event loop."""
        self.branch_fails(task, error)


UNSEEN = Observer()
"""The observer of a run that nobody watches, but whose tasks are governed by something else than policies."""
