"""One lock for each connection and one for each file, shared by all in this process that use them.

A connection has one transaction at a time, so whoever shares one takes turns. A file has one writer at a time: writers in
one process queue up here, which is fair and quick; those of other processes wait for the file's own lock.

Rules: registers, nothing else.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

__all__ = ("connection_lock", "file_lock")

_guard = threading.RLock()
"""Reentrant: an owner may be collected, and release its entry, at any allocation, also in here."""
_of_connections: dict[int, tuple[threading.RLock, set[int]]] = {}


class _FileLock:
    """A lock that a weak reference can point to."""

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


_of_files: weakref.WeakValueDictionary[str, _FileLock] = weakref.WeakValueDictionary()


def connection_lock(connection: Any, owner: Any) -> threading.RLock:
    """The lock of a connection.

    Args:
        connection: The connection; the owner must hold it as long as it lives.
        owner: Who uses the lock: the entry is kept until the last owner is gone.
    """
    number, token = id(connection), id(owner)
    with _guard:
        lock, owners = _of_connections.setdefault(number, (threading.RLock(), set()))
        if token not in owners:
            owners.add(token)
            _of_connections[number] = (lock, owners)
            weakref.finalize(owner, _release, number, token).atexit = False
    return lock


def _release(number: int, token: int) -> None:
    with _guard:
        entry = _of_connections.get(number)
        if entry is not None:
            entry[1].discard(token)
            if not entry[1]:
                del _of_connections[number]


def file_lock(path: str) -> _FileLock:
    """The lock of a database file; held as long as somebody holds what this returns."""
    with _guard:
        lock = _of_files.get(path)
        if lock is None:
            lock = _of_files[path] = _FileLock()
        return lock
