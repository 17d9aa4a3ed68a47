"""`@task`: functions whose calls are steps of their own: started at once, stored one by one, repeated by no resume."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from stepgraph.func.deprecated import replaced
from stepgraph.pregel.caching import cache_namespace
from stepgraph.pregel.calls import call_node
from stepgraph.pregel.drivers.calls import TaskFuture as SyncAsyncFuture
from stepgraph.pregel.drivers.calls import start_call
from stepgraph.pregel.policies import policy_from
from stepgraph.schema.callables import name_of
from stepgraph.values.policies import RetryPolicy

if TYPE_CHECKING:
    from stepgraph.cache.base import BaseCache
    from stepgraph.values.policies import CachePolicy, TimeoutPolicy

P = ParamSpec("P")
T = TypeVar("T")

__all__ = ("SyncAsyncFuture", "TaskFunction", "task")


class TaskFunction(Generic[P, T]):
    """What `@task` makes of a function: a call starts it and answers a future.

    Attributes:
        func: The function itself.
        retry_policy: When a failed call is tried again.
        cache_policy: Whether a result may be reused for the same arguments.
        timeout: How long a call may take.
    """

    is_task_function = True
    _is_method = False

    def __init__(
        self,
        func: Callable[P, Awaitable[T]] | Callable[P, T],
        *,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] = (),
        cache_policy: CachePolicy[Callable[P, str | bytes]] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
        name: str | None = None,
    ) -> None:
        if not callable(func):
            raise TypeError(
                f"@task is for functions and other callables; got {func!r} of type {type(func).__name__}."
            )
        update_wrapper(self, func)
        self.func = func
        policy = policy_from(retry=retry_policy, cache=cache_policy, timeout=timeout)
        self.retry_policy = () if policy is None else policy.retry
        self.cache_policy = cache_policy
        self.timeout = timeout
        self.__name__ = name or name_of(func)
        self.node = call_node(self.__name__, func, policy)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> SyncAsyncFuture[T]:
        """Start the task, and answer its future: `.result()` it, or `await` it in async code.

        Raises:
            RuntimeError: Called outside of a graph's run.
            TaskOrderError: The run was resumed, and its code calls its tasks in another order than before.
        """
        return cast("SyncAsyncFuture[T]", start_call(self.node, args, kwargs))

    def __set_name__(self, owner: type, name: str) -> None:
        """A function that the body of a class defines is a method; one that is only kept in a class gets no `self`."""
        self._is_method = getattr(self.func, "__qualname__", "") == f"{owner.__qualname__}.{name}"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A task that is a method gets its object as first argument, below `@classmethod` the class."""
        if instance is None or not (self._is_method or instance is owner):
            return self
        return MethodType(self, instance)

    def clear_cache(self, cache: BaseCache[Any]) -> None:
        """Forget what `cache` keeps of this task's results."""
        cache.clear((cache_namespace(self.node),))

    async def aclear_cache(self, cache: BaseCache[Any]) -> None:
        """The same as `clear_cache`, awaited."""
        await cache.aclear((cache_namespace(self.node),))

    def __repr__(self) -> str:
        return f"<task {self.__name__!r}>"


@overload
def task(
    __func_or_none__: None = None,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy[Any] | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
    **kwargs: Any,
) -> Callable[[Callable[P, Awaitable[T]] | Callable[P, T]], TaskFunction[P, T]]: ...


@overload
def task(__func_or_none__: Callable[P, Awaitable[T]]) -> TaskFunction[P, T]: ...


@overload
def task(__func_or_none__: Callable[P, T]) -> TaskFunction[P, T]: ...


def task(
    __func_or_none__: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy[Any] | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
    **kwargs: Any,
) -> Any:
    """Make calls of a function durable: each is a step of its own, in an `@entrypoint` and in the nodes of a graph.

    A call starts at once and answers a future, so calls run side by side until their results are asked for. A result is
    stored as soon as it is there. When the run goes on after a pause, a failure or a crash, the code that made the calls
    runs again from its top, and calls that had finished answer what they answered before, without running. So that this
    works, the code between the calls must make the same calls in the same order each time; what depends on the time, on
    chance or on the outside world belongs into tasks.

    Args:
        name: The task's name; by default the function's.
        retry_policy: When to try again; the first policy that matches decides.
        cache_policy: Reuse results for the same arguments, in the cache of the graph that calls.
        timeout: How long one attempt may take, in seconds, or a policy.

    Returns:
        A function with the same arguments that answers a future: in coroutines of async nodes and entrypoints an
        `asyncio.Future`, everywhere else a `concurrent.futures.Future`.

    Raises:
        TypeError: What is decorated cannot be called.

    Example:
        >>> @task
        ... def double(number: int) -> int:
        ...     return number * 2
        >>> from stepgraph.func import entrypoint
        >>> @entrypoint()
        ... def total(numbers: list[int]) -> int:
        ...     futures = [double(number) for number in numbers]
        ...     return sum(future.result() for future in futures)
        >>> total.invoke([1, 2, 3])
        12
    """
    retry_policy = replaced(kwargs, "task", "retry", "retry_policy", retry_policy)

    def decorate(function: Callable[..., Any]) -> TaskFunction[Any, Any]:
        return TaskFunction(
            function,
            retry_policy=() if retry_policy is None else retry_policy,
            cache_policy=cache_policy,
            timeout=timeout,
            name=name,
        )

    return decorate if __func_or_none__ is None else decorate(__func_or_none__)
