"""Where coroutines run that a synchronous run meets: one event loop on a helper thread, made when first needed.

A root run owns at most one. In a worker thread of an asynchronous run the outer run's loop is used instead, so that
clients made there keep working.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any


class LoopHost:
    """An event loop that other threads may hand coroutines to."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._borrowed = loop
        self._own: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._running: dict[asyncio.Task[Any], Callable[[], bool]] = {}

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop; its thread is started when it is first asked for."""
        if self._borrowed is not None and not _runs_here(self._borrowed):
            return self._borrowed
        with self._lock:
            if self._own is None:
                self._own = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._own.run_forever, name="stepgraph-loop", daemon=True
                )
                self._thread.start()
            return self._own

    def owns(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether coroutines of the run are at home on this loop."""
        return loop is self._borrowed or loop is self._own

    def run(
        self,
        make: Callable[[], Coroutine[Any, Any, Any]],
        context: Context,
        stopping: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Run a coroutine on the loop in the given context and wait for its result; an interrupted wait cancels it.

        Args:
            make: Makes the coroutine.
            context: Where it runs.
            stopping: Whether the run that it belongs to is being stopped; see `cancel_stopped`.
        """
        loop = self.loop()
        done = threading.Event()
        held: list[asyncio.Task[Any]] = []

        def begin() -> None:
            task = loop.create_task(_outcome(make), context=context)
            held.append(task)
            self._running[task] = stopping
            task.add_done_callback(ended)
            if stopping():
                task.cancel()

        def ended(task: asyncio.Task[Any]) -> None:
            del self._running[task]
            done.set()

        loop.call_soon_threadsafe(begin, context=context)
        try:
            done.wait()
        except BaseException:
            if held:
                loop.call_soon_threadsafe(held[0].cancel)
                done.wait(5)
            raise
        result, stop = held[0].result()
        if stop is not None:
            raise stop
        return result

    def cancel_stopped(self) -> None:
        """Cancel the coroutines that threads wait for whose runs are being stopped: else both would wait for ever."""
        for task, stopping in list(self._running.items()):
            if stopping():
                task.get_loop().call_soon_threadsafe(task.cancel)

    def close(self) -> None:
        """Stop the helper thread and close its loop; a borrowed loop is left alone."""
        with self._lock:
            loop, self._own = self._own, None
            thread, self._thread = self._thread, None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_wind_down(loop), loop).result(5)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _outcome(make: Callable[[], Coroutine[Any, Any, Any]]) -> tuple[Any, BaseException | None]:
    """The coroutine's result, or what would stop the loop itself: that is for the thread that waits."""
    try:
        return await make(), None
    except (SystemExit, KeyboardInterrupt) as stop:
        return None, stop


async def _wind_down(loop: asyncio.AbstractEventLoop) -> None:
    tasks = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
