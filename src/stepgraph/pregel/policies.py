"""What a node's policies say, as data: when to try again, how long to wait, what to reuse, who handles a failure.

Rules of this file: pure; a verdict is made from a failure, an attempt number, the time and a random number that come in
as values. The drivers only wait and call. The one piece of a person's code that runs here is `retry_on`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from stepgraph.errors import GraphBubbleUp, NodeCancelledError, is_invalid_resume

if TYPE_CHECKING:
    from stepgraph.pregel.plan import NodePlan
    from stepgraph.pregel.task import Task
    from stepgraph.values.policies import CachePolicy, RetryPolicy, TimeoutPolicy


class NodePolicy:
    """All policies of one node; made only where it has at least one.

    `error_handler` is the hidden node that gets a failure after the last attempt, `handler_reads` the node whose way of
    reading the state gives that handler its input. `max_concurrency` bounds this node's tasks in the whole process;
    `slots` is filled by the driver that first needs it.
    """

    __slots__ = ("cache", "error_handler", "handler_reads", "max_concurrency", "retry", "slots", "timeout")

    def __init__(
        self,
        retry: Sequence[RetryPolicy],
        cache: CachePolicy[Any] | None,
        timeout: TimeoutPolicy | None,
        error_handler: NodePlan | None,
        handler_reads: NodePlan | None,
        max_concurrency: int | None,
    ) -> None:
        self.retry = retry
        self.cache = cache
        self.timeout = timeout
        self.error_handler = error_handler
        self.handler_reads = handler_reads
        self.max_concurrency = max_concurrency
        self.slots: Any = None


def policy_from(
    *,
    retry: Any = None,
    cache: CachePolicy[Any] | None = None,
    timeout: Any = None,
    error_handler: NodePlan | None = None,
    handler_reads: NodePlan | None = None,
    max_concurrency: int | None = None,
) -> NodePolicy | None:
    """A node's policies; None where it has none, so that nothing is paid for them.

    Raises:
        TypeError: A policy is of another kind; or a `retry_on` is no exception class, no list of these and no function.
        ValueError: `max_concurrency` or a limit of `timeout` is not greater than 0.
    """
    if not retry and all(given is None for given in (cache, timeout, error_handler, max_concurrency)):
        return None
    if timeout is not None:
        from stepgraph.values.policies import TimeoutPolicy

        timeout = TimeoutPolicy.coerce(timeout)
    if max_concurrency is not None and max_concurrency < 1:
        raise ValueError(f"max_concurrency must be at least 1, got {max_concurrency!r}")
    if cache is not None and not hasattr(cache, "key_func"):
        raise TypeError(f"cache_policy must be a CachePolicy, got {cache!r}: write CachePolicy(ttl=seconds)")
    policies = _retry_policies(retry)
    for policy in policies:
        _check_retry_on(policy.retry_on)
    return NodePolicy(policies, cache, timeout, error_handler, handler_reads, max_concurrency)


# ---- retry


def _retry_policies(retry: Any) -> tuple[RetryPolicy, ...]:
    if hasattr(retry, "max_attempts"):
        return (retry,)
    given = () if not retry else tuple(retry) if isinstance(retry, Iterable) else (retry,)
    for policy in given:
        if not hasattr(policy, "max_attempts"):
            raise TypeError(
                f"retry_policy must be a RetryPolicy or a list of these, got {policy!r}: "
                "write RetryPolicy(max_attempts=N)"
            )
    return given


def seconds_before_retry(
    retry: Sequence[RetryPolicy], error: Exception, attempt: int, random: Callable[[], float]
) -> float | None:
    """How long to wait before the next attempt; None if there is none.

    Args:
        retry: The node's policies: the first that matches the error decides.
        error: What the attempt failed with.
        attempt: Which attempt that was, from 1, whichever policy allowed it.
        random: Answers a number from 0 to 1, asked only where the policy wants jitter.
    """
    if not may_be_handled(error) or isinstance(error, NodeCancelledError):
        return None
    for policy in retry:
        if _matches(policy.retry_on, error):
            if attempt >= policy.max_attempts:
                return None
            return _interval(policy, attempt) + (random() if policy.jitter else 0.0)
    return None


def may_be_handled(error: BaseException) -> bool:
    """Whether an exception is a failure of the node: not a pause, a hand-over, a drain, or a person's wrong answer."""
    return (
        isinstance(error, Exception) and not isinstance(error, GraphBubbleUp) and not is_invalid_resume(error)
    )


def _interval(policy: RetryPolicy, attempt: int) -> float:
    try:
        interval = policy.initial_interval * policy.backoff_factor ** (attempt - 1)
    except OverflowError:
        return policy.max_interval
    return min(policy.max_interval, interval)


def _matches(retry_on: Any, error: Exception) -> bool:
    if isinstance(retry_on, (list, tuple, set, frozenset)):
        return isinstance(error, tuple(retry_on))
    if isinstance(retry_on, type):
        return isinstance(error, retry_on)
    return bool(retry_on(error))


def _check_retry_on(retry_on: Any) -> None:
    several = retry_on if isinstance(retry_on, (list, tuple, set, frozenset)) else (retry_on,)
    classes = all(isinstance(item, type) and issubclass(item, BaseException) for item in several)
    if classes or (several == (retry_on,) and callable(retry_on) and not isinstance(retry_on, type)):
        return
    raise TypeError(
        "retry_on must be an Exception class, a list or tuple of Exception classes, or a callable that takes an exception "
        f"and says yes or no; got {retry_on!r}"
    )


# ---- timeout


def limits_of(task: Task) -> TimeoutPolicy | None:
    """The limits of a task: those of its `Send` or call, else its node's."""
    if task.timeout is not None:
        limits: TimeoutPolicy = task.timeout
        return limits
    policy = task.node.policy
    return None if policy is None else policy.timeout


class Overdue:
    """Which limit an attempt passed, and how long it ran."""

    __slots__ = ("elapsed", "kind")

    def __init__(self, kind: Literal["run", "idle"], elapsed: float) -> None:
        self.kind: Literal["run", "idle"] = kind
        self.elapsed = elapsed


def overdue(limits: TimeoutPolicy, started: float, progressed: float, now: float) -> Overdue | None:
    """Whether an attempt passed a limit; times are seconds of one clock."""
    if limits.run_timeout is not None and now - started >= limits.run_timeout:  # type: ignore[operator]
        return Overdue("run", now - started)
    if limits.idle_timeout is not None and now - progressed >= limits.idle_timeout:  # type: ignore[operator]
        return Overdue("idle", now - started)
    return None


def seconds_left(limits: TimeoutPolicy, started: float, progressed: float, now: float) -> float:
    """How long an attempt may go on if it makes no progress."""
    left = []
    if limits.run_timeout is not None:
        left.append(started + limits.run_timeout - now)  # type: ignore[operator]
    if limits.idle_timeout is not None:
        left.append(progressed + limits.idle_timeout - now)  # type: ignore[operator]
    return max(0.0, min(left))
