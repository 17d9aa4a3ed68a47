"""Where coroutines run that a synchronous run meets: one event loop on a helper thread, made when first needed.

A root run owns one. In a worker thread of an asynchronous run the outer run's loop is used instead, so that clients made
there keep working. A loop whose thread waits for a graph that a coroutine called with `invoke` can run nothing: what that graph
awaits goes to a further loop, one for each level at which that happens.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any


class LoopHost:
    """An event loop that other threads may hand coroutines to."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._borrowed = loop
        self._own: list[tuple[asyncio.AbstractEventLoop, threading.Thread]] = []
        self._blocked: list[asyncio.AbstractEventLoop] = []
        self._lock = threading.Lock()
        self._running: dict[asyncio.Task[Any], Callable[[], bool]] = {}

    def loop(self) -> asyncio.AbstractEventLoop:
        """A loop that is free to run what the calling thread will wait for; one is started where there is none."""
        if self._borrowed is not None and self._is_free(self._borrowed):
            return self._borrowed
        with self._lock:
            for loop, _ in self._own:
                if self._is_free(loop):
                    return loop
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="stepgraph-loop", daemon=True)
            self._own.append((loop, thread))
            thread.start()
            return loop

    def owns(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether coroutines of the run are at home on this loop."""
        return loop is self._borrowed or any(loop is own for own, _ in self._own)

    @contextmanager
    def blocking(self) -> Iterator[None]:
        """While a graph is called from this thread: if the thread runs one of the loops, that loop can run nothing."""
        loop = _running_loop()
        if loop is None or not self.owns(loop):
            yield
            return
        self._blocked.append(loop)
        try:
            yield
        finally:
            self._blocked.remove(loop)

    def _is_free(self, loop: asyncio.AbstractEventLoop) -> bool:
        return loop not in self._blocked and loop is not _running_loop()

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
        """Stop the helper threads and close their loops; a borrowed loop is left alone."""
        with self._lock:
            owned, self._own = self._own, []
        for loop, thread in reversed(owned):
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


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
