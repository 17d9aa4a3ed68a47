"""Holds of runs on their threads: begun before the first node, renewed while the run is at work, ended with it.

One thread for each saver renews all holds of its runs; it is started with the first and ends soon after the last. It holds
runs weakly: a stream that is dropped without an end lets its hold go too.

Rules of this file: knows when, and who waits. What a hold is, and where it is kept, is the saver's affair. A hold that
cannot be renewed or ended is logged: it lapses by itself, and what is stored is safe without it.
"""

from __future__ import annotations

import os
import threading
import weakref
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stepgraph.checkpoint.holds import Hold
    from stepgraph.pregel.scope import Scope

__all__ = ("abegin", "aend", "begin", "end")

_BEATS: Final = 3.0
"""A hold is renewed so many times while it is good."""
_lock = threading.Lock()
_hearts: weakref.WeakKeyDictionary[Any, Heart] = weakref.WeakKeyDictionary()


class Heart:
    """Renews the holds of the runs of one saver.

    Args:
        saver: The saver.
    """

    def __init__(self, saver: Any) -> None:
        self._saver = weakref.ref(saver)
        self._name = f"{type(saver).__name__}-holds"
        self._at_work: dict[int, tuple[Hold, weakref.ref[Scope], float]] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, scope: Scope) -> None:
        """Renew a run's hold from now on."""
        ttl = scope.saver.ttl
        seconds = min(scope.hold.seconds, scope.hold.seconds if ttl is None else ttl) / _BEATS
        with self._changed:
            self._at_work[id(scope)] = (scope.hold, weakref.ref(scope), seconds)
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name=self._name, daemon=True)
                self._thread.start()
            else:
                self._changed.notify()

    def remove(self, scope: Scope) -> None:
        """The run has ended."""
        with self._changed:
            self._at_work.pop(id(scope), None)

    def _beat(self) -> None:
        last, rest = monotonic(), 0.0
        while True:
            with self._changed:
                rest = min([seconds for _, _, seconds in self._at_work.values()], default=rest)
                left = last + rest - monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                last = monotonic()
                if not self._at_work:
                    self._thread = None
                    return
                dropped = [(key, hold) for key, (hold, run, _) in self._at_work.items() if run() is None]
                for key, _ in dropped:
                    del self._at_work[key]
                held = [hold for hold, _, _ in self._at_work.values()]
            saver = self._saver()
            if saver is not None:
                _renew(saver, held, [hold for _, hold in dropped])
            del saver


def _renew(saver: Any, held: list[Hold], dropped: list[Hold]) -> None:
    try:
        for hold in dropped:
            saver.end_hold(hold)
        lost = saver.renew_holds(held) if held else ()
    except Exception as error:
        _log().warning("Renewing the holds of runs failed; it is tried again.", exc_info=error)
        return
    for hold in lost:
        _log().warning(
            "Run %s was not heard of for more than %.0f seconds, and another run works on its thread %r now. It stops at its"
            " next save.",
            hold.run_id,
            hold.seconds,
            hold.thread_id,
        )


def _log() -> Any:
    import logging  # loaded only when there is something to log

    return logging.getLogger("stepgraph.pregel")


def begin(scope: Scope) -> None:
    """Begin the hold of a run.

    Raises:
        ThreadBusyError: Another run has the lease.
    """
    _note(scope, scope.saver.begin_hold(scope.hold))


async def abegin(scope: Scope) -> None:
    """Async twin of `begin`."""
    _note(scope, await scope.saver.abegin_hold(scope.hold))


def _note(scope: Scope, lapsed: str | None) -> None:
    if lapsed is not None:
        _log().warning(
            "Thread %r was held by run %s, whose process seems to have died. Run %s takes over: it goes on from the newest"
            " checkpoint.",
            scope.thread_id,
            lapsed,
            scope.writer_id,
        )
    with _lock:
        heart = _hearts.get(scope.saver)
        if heart is None:
            heart = _hearts[scope.saver] = Heart(scope.saver)
    heart.add(scope)


def end(scope: Scope) -> None:
    """End the hold of a run; nothing happens if it was ended before."""
    hold = _let_go(scope)
    if hold is None:
        return
    try:
        scope.saver.end_hold(hold)
    except Exception as error:
        _log().warning("The hold of run %s could not be ended; it lapses.", hold.run_id, exc_info=error)


async def aend(scope: Scope) -> None:
    """Async twin of `end`; it is carried through even if the run's task is cancelled."""
    import asyncio

    hold = _let_go(scope)
    if hold is None:
        return
    try:
        await asyncio.shield(scope.saver.aend_hold(hold))
    except Exception as error:
        _log().warning("The hold of run %s could not be ended; it lapses.", hold.run_id, exc_info=error)


def _let_go(scope: Scope) -> Hold | None:
    heart = _hearts.get(scope.saver)
    if heart is not None:
        heart.remove(scope)
    hold: Hold | None = scope.hold
    scope.hold = None
    return hold


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_hearts.clear)
