"""Nodes whose function runs on an executor: `add_node(executor=...)`, `compile(executor=...)`.

On a `ThreadPoolExecutor` the function runs in the task's own context, so `get_config()`, `interrupt()` and injected
parameters work as ever. On any other executor (`ProcessPoolExecutor` and its like) only the function and its input are
sent, see `shipping.py`: what the function asks for besides its input does not exist there.

A synchronous driver waits for the future on the task's thread, an asynchronous one awaits it; neither kills what runs.
A function that runs when its task is cancelled is waited for, unless a time limit gave it up.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.call import AsyncCall, Call, bind, gives_values, is_async_callable, is_graph
from stepgraph.schema.callables import injected_parameters

if TYPE_CHECKING:
    from concurrent.futures import Future

    from stepgraph.pregel.task import Task

Submit = Callable[["Task"], "tuple[Future[Any], Callable[[Any], Any] | None]"]


def runs_on_executors(action: Any) -> bool:
    """Whether an action is a synchronous function (or partial, method, callable object): only these can be moved."""
    if is_graph(action) or not callable(action) or is_async_callable(action) or gives_values(action):
        return False
    return not (hasattr(action, "invoke") or hasattr(action, "ainvoke"))


def bind_on_executor(name: str, action: Any, executor: Any) -> tuple[Call, AsyncCall]:
    """The sync and async forms of a node whose function runs on an executor.

    Raises:
        TypeError: The action is no synchronous function, `executor` is no executor, or the function asks for what only
            exists in this process.
    """
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"executor of node {name!r} must be a concurrent.futures.Executor, got {type(executor).__name__}"
        )
    if not runs_on_executors(action):
        raise TypeError(
            f"Node {name!r} was given an executor, but its action is no synchronous function: {action!r}. Async functions "
            "and graphs run where the graph runs; give the executor to the functions inside."
        )
    submit = _here(action, executor) if _is_local(executor) else _elsewhere(name, action, executor)

    def call(task: Task) -> Any:
        future, decode = submit(task)
        try:
            result = future.result()
        except BaseException:
            future.cancel()
            raise
        return result if decode is None else decode(result)

    async def acall(task: Task) -> Any:
        from stepgraph.pregel.drivers.aio import await_future

        future, decode = submit(task)
        result = await await_future(task.machine, future)
        return result if decode is None else decode(result)

    return call, acall


def _here(action: Any, executor: Any) -> Submit:
    """The function runs in this process, in the context that the task has."""
    function, _ = bind(action)

    def submit(task: Task) -> tuple[Future[Any], None]:
        return executor.submit(copy_context().run, function, task), None

    return submit


def _elsewhere(name: str, action: Any, executor: Any) -> Submit:
    """The function and its input are sent, the result comes back."""
    wanted = injected_parameters(action)
    if wanted:
        raise TypeError(
            f"Node {name!r} runs on {type(executor).__name__}, but its function asks for {', '.join(map(repr, wanted))}: that "
            "exists only in the process of the run. Take what is needed from the state, or use a ThreadPoolExecutor."
        )
    from stepgraph.pregel import shipping

    def submit(task: Task) -> tuple[Future[Any], Callable[[Any], Any]]:
        observer = task.machine.scope.observer
        function = action if observer is None else observer.shipped(task, action)
        payload = shipping.pack(function, task.input, name)
        return executor.submit(shipping.run_packed, payload, name), shipping.unpack

    return submit


def _is_local(executor: Any) -> bool:
    """Whether it runs what it is given in this interpreter."""
    from concurrent.futures import ThreadPoolExecutor

    names = {cls.__name__ for cls in type(executor).__mro__}
    return isinstance(executor, ThreadPoolExecutor) and "InterpreterPoolExecutor" not in names
