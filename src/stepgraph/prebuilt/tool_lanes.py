"""Several calls at once inside one task, each with counters of its own.

Theory of operation. The engine numbers what a task does: its questions to people, its nested graphs. Calls that run at
the same time would draw those numbers in the order in which threads happen to run, and after a pause an answer could
reach another call than the one that asked. So each call runs in a lane: a view of the task that shares all of it but the
counters.

- Nested graphs are numbered by lane and place in the lane, so the number is the same in every run.
- Questions are numbered in the order of calls. A call that asks before all calls ahead of it have ended is put off: it
  is stopped, and run again from its top once they have. What a call does before it asks must bear repeating anyway.
- A call that fails ends the others: those that have not begun are not begun, coroutines are cancelled, threads waited for.

One question is shown at a time, that of the first call that waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context
from typing import Any, cast

from stepgraph.errors import GraphBubbleUp
from stepgraph.pregel.drivers.pool import SharedStep, helpers_for
from stepgraph.pregel.task import CURRENT, Task, current_task


class NotYet(GraphBubbleUp):
    """A call asked a person although a call ahead of it may still do so."""


class Lane(Task):
    """The task as one of several calls sees it."""

    __slots__ = ("_ahead", "_base", "_calls", "_children", "_lane", "_lanes", "_task")

    def __init__(self, task: Task, lane: int, outcomes: list[Outcome]) -> None:
        self.__dict__ = task.__dict__
        self._task = task
        self._lane = lane
        self._lanes = len(outcomes)
        self._ahead = outcomes[:lane]
        self._base = (task.child_count, task.call_count)
        self._children = self._calls = 0

    @property
    def interrupt_count(self) -> int:  # type: ignore[override]
        """The number of the next question; drawn in the order of calls."""
        if not all(outcome.settled for outcome in self._ahead):
            raise NotYet()
        return self._task.interrupt_count

    @interrupt_count.setter
    def interrupt_count(self, count: int) -> None:
        self._task.interrupt_count = count

    @property
    def child_count(self) -> int:  # type: ignore[override]
        """The number of the next nested graph."""
        return self._base[0] + self._lane + self._children * self._lanes

    @child_count.setter
    def child_count(self, count: int) -> None:
        self._children += 1

    @property
    def call_count(self) -> int:  # type: ignore[override]
        """The number of the next `@task`."""
        return self._base[1] + self._lane + self._calls * self._lanes

    @call_count.setter
    def call_count(self, count: int) -> None:
        self._calls += 1

    def used(self) -> tuple[int, int]:
        """How many nested graphs and `@task`s this call has started."""
        return self._children, self._calls


class Outcome:
    """What became of one call."""

    __slots__ = ("error", "lane", "result", "settled")

    def __init__(self) -> None:
        self.settled = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.lane: Lane | None = None

    def enter(self, task: Task | None, number: int, outcomes: list[Outcome]) -> None:
        """Make the calling context that of a lane."""
        self.error = None
        if task is not None:
            self.lane = Lane(task, number, outcomes)
            CURRENT.set(self.lane)

    def end(self, result: Any) -> None:
        self.result = result
        self.settled = True


def run_calls(calls: Sequence[Any], run: Callable[[Any], Any], limit: int | None) -> list[Any]:
    """Run a function on each call, on several threads, and answer its results in the order of calls.

    Raises:
        BaseException: What the first call that failed raised; else the pause of the first that waits.
    """
    task = current_task()
    if len(calls) == 1 or isinstance(task, Lane):
        return [run(call) for call in calls]
    outcomes = [Outcome() for _ in calls]
    failed = False

    def attempt(number: int) -> None:
        nonlocal failed
        if failed:
            return
        outcome = outcomes[number]
        outcome.enter(task, number, outcomes)
        try:
            outcome.end(run(calls[number]))
        except BaseException as error:
            outcome.error = error
            failed = failed or not isinstance(error, GraphBubbleUp)

    numbers = cast(Any, range(len(calls)))
    step = SharedStep(numbers, lambda number: copy_context().run(attempt, cast(Any, number)), helpers_for(numbers, limit))
    step.start()
    try:
        step.work()
        step.wait()
    except BaseException:
        step.abandon()
        raise
    _raise_failure(outcomes)
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome.error, NotYet):
            copy_context().run(attempt, number)
        _raise_pause(outcome)
    return _finish(task, outcomes)


async def arun_calls(
    calls: Sequence[Any], run: Callable[[Any], Awaitable[Any]], limit: int | None
) -> list[Any]:
    """The same on the running event loop.

    Raises:
        BaseException: What the first call that failed raised; else the pause of the first that waits.
    """
    task = current_task()
    if len(calls) == 1 or isinstance(task, Lane):
        return [await run(call) for call in calls]
    outcomes = [Outcome() for _ in calls]
    slots = asyncio.Semaphore(limit or len(calls) or 1)

    async def attempt(number: int) -> None:
        outcome = outcomes[number]
        async with slots:
            outcome.enter(task, number, outcomes)
            try:
                outcome.end(await run(calls[number]))
            except BaseException as error:
                outcome.error = error
                if not isinstance(error, GraphBubbleUp):
                    raise

    await _all_or_first_failure([asyncio.create_task(attempt(number)) for number in range(len(calls))])
    _raise_failure(outcomes)
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome.error, NotYet):
            await asyncio.create_task(attempt(number))
        _raise_pause(outcome)
    return _finish(task, outcomes)


async def _all_or_first_failure(running: list[asyncio.Task[None]]) -> None:
    try:
        await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _raise_failure(outcomes: Sequence[Outcome]) -> None:
    """A failure counts more than the cancellation of others that it caused."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    failures = [error for error in errors if not isinstance(error, GraphBubbleUp)]
    first = [error for error in failures if not isinstance(error, asyncio.CancelledError)] or failures
    if first:
        raise first[0]


def _raise_pause(outcome: Outcome) -> None:
    if outcome.error is not None:
        raise outcome.error


def _finish(task: Task | None, outcomes: Sequence[Outcome]) -> list[Any]:
    """Let the task count on behind the numbers that the lanes have used."""
    if task is not None:
        used = [outcome.lane.used() for outcome in outcomes if outcome.lane is not None]
        task.child_count += max(children for children, _ in used) * len(outcomes)
        task.call_count += max(calls for _, calls in used) * len(outcomes)
    return [outcome.result for outcome in outcomes]
