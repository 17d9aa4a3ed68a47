"""One lock for each SQLite connection, shared by all that use the connection.

Rules of this file: a register, nothing else. A connection has one transaction at a time, so two stores (or a store and
another user of this register) on one connection must take turns.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from typing import Any

_guard = threading.Lock()
_locks: dict[int, tuple[threading.RLock, set[int]]] = {}


def connection_lock(connection: sqlite3.Connection, owner: Any) -> threading.RLock:
    """The lock of a connection.

    Args:
        connection: The connection; the owner must hold it as long as it lives.
        owner: Who uses the lock: the entry is kept until the last owner is gone.
    """
    number, token = id(connection), id(owner)
    with _guard:
        lock, owners = _locks.setdefault(number, (threading.RLock(), set()))
        if token not in owners:
            owners.add(token)
            weakref.finalize(owner, _release, number, token).atexit = False
    return lock


def _release(number: int, token: int) -> None:
    with _guard:
        entry = _locks.get(number)
        if entry is not None:
            entry[1].discard(token)
            if not entry[1]:
                del _locks[number]
