"""Several observers of one run: the first is the outer one, it hears of a beginning first and of an end last.

Rules of this file: it knows the protocol in `observing.py`, and no observer in particular.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.observing import UNSEEN, Observer

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import CheckpointTuple
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.plan import BranchPlan
    from stepgraph.pregel.task import Task


def together(first: Observer | None, second: Observer) -> Observer:
    """The observer that tells both; the second alone where the first is nobody."""
    return second if first is None or first is UNSEEN else Both(first, second)


def is_among(observer: Observer, all: Observer | None) -> bool:
    """Whether an observer is the given one, or one of those that it tells."""
    if isinstance(all, Both):
        return is_among(observer, all.outer) or is_among(observer, all.inner)
    return observer is all


class Both(Observer):
    """Tells two observers of everything."""

    def __init__(self, outer: Observer, inner: Observer) -> None:
        self.outer = outer
        self.inner = inner

    def run_begins(self, machine: Machine, input: Any) -> None:
        self.outer.run_begins(machine, input)
        self.inner.run_begins(machine, input)

    def run_loads(self, machine: Machine, loaded: CheckpointTuple) -> None:
        self.outer.run_loads(machine, loaded)
        self.inner.run_loads(machine, loaded)

    def run_resumes(self, machine: Machine) -> None:
        self.outer.run_resumes(machine)
        self.inner.run_resumes(machine)

    def run_ends(self, machine: Machine, output: Any) -> None:
        try:
            self.inner.run_ends(machine, output)
        finally:
            self.outer.run_ends(machine, output)

    def run_fails(self, machine: Machine, error: BaseException) -> None:
        try:
            self.inner.run_fails(machine, error)
        finally:
            self.outer.run_fails(machine, error)

    def task_begins(self, task: Task) -> None:
        self.outer.task_begins(task)
        self.inner.task_begins(task)

    def task_ends(self, task: Task, result: Any) -> None:
        try:
            self.inner.task_ends(task, result)
        finally:
            self.outer.task_ends(task, result)

    def task_fails(self, task: Task, error: BaseException) -> None:
        try:
            self.inner.task_fails(task, error)
        finally:
            self.outer.task_fails(task, error)

    def branch_begins(self, task: Task, branch: BranchPlan, number: int, state: Any) -> None:
        self.outer.branch_begins(task, branch, number, state)
        self.inner.branch_begins(task, branch, number, state)

    def branch_ends(self, task: Task, answer: Any) -> None:
        self.inner.branch_ends(task, answer)
        self.outer.branch_ends(task, answer)

    def branch_fails(self, task: Task, error: BaseException) -> None:
        self.inner.branch_fails(task, error)
        self.outer.branch_fails(task, error)

    def tool_begins(self, task: Task, name: str, call_id: str | None, arguments: Any) -> Any:
        outer = self.outer.tool_begins(task, name, call_id, arguments)
        inner = self.inner.tool_begins(task, name, call_id, arguments)
        return None if outer is inner is None else (outer, inner)

    def tool_ends(self, begun: Any, result: Any) -> None:
        self.inner.tool_ends(begun[1], result)
        self.outer.tool_ends(begun[0], result)

    def tool_fails(self, begun: Any, error: BaseException) -> None:
        self.inner.tool_fails(begun[1], error)
        self.outer.tool_fails(begun[0], error)

    def shipped(self, task: Task, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return self.outer.shipped(task, self.inner.shipped(task, function))

    async def arun_begins(self, machine: Machine, input: Any) -> None:
        await self.outer.arun_begins(machine, input)
        await self.inner.arun_begins(machine, input)

    async def arun_resumes(self, machine: Machine) -> None:
        await self.outer.arun_resumes(machine)
        await self.inner.arun_resumes(machine)

    async def arun_ends(self, machine: Machine, output: Any) -> None:
        try:
            await self.inner.arun_ends(machine, output)
        finally:
            await self.outer.arun_ends(machine, output)

    async def arun_fails(self, machine: Machine, error: BaseException) -> None:
        try:
            await self.inner.arun_fails(machine, error)
        finally:
            await self.outer.arun_fails(machine, error)

    async def atask_begins(self, task: Task) -> None:
        await self.outer.atask_begins(task)
        await self.inner.atask_begins(task)

    async def atask_ends(self, task: Task, result: Any) -> None:
        try:
            await self.inner.atask_ends(task, result)
        finally:
            await self.outer.atask_ends(task, result)

    async def atask_fails(self, task: Task, error: BaseException) -> None:
        try:
            await self.inner.atask_fails(task, error)
        finally:
            await self.outer.atask_fails(task, error)

    async def abranch_begins(self, task: Task, branch: BranchPlan, number: int, state: Any) -> None:
        await self.outer.abranch_begins(task, branch, number, state)
        await self.inner.abranch_begins(task, branch, number, state)

    async def abranch_ends(self, task: Task, answer: Any) -> None:
        await self.inner.abranch_ends(task, answer)
        await self.outer.abranch_ends(task, answer)

    async def abranch_fails(self, task: Task, error: BaseException) -> None:
        await self.inner.abranch_fails(task, error)
        await self.outer.abranch_fails(task, error)
