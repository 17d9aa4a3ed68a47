"""Removing expired items in the background, for stores with sync methods.

Rules of this file: one daemon thread a store, started on request. It holds the store weakly, so a store that is dropped
is not kept alive; it wakes at once when it is told to stop.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepgraph.store.base.config import TTLConfig, sweep_seconds

if TYPE_CHECKING:
    from concurrent.futures import Future


class Sweeper:
    """A thread that calls a method of a store again and again.

    Args:
        sweep: A bound method; its object is held weakly.
        seconds: The time between two calls; the first is made at once.
    """

    def __init__(self, sweep: Callable[[], Any], seconds: float) -> None:
        from concurrent.futures import Future  # loaded only by who starts a sweeper

        self.done: Future[None] = Future()
        self.done.set_running_or_notify_cancel()
        self._stop = threading.Event()
        method = weakref.WeakMethod(sweep)
        owner = sweep.__self__  # type: ignore[attr-defined]
        weakref.finalize(owner, self._stop.set).atexit = False
        self._thread = threading.Thread(
            target=_sweep_until_stopped,
            args=(method, self._stop, seconds, self.done),
            name=f"{type(owner).__name__}-sweeper",
            daemon=True,
        )
        self._thread.start()

    def stop(self, timeout: float | None) -> bool:
        """Ask the thread to end and wait for it; whether it has ended within `timeout` seconds."""
        self._stop.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()


def _sweep_until_stopped(
    method: weakref.WeakMethod[Callable[[], Any]], stop: threading.Event, seconds: float, done: Future[None]
) -> None:
    while not stop.is_set():
        sweep = method()
        if sweep is None:
            break
        try:
            sweep()
        except Exception as error:
            _report(error)
        del sweep
        stop.wait(seconds)
    done.set_result(None)


def _report(error: Exception) -> None:
    """A sweep that fails (a locked database, say) is logged, and the next one tries again."""
    import logging  # loaded only when there is something to log

    logging.getLogger("stepgraph.store").warning(
        "Removing expired store items failed; it is tried again at the next interval.", exc_info=error
    )


class SweepingStore:
    """The sync sweeper methods of a store. The store has `ttl_config` and `sweep_ttl()`."""

    ttl_config: TTLConfig | None
    _sweeper: Sweeper | None = None

    def sweep_ttl(self) -> int:
        """Remove what is expired; returns how many items that were."""
        raise NotImplementedError

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Start to remove expired items in the background, at once and then again and again.

        Args:
            sweep_interval_minutes: Minutes between two sweeps; left out, as configured, else 5.

        Returns:
            A future that is done when the sweeper has ended; at once where the store has no TTL configuration. A
            sweeper that runs already goes on as it is.
        """
        from concurrent.futures import Future  # loaded only by who starts a sweeper

        if not self.ttl_config:
            idle: Future[None] = Future()
            idle.set_result(None)
            return idle
        if self._sweeper is None:
            self._sweeper = Sweeper(self.sweep_ttl, sweep_seconds(self.ttl_config, sweep_interval_minutes))
        return self._sweeper.done

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the background sweeper.

        Args:
            timeout: Seconds to wait for a sweep under way; `None` waits as long as it takes.

        Returns:
            Whether no sweeper runs any more.
        """
        sweeper = self._sweeper
        if sweeper is None:
            return True
        stopped = sweeper.stop(timeout)
        if stopped:
            self._sweeper = None
        return stopped
