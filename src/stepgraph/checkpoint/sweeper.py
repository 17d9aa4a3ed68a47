"""Removing what is expired in the background, for savers and stores with sync methods.

Rules of this file: one daemon thread an owner, started on request. It holds the owner weakly, so one that is dropped is
not kept alive; it wakes at once when it is told to stop.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ("Sweeper",)


class Sweeper:
    """A thread that calls a method of its owner again and again.

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
            _report(type(sweep.__self__), error)  # type: ignore[attr-defined]
        del sweep
        stop.wait(seconds)
    done.set_result(None)


def _report(owner: type, error: Exception) -> None:
    """A sweep that fails (a locked database, say) is logged, and the next one tries again."""
    import logging  # loaded only when there is something to log

    logging.getLogger(".".join(owner.__module__.split(".")[:2])).warning(
        "Removing what is expired from a %s failed; it is tried again at the next interval.",
        owner.__name__,
        exc_info=error,
    )
