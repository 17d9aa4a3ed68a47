"""The pool of worker threads, and how the sync tasks of one superstep share it.

Theory of operation. The pool is elastic: a job that finds no idle worker gets a new thread, so nested fan-outs and
siblings that wait for each other cannot starve. Idle workers leave after a moment. Within one superstep the workers
draw tasks from one shared iterator; helpers are woken in a chain (each wakes the next one while tasks are left), so
trivial tasks pay for one wake-up and blocking ones get full concurrency. The superstep ends by a countdown.

Waking a thread costs more than a quick node takes. A superstep whose nodes were all quick the last time therefore wakes
nobody at first; a watch that ticks every two milliseconds wakes its helpers if it is still there at the second tick,
so that siblings that wait for each other do meet.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.drivers.stopping import request_stop

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task

IDLE_SECONDS = 0.25
MAX_HELPERS = 64
QUICK_SECONDS = 0.0005
TICK_SECONDS = 0.002


class Pool:
    """Worker threads that come when they are needed and leave when they are not."""

    def __init__(self) -> None:
        self._jobs: deque[Callable[[], None]] = deque()
        self._idle = 0
        self._ready = threading.Condition(threading.Lock())

    def submit(self, job: Callable[[], None]) -> None:
        """Run `job` soon on a thread of its own; it must not raise."""
        with self._ready:
            if self._idle > len(self._jobs):
                self._jobs.append(job)
                self._ready.notify()
                return
        threading.Thread(target=self._work, args=(job,), name="stepgraph-worker", daemon=True).start()

    def _work(self, job: Callable[[], None]) -> None:
        while True:
            job()
            del job
            with self._ready:
                self._idle += 1
                while not self._jobs:
                    if not self._ready.wait(IDLE_SECONDS) and not self._jobs:
                        self._idle -= 1
                        return
                self._idle -= 1
                job = self._jobs.popleft()


POOL = Pool()


class Watch:
    """Wakes the helpers of supersteps that were taken for quick and are not; its thread leaves when there are none."""

    def __init__(self) -> None:
        self._steps: dict[int, tuple[SharedStep, int]] = {}
        self._lock = threading.Lock()
        self._awake = False

    def add(self, step: SharedStep) -> None:
        with self._lock:
            self._steps[id(step)] = (step, 0)
            start = not self._awake
            self._awake = True
        if start:
            POOL.submit(self._tick)

    def remove(self, step: SharedStep) -> None:
        with self._lock:
            self._steps.pop(id(step), None)

    def _tick(self) -> None:
        idle = 0
        while True:
            sleep(TICK_SECONDS)
            with self._lock:
                late = [step for step, age in self._steps.values() if age]
                self._steps = {key: (step, 1) for key, (step, age) in self._steps.items() if not age}
                idle = 0 if self._steps or late else idle + 1
                if idle > 20:
                    self._awake = False
                    return
            for step in late:
                step.start()


WATCH = Watch()


class SharedStep:
    """The sync tasks of one superstep, drawn by several threads from one iterator.

    `run_one` runs a task and must not raise for what is the task's own outcome; what it does raise ends the step: no
    further task is started, those that run are waited for, and the first error is raised by `wait`.
    """

    __slots__ = (
        "_context",
        "_done",
        "_helpers",
        "_lock",
        "_machine",
        "_notify",
        "_run_one",
        "_tasks",
        "errors",
        "left",
    )

    def __init__(
        self,
        tasks: Sequence[Task],
        run_one: Callable[[Task], None],
        helpers: int,
        notify: Callable[[], None] | None = None,
    ) -> None:
        self._tasks: Iterator[Task] = iter(tasks)
        self._machine = tasks[0].machine
        self._run_one = run_one
        self._helpers = helpers
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._notify = notify
        self._context = copy_context()
        self.left = len(tasks)
        self.errors: list[BaseException] = []

    def start(self) -> None:
        """Wake the first helper."""
        with self._lock:
            wake = self._helpers > 0
            self._helpers -= wake
        if wake:
            POOL.submit(self._help)

    def _help(self) -> None:
        with self._lock:
            wake = self._helpers > 0 and self._tasks.__length_hint__() > 1  # type: ignore[attr-defined]
            self._helpers -= wake
        if wake:
            POOL.submit(self._help)
        self._context.copy().run(self.work)

    def work(self) -> None:
        """Run tasks until none is left; the calling thread may do it too."""
        ended = 0
        began = perf_counter()
        for task in self._tasks:
            ended += 1
            try:
                self._run_one(task)
            except BaseException as error:
                self.errors.append(error)
                request_stop(self._machine)
                ended += self.stop()
            now = perf_counter()
            task.node.quick = now - began < QUICK_SECONDS
            began = now
            if self._notify is not None:
                self._count(ended)
                ended = 0
        if ended:
            self._count(ended)

    def run(self, quick: bool) -> None:
        """Run all tasks with the calling thread among the workers; raises the first error."""
        if quick:
            WATCH.add(self)
        else:
            self.start()
        try:
            self.work()
            self.wait()
        except BaseException:
            self.abandon()
            raise
        finally:
            if quick:
                WATCH.remove(self)

    def stop(self) -> int:
        """Start no further task; answers how many were not started."""
        return sum(1 for _ in self._tasks)

    def _count(self, ended: int) -> None:
        with self._lock:
            self.left -= ended
            last = self.left <= 0
        if last:
            self._done.set()
        if self._notify is not None:
            self._notify()

    def abandon(self) -> None:
        """Called when the waiting thread was interrupted: start nothing more, and wait for what runs."""
        request_stop(self._machine)
        skipped = self.stop()
        if skipped:
            self._count(skipped)
        self._done.wait()

    def wait(self) -> None:
        """Wait until every task has ended; raises the first error."""
        self._done.wait()
        if self.errors:
            raise self.errors[0]


def helpers_for(tasks: Sequence[Any], limit: int | None) -> int:
    """How many helper threads a superstep may use beside the calling one."""
    most = min(len(tasks), MAX_HELPERS) - 1
    return most if limit is None else max(0, min(most, limit - 1))
