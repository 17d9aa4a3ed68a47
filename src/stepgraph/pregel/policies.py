"""What a node's policies say, as data: when to try again, how long to wait, what to reuse, who handles a failure.

Rules of this file: pure; a verdict is made from a failure, an attempt number, the time and a random number that come in
as values. The drivers only wait and call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.values.names import CACHE_NS_WRITES

if TYPE_CHECKING:
    from stepgraph.pregel.plan import NodePlan
    from stepgraph.values.policies import CachePolicy, RetryPolicy, TimeoutPolicy


class NodePolicy:
    """All policies of one node; made only where it has at least one."""

    __slots__ = ("cache", "error_handler", "executor", "max_concurrency", "retry", "timeout")

    def __init__(
        self,
        retry: Sequence[RetryPolicy],
        cache: CachePolicy[Any] | None,
        timeout: TimeoutPolicy | None,
        error_handler: str | None,
        max_concurrency: int | None,
        executor: Any,
    ) -> None:
        self.retry = retry
        self.cache = cache
        self.timeout = timeout
        self.error_handler = error_handler
        self.max_concurrency = max_concurrency
        self.executor = executor


def policy_from(
    *,
    retry: Any = None,
    cache: CachePolicy[Any] | None = None,
    timeout: Any = None,
    error_handler: str | None = None,
    max_concurrency: int | None = None,
    executor: Any = None,
) -> NodePolicy | None:
    """A node's policies; None where it has none, so that nothing is paid for them."""
    if not retry and all(p is None for p in (cache, timeout, error_handler, max_concurrency, executor)):
        return None
    if timeout is not None:
        from stepgraph.values.policies import TimeoutPolicy

        timeout = TimeoutPolicy.coerce(timeout)
    policies = () if not retry else (retry,) if not _is_several(retry) else tuple(retry)
    return NodePolicy(policies, cache, timeout, error_handler, max_concurrency, executor)


def _is_several(retry: Any) -> bool:
    return isinstance(retry, (list, tuple)) and not hasattr(retry, "max_attempts")


def cache_namespace(node: NodePlan) -> tuple[str, ...]:
    """Where results of a node are cached: by what it does, so that graphs that share a function share results."""
    action = node.action
    target = getattr(action, "func", action)
    module = getattr(target, "__module__", None) or type(target).__module__
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    return (CACHE_NS_WRITES, f"{module}.{name}", node.name)
