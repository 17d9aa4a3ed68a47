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
from contextvars import Context, copy_context
from functools import partial
from threading import Semaphore
from typing import Any

from stepgraph.errors import GraphBubbleUp
from stepgraph.pregel.drivers.pool import POOL
from stepgraph.pregel.task import CURRENT, Task, current_task

MAX_THREADS = 64


class NotYet(GraphBubbleUp):
    """A call asked a person although a call ahead of it may still do so."""


class Lane(Task):
    """The task as one of several calls sees it."""

    __slots__ = ("_ahead", "_first", "_lanes", "_task", "children")

    def __init__(self, task: Task, lane: int, outcomes: list[Outcome]) -> None:
        self.__dict__ = task.__dict__
        self._task = task
        self._ahead = outcomes[:lane]
        self._first = task.child_count + lane
        self._lanes = len(outcomes)
        self.children = 0

    @property
    def interrupt_count(self) -> int:
        """The number of the next question; drawn in the order of calls."""
        if not all(outcome.settled for outcome in self._ahead):
            raise NotYet()
        return self._task.interrupt_count

    @interrupt_count.setter
    def interrupt_count(self, count: int) -> None:
        self._task.interrupt_count = count

    @property
    def child_count(self) -> int:
        """The number of the next nested graph."""
        return self._first + self.children * self._lanes

    @child_count.setter
    def child_count(self, count: int) -> None:
        self.children += 1


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
    if len(calls) < 2 or isinstance(task, Lane):
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

    try:
        _on_threads(len(calls), attempt, limit)
    except BaseException:
        failed = True
        raise
    _raise_failure(outcomes)
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome.error, NotYet):
            copy_context().run(attempt, number)
        _raise_pause(outcome)
    return _finish(task, outcomes)


def _on_threads(count: int, attempt: Callable[[int], None], limit: int | None) -> None:
    """Call `attempt`, which must not raise, with each number; the calling thread does its share."""
    numbers = iter(range(count))
    helpers = min(count, limit or count, MAX_THREADS) - 1
    ended = Semaphore(0)

    def draw() -> None:
        for number in numbers:
            copy_context().run(attempt, number)

    def help_out(context: Context) -> None:
        try:
            context.run(draw)
        finally:
            ended.release()

    for _ in range(helpers):
        POOL.submit(partial(help_out, copy_context()))
    try:
        draw()
    finally:
        for _ in range(helpers):
            ended.acquire()


async def arun_calls(
    calls: Sequence[Any], run: Callable[[Any], Awaitable[Any]], limit: int | None
) -> list[Any]:
    """The same on the running event loop.

    Raises:
        BaseException: What the first call that failed raised; else the pause of the first that waits.
    """
    task = current_task()
    if len(calls) < 2 or isinstance(task, Lane):
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
        most = max(outcome.lane.children for outcome in outcomes if outcome.lane is not None)
        task.child_count += most * len(outcomes)
    return [outcome.result for outcome in outcomes]
