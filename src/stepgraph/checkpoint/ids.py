"""Ids of checkpoints: UUIDv6 text, so that the order of the text is the order of time.

Strictly increasing within a process, over all threads: an id that would not be greater than the last one takes the next
tick of 100 nanoseconds. The 62 bits behind the time are random per process (and drawn again in a forked child), so two
processes never make the same id.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC
from threading import Lock
from time import time_ns

__all__ = ("checkpoint_id_source", "next_checkpoint_id", "timestamp_of", "unix_time_of")

_TICKS_TO_1970 = 0x01B21DD213814000
"""Ticks of 100 nanoseconds from the start of the calendar that UUIDs count in (1582-10-15) to 1970."""


def _random_tail() -> str:
    """The fourth and fifth group of a UUID: variant bits, clock sequence, and a node with the multicast bit set."""
    noise = int.from_bytes(os.urandom(8), "big")
    clock = (noise >> 48) & 0x3FFF | 0x8000
    node = noise & 0xFFFF_FFFF_FFFF | 0x0100_0000_0000
    return f"-{clock:04x}-{node:012x}"


_lock = Lock()
_last = 0
_tail = _random_tail()
_coarse = -1
_prefix = ""
_ENDINGS = tuple([f"{low:03x}" for low in range(4096)])
"""The twelve lowest bits of the time, as text: what stands before them changes only every 0.4 milliseconds."""


def next_checkpoint_id() -> str:
    """A new id, greater than every id that this process made before.

    Example:
        >>> first, second = next_checkpoint_id(), next_checkpoint_id()
        >>> first < second, len(first)
        (True, 36)
    """
    global _last, _coarse, _prefix
    with _lock:
        ticks = time_ns() // 100 + _TICKS_TO_1970
        if ticks <= _last:
            ticks = _last + 1
        _last = ticks
        if ticks >> 12 != _coarse:
            _coarse = ticks >> 12
            digits = f"{_coarse:012x}"
            _prefix = f"{digits[:8]}-{digits[8:]}-6"
        return _prefix + _ENDINGS[ticks & 4095] + _tail


def checkpoint_id_source() -> Callable[[], str]:
    """The function that makes ids of checkpoints. All callers share one, so ids increase over the whole process."""
    return next_checkpoint_id


def _ticks_of(checkpoint_id: str) -> int | None:
    """Ticks of 100 nanoseconds since 1970; `None` for an id that is not a UUIDv6."""
    parts = checkpoint_id.split("-")
    if len(parts) != 5 or len(checkpoint_id) != 36 or parts[2][:1] != "6":
        return None
    try:
        return int(parts[0] + parts[1] + parts[2][1:], 16) - _TICKS_TO_1970
    except ValueError:
        return None


def unix_time_of(checkpoint_id: str) -> float | None:
    """When an id was made, in seconds since 1970; `None` for an id that is not a UUIDv6.

    Example:
        >>> unix_time_of("1f1ed069-861a-6e2e-bffe-ad38f80b9071")
        1796074800.7321134
        >>> unix_time_of("step-1") is None
        True
    """
    ticks = _ticks_of(checkpoint_id)
    return None if ticks is None else ticks / 10_000_000


def timestamp_of(checkpoint_id: str) -> str:
    """When an id was made, as ISO 8601 in UTC; empty for an id that is not a UUIDv6.

    Example:
        >>> timestamp_of("1f1ed069-861a-6e2e-bffe-ad38f80b9071")
        '2026-11-30T21:40:00.732113+00:00'
    """
    ticks = _ticks_of(checkpoint_id)
    if ticks is None:
        return ""
    from datetime import datetime, timedelta

    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return (epoch + timedelta(microseconds=ticks // 10)).isoformat(timespec="microseconds")


def _after_fork_in_child() -> None:
    global _lock, _tail
    _lock = Lock()
    _tail = _random_tail()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
