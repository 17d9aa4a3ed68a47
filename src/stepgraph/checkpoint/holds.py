"""What a run holds on its thread while it is at work: a lease that keeps other runs out, and the thread's time to live.

A hold is begun before the first node runs, renewed from time to time while the run is at work, and ended with it. If the
process dies, it lapses by itself.

Rules: data, and what it says to people; where holds are kept is the saver's affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, NamedTuple, TypeAlias, TypedDict

from stepgraph.errors import ThreadBusyError

__all__ = ("Hold", "ThreadTTL", "TimeToLive", "in_use", "read_ttl")


class Hold(NamedTuple):
    """One run's hold on its thread.

    Attributes:
        thread_id: The thread.
        run_id: The run, for people.
        token: Names this hold and no other; `None` if it keeps nobody out and only lets the thread live on.
        seconds: How long the lease is good without being renewed.
    """

    thread_id: str
    run_id: str
    token: str | None
    seconds: float


def in_use(hold: Hold, other_run_id: str | None, seconds: float) -> ThreadBusyError:
    """What to raise where another run has the lease for so many seconds more."""
    return ThreadBusyError(
        hold.thread_id,
        run_id=hold.run_id,
        other_run_id=other_run_id,
        cause="lease",
        message=f"Thread {hold.thread_id!r} is in use by run {other_run_id}, maybe in another process, so run {hold.run_id}"
        f" did not start. Wait for it to end and run again; if its process died, its lease ends by itself in {seconds:.1f}"
        " seconds. Or use another thread_id, or compile with concurrency='detect'.",
    )


class ThreadTTL(TypedDict, total=False):
    """How threads of a saver expire.

    Attributes:
        default_ttl: Minutes that a thread lives after the last write to it, or the end of its last run.
        sweep_interval_minutes: Minutes between two sweeps of `start_ttl_sweeper` (default 5).
    """

    default_ttl: float
    sweep_interval_minutes: float


TimeToLive: TypeAlias = "float | timedelta | ThreadTTL | None"
"""What savers take as `ttl`: minutes, a time span, or both settings by name; `None` for threads that live for ever."""

_KEYS: Final = ("default_ttl", "sweep_interval_minutes")


def read_ttl(ttl: TimeToLive) -> tuple[float | None, float]:
    """Seconds that a thread lives (`None` for ever), and seconds between two sweeps.

    Raises:
        ValueError: A setting is unknown, or a time is not above zero.

    Example:
        >>> read_ttl(60)
        (3600.0, 300.0)
        >>> read_ttl({"default_ttl": 1, "sweep_interval_minutes": 0.5})
        (60.0, 30.0)
    """
    settings: Mapping[str, float | timedelta | None] = {}
    if isinstance(ttl, Mapping):
        settings = ttl  # type: ignore[assignment]
    elif ttl is not None:
        settings = {"default_ttl": ttl}
    unknown = [key for key in settings if key not in _KEYS]
    if unknown:
        raise ValueError(f"ttl has no setting {unknown[0]!r}; it knows {' and '.join(map(repr, _KEYS))}.")
    seconds, interval = _seconds(settings, "default_ttl"), _seconds(settings, "sweep_interval_minutes")
    return seconds, 300.0 if interval is None else interval


def _seconds(settings: Mapping[str, float | timedelta | None], key: str) -> float | None:
    value = settings.get(key)
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else value * 60.0
    if not seconds > 0:
        raise ValueError(f"{key} must be more than 0 minutes, got {value!r}.")
    return seconds
