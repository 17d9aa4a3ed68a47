"""The ordered writer: what is stored leaves in order, in batches, while later steps run.

Jobs are appended from any thread; one drain at a time takes all that wait and performs them as one batch, on a pool
thread or, for savers that speak only async, on an event loop. The queue is bounded: a driver asks between steps and
waits while it is too full. After a failure nothing more is stored: later jobs are given to `drop`, and the failure is
raised to whoever waits next.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from stepgraph.pregel.drivers.pool import POOL

MAX_JOBS = 16
MAX_BYTES = 8 * 1024 * 1024


class OrderedWriter:
    """A queue of jobs with one consumer."""

    def __init__(
        self, perform: Callable[[Sequence[Any]], None], drop: Callable[[Sequence[Any]], None]
    ) -> None:
        self._perform = perform
        self._drop = drop
        self._jobs: list[Any] = []
        self._bytes = 0
        self._running = False
        self._changed = threading.Condition(threading.Lock())
        self._waiters: list[tuple[int, Callable[[], None]]] = []
        self.error: BaseException | None = None

    def submit(self, job: Any, size: int) -> None:
        """Queue a job; dropped if an earlier one failed."""
        with self._changed:
            dropped = self.error is not None
            if not dropped:
                self._jobs.append(job)
                self._bytes += size
                start = not self._running
                self._running = True
        if dropped:
            self._drop((job,))
        elif start:
            self._start()

    def _start(self) -> None:
        POOL.submit(self._drain)

    def _drain(self) -> None:
        while batch := self._take():
            try:
                self._perform(batch)
            except BaseException as error:
                self._fail(error)

    def _take(self) -> list[Any]:
        with self._changed:
            batch, self._jobs, self._bytes = self._jobs, [], 0
            self._running = bool(batch)
            ready = [waiter for waiter in self._waiters if not batch or waiter[0] > 0]
            self._waiters = [waiter for waiter in self._waiters if waiter not in ready]
            self._changed.notify_all()
        for _, call in ready:
            call()
        return batch

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            self.error = error
            dropped, self._jobs, self._bytes = self._jobs, [], 0
        self._drop(dropped)

    @property
    def full(self) -> bool:
        """Whether a driver should wait before it goes on."""
        return self.error is not None or len(self._jobs) > MAX_JOBS or self._bytes > MAX_BYTES

    @property
    def busy(self) -> bool:
        return self._running

    def wait(self, everything: bool) -> None:
        """Block until there is room again, or until everything is stored; raises what storing raised."""
        with self._changed:
            while self._running and (everything or self.full) and self.error is None:
                self._changed.wait()
            while self.error is not None and self._running:
                self._changed.wait()
        self.check()

    async def await_(self, everything: bool) -> None:
        """The same without blocking the event loop."""
        if self._running and (everything or self.full):
            import asyncio

            loop = asyncio.get_running_loop()
            future: asyncio.Future[None] = loop.create_future()

            def wake() -> None:
                loop.call_soon_threadsafe(_set, future)

            with self._changed:
                if self._running:
                    self._waiters.append((0 if everything else 1, wake))
                else:
                    future.set_result(None)
            await future
        self.check()

    def check(self) -> None:
        if self.error is not None:
            raise self.error


def _set(future: Any) -> None:
    if not future.done():
        future.set_result(None)


class LoopWriter(OrderedWriter):
    """The same for savers that speak only async: jobs are performed on an event loop."""

    def __init__(
        self,
        perform: Callable[[Sequence[Any]], Awaitable[None]],
        drop: Callable[[Sequence[Any]], None],
        loop: Any,
    ) -> None:
        super().__init__(lambda batch: None, drop)
        self._aperform = perform
        self._loop = loop
        self._task: Any = None

    def _start(self) -> None:
        self._loop.call_soon_threadsafe(self._spawn)

    def _spawn(self) -> None:
        self._task = self._loop.create_task(self._adrain())

    async def _adrain(self) -> None:
        while batch := self._take():
            try:
                await self._aperform(batch)
            except BaseException as error:
                self._fail(error)
