"""How a node's attempts are governed: retry, timeout, cache, tracing. Policies are data; the engine acts on them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from stepgraph.values.record import FrozenRecord

KeyFunction = TypeVar("KeyFunction", bound="Callable[..., str | bytes]")


def default_retry_on(exc: Exception) -> bool:
    """Whether an exception may pass when tried again.

    Faults of a program (`ValueError`, `TypeError`, `LookupError`, `RuntimeError`, `OSError`, ...) are final; connection
    errors, answers of a server with a status of 500 and above, and kinds of errors nobody has classified are not.

    Args:
        exc: What a node raised.

    Returns:
        True if the node should be tried again.
    """
    if isinstance(exc, ConnectionError):
        return True
    status = _http_status(exc)
    if status is not None:
        return status >= 500
    return not isinstance(exc, _FINAL) or _is_request_error(exc)


_FINAL = (
    ValueError,
    TypeError,
    ArithmeticError,
    ImportError,
    LookupError,
    NameError,
    SyntaxError,
    RuntimeError,
    ReferenceError,
    StopIteration,
    StopAsyncIteration,
    OSError,
)


def _http_status(exc: Exception) -> int | None:
    """The status code of an HTTP error of `httpx` or `requests`, if it is one and has one."""
    for library, name in (("httpx", "HTTPStatusError"), ("requests", "HTTPError")):
        module = sys.modules.get(library)
        if module is not None and isinstance(exc, getattr(module, name)):
            response = getattr(exc, "response", None)
            return None if response is None else int(response.status_code)
    return None


def _is_request_error(exc: Exception) -> bool:
    """Whether `requests` lost a connection, or got no proper answer. All its errors are `OSError`s, which else are final."""
    requests = sys.modules.get("requests")
    return requests is not None and isinstance(
        exc, (requests.ConnectionError, requests.Timeout, requests.HTTPError)
    )


class RetryPolicy(NamedTuple):
    """When and how often a failed node is tried again.

    The wait before attempt `n + 1` is `initial_interval * backoff_factor ** (n - 1)`, at most `max_interval`.

    Example:
        >>> RetryPolicy(max_attempts=5, retry_on=ConnectionError).max_attempts
        5
    """

    initial_interval: float = 0.5
    """Seconds before the second attempt."""
    backoff_factor: float = 2.0
    """By how much the wait grows after each attempt."""
    max_interval: float = 128.0
    """The longest wait, in seconds."""
    max_attempts: int = 3
    """How many attempts in all, the first included."""
    jitter: bool = True
    """Whether a random part of a second is added to each wait."""
    retry_on: type[Exception] | Sequence[type[Exception]] | Callable[[Exception], bool] = default_retry_on
    """Which exceptions: a class, several, or a function that says yes or no."""


class CacheKey(NamedTuple):
    """Where a node's cached result lies."""

    ns: tuple[str, ...]
    """The namespace within the cache."""
    key: str
    """The key, a digest of the node's input."""
    ttl: int | None
    """Seconds until it expires; `None` is never."""


def default_cache_key(*args: Any, **kwargs: Any) -> str | bytes:
    """Make a cache key from what a node was called with; equal inputs give equal keys, in every process."""
    from stepgraph.values.cache_key import cache_key

    return cache_key(args, kwargs)


class CachePolicy(FrozenRecord, Generic[KeyFunction]):
    """Says that a node's result may be reused for the same input.

    Args:
        key_func: Makes the key from the node's input.
        ttl: Seconds until a result expires; `None` is never.
    """

    __slots__ = record_fields = ("key_func", "ttl")

    key_func: KeyFunction
    ttl: int | None

    def __init__(self, *, key_func: KeyFunction = default_cache_key, ttl: int | None = None) -> None:  # type: ignore[assignment]
        _set_key_func(self, key_func)
        _set_ttl(self, ttl)


_set_key_func = CachePolicy.__dict__["key_func"].__set__
_set_ttl = CachePolicy.__dict__["ttl"].__set__


class TimeoutPolicy(FrozenRecord):
    """How long one attempt of a node may take.

    Args:
        run_timeout: Longest time for the whole attempt, in seconds or as a `timedelta`.
        idle_timeout: Longest time without progress.
        refresh_on: What counts as progress: `"auto"`, any sign of life (writes, streamed parts, heartbeats of
            children, ...), or `"heartbeat"`, only `runtime.heartbeat()`.
    """

    __slots__ = record_fields = ("idle_timeout", "refresh_on", "run_timeout")
    record_fields = ("run_timeout", "idle_timeout", "refresh_on")

    run_timeout: float | timedelta | None
    idle_timeout: float | timedelta | None
    refresh_on: Literal["auto", "heartbeat"]

    def __init__(
        self,
        *,
        run_timeout: float | timedelta | None = None,
        idle_timeout: float | timedelta | None = None,
        refresh_on: Literal["auto", "heartbeat"] = "auto",
    ) -> None:
        _set_run_timeout(self, run_timeout)
        _set_idle_timeout(self, idle_timeout)
        _set_refresh_on(self, refresh_on)

    @classmethod
    def coerce(cls, value: float | timedelta | TimeoutPolicy | None) -> TimeoutPolicy | None:
        """Turn what a person gave as `timeout=` into a policy with seconds.

        Args:
            value: Seconds, a `timedelta` (both limit the whole attempt), a policy, or `None`.

        Returns:
            A policy whose limits are floats, or `None` if nothing is limited.

        Raises:
            ValueError: A limit is not a number greater than 0, or `refresh_on` is unknown.

        Example:
            >>> TimeoutPolicy.coerce(3)
            TimeoutPolicy(run_timeout=3.0, idle_timeout=None, refresh_on='auto')
        """
        if value is None:
            return None
        if not isinstance(value, TimeoutPolicy):
            return cls(run_timeout=_seconds("run_timeout", value))
        if value.refresh_on not in ("auto", "heartbeat"):
            raise ValueError(f"refresh_on must be 'auto' or 'heartbeat', got {value.refresh_on!r}")
        run_timeout = _seconds("run_timeout", value.run_timeout)
        idle_timeout = _seconds("idle_timeout", value.idle_timeout)
        if run_timeout is None and idle_timeout is None:
            return None
        return cls(run_timeout=run_timeout, idle_timeout=idle_timeout, refresh_on=value.refresh_on)


_set_run_timeout = TimeoutPolicy.__dict__["run_timeout"].__set__
_set_idle_timeout = TimeoutPolicy.__dict__["idle_timeout"].__set__
_set_refresh_on = TimeoutPolicy.__dict__["refresh_on"].__set__


def _seconds(name: str, value: float | timedelta | None) -> float | None:
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not seconds > 0:
        raise ValueError(f"{name} must be greater than 0, got {value!r}")
    return seconds


class TracePolicy(FrozenRecord):
    """What tracing gets to see of a node.

    Args:
        process_inputs: Called with the node's input; what it returns is traced instead.
        process_outputs: The same for the node's output.
    """

    __slots__ = record_fields = ("process_inputs", "process_outputs")

    process_inputs: Callable[[Any], Any] | None
    process_outputs: Callable[[Any], Any] | None

    def __init__(
        self,
        *,
        process_inputs: Callable[[Any], Any] | None = None,
        process_outputs: Callable[[Any], Any] | None = None,
    ) -> None:
        _set_process_inputs(self, process_inputs)
        _set_process_outputs(self, process_outputs)


_set_process_inputs = TracePolicy.__dict__["process_inputs"].__set__
_set_process_outputs = TracePolicy.__dict__["process_outputs"].__set__


def omit_payload(_value: Any) -> dict[str, Any]:
    """For `TracePolicy`: trace nothing of a payload."""
    return {}
