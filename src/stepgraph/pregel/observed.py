"""Attempts and ends of runs that an observer watches: what `call.py` and `ending.py` do, with its hooks between.

Rules of this file: it decides nothing. A change of what an attempt does is made in `call.py`, and followed here.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from stepgraph.errors import ParentCommand
from stepgraph.pregel.branches import branch_input, follow
from stepgraph.pregel.call import OffLoop, commands_of, complain_swallowed, own_input
from stepgraph.pregel.ending import outcome
from stepgraph.pregel.results import join_written
from stepgraph.pregel.task import CURRENT

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.observing import Observer
    from stepgraph.pregel.plan import BranchPlan
    from stepgraph.pregel.task import Task


def execute_observed(task: Task, observer: Observer) -> None:
    """One attempt of a task whose node and branches are synchronous."""
    CURRENT.set(task)
    node = task.node
    if task.index >= 0:
        task.input = own_input(task.argument)
    observer.task_begins(task)
    handed_up: ParentCommand | None = None
    try:
        try:
            result = node.call(task)  # type: ignore[misc]
        except BaseException as error:
            if task.calls is not None:
                task.calls.close(task, error)
            if not isinstance(error, ParentCommand) or not task.takes_commands:
                raise
            handed_up = error
            result = commands_of(error)
            task.swallowed = None
        if task.swallowed is not None:
            if task.calls is not None:
                task.calls.settle(task)
            complain_swallowed(task)
        node.take(task, result)
        if task.written is not None:
            join_written(task)
        if node.branches:
            _follow_branches(task, observer)
    except BaseException as error:
        observer.task_fails(task, error)
        raise
    if handed_up is None:
        observer.task_ends(task, result)
    else:
        observer.task_fails(task, handed_up)


def _follow_branches(task: Task, observer: Observer) -> None:
    for number, branch in enumerate(task.node.branches):
        follow(task, branch, _ask(branch_input(task, branch), task, branch, number, observer))


def _ask(state: Any, task: Task, branch: BranchPlan, number: int, observer: Observer) -> Any:
    """Call a synchronous path function, here or on a worker thread."""
    observer.branch_begins(task, branch, number, state)
    try:
        answer = branch.path(state, task)  # type: ignore[misc]
    except BaseException as error:
        observer.branch_fails(task, error)
        raise
    observer.branch_ends(task, answer)
    return answer


def observed_outcome(machine: Machine) -> Any:
    """The output of a level that ended, of which the observer is told; raises as `outcome` does."""
    observer = machine.scope.observer
    try:
        result = outcome(machine)
    except BaseException as error:
        observer.run_fails(machine, error)
        raise
    observer.run_ends(machine, machine.output() if machine.produced else None)
    return result


async def aobserved_outcome(machine: Machine) -> Any:
    """The same on the event loop."""
    observer = machine.scope.observer
    try:
        result = outcome(machine)
    except BaseException as error:
        await observer.arun_fails(machine, error)
        raise
    await observer.arun_ends(machine, machine.output() if machine.produced else None)
    return result


async def aexecute_observed(task: Task, observer: Observer, off_loop: OffLoop | None = None) -> None:
    """One attempt of a task in an async run; the current context is the task's own."""
    node = task.node
    if task.index >= 0:
        task.input = own_input(task.argument)
    handed_up: ParentCommand | None = None
    try:
        await observer.atask_begins(task)
        try:
            acall = node.acall
            result = await acall(task) if acall is not None else node.call(task)  # type: ignore[misc]
        except BaseException as error:
            if task.calls is not None:
                await task.calls.aclose(task, error)
            if not isinstance(error, ParentCommand) or not task.takes_commands:
                raise
            handed_up = error
            result = commands_of(error)
            task.swallowed = None
        if task.swallowed is not None:
            if task.calls is not None:
                await task.calls.asettle(task)
            complain_swallowed(task)
        node.take(task, result)
        if task.written is not None:
            join_written(task)
        if node.branches:
            await _afollow_branches(task, observer, off_loop)
    except BaseException as error:
        await observer.atask_fails(task, error)
        raise
    if handed_up is None:
        await observer.atask_ends(task, result)
    else:
        await observer.atask_fails(task, handed_up)


async def _afollow_branches(task: Task, observer: Observer, off_loop: OffLoop | None) -> None:
    for number, branch in enumerate(task.node.branches):
        state = branch_input(task, branch)
        if branch.apath is None and off_loop is not None:
            ask = partial(_ask, branch=branch, number=number, observer=observer)
            answer: Any = await off_loop(task, ask, state)
        else:
            answer = await _aask(state, task, branch, number, observer)
        follow(task, branch, answer)


async def _aask(state: Any, task: Task, branch: BranchPlan, number: int, observer: Observer) -> Any:
    """Call a path function on the event loop."""
    await observer.abranch_begins(task, branch, number, state)
    try:
        if branch.apath is not None:
            answer = await branch.apath(state, task)
        else:
            answer = branch.path(state, task)  # type: ignore[misc]
    except BaseException as error:
        await observer.abranch_fails(task, error)
        raise
    await observer.abranch_ends(task, answer)
    return answer
