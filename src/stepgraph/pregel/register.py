"""Which threads are at work in this process, for graphs compiled with `concurrency="reject"`, and what other processes see
of that: a hold, where the saver keeps holds.

Rules of this file: an entry lives as long as its run's scope. A run that ends takes it out at once; a stream that is
dropped without an end takes its scope, and so the entry, with it.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from stepgraph.checkpoint.expiry import Expiring
from stepgraph.checkpoint.holds import Hold
from stepgraph.errors import ThreadBusyError

if TYPE_CHECKING:
    from stepgraph.pregel.scope import Scope

_lock = threading.Lock()
_at_work: WeakValueDictionary[tuple[int, Any], Scope] = WeakValueDictionary()


def enter(scope: Scope) -> None:
    """Note that a run begins on its thread.

    Raises:
        ThreadBusyError: A run of this process that was entered is at work on the thread, with the same saver.
    """
    key = (id(scope.saver), scope.thread_id)  # the scope keeps its saver, so no other can take that id
    with _lock:
        other = _at_work.get(key)
        if other is not None:
            raise ThreadBusyError(
                str(scope.thread_id), run_id=scope.writer_id, other_run_id=other.writer_id, cause="lease"
            )
        _at_work[key] = scope


def hold_of(scope: Scope) -> Hold | None:
    """The hold that a run is to have on its thread: a lease, if others are to be kept out; `None` where it needs none."""
    saver = scope.saver
    leased = scope.concurrency == "reject" and getattr(saver, "keeps_leases", False)
    if not isinstance(saver, Expiring) or not (leased or saver.ttl is not None):
        return None
    token = os.urandom(8).hex() if leased else None
    return Hold(str(scope.thread_id), scope.writer_id or "", token, saver.lease_seconds)


def leave(scope: Scope) -> None:
    """The run has ended; nothing happens if it was never entered."""
    if scope.concurrency != "reject":
        return
    key = (id(scope.saver), scope.thread_id)
    with _lock:
        if _at_work.get(key) is scope:
            del _at_work[key]
