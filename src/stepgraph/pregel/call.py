"""How one node is called: the shape of the call is decided once, when the graph is compiled.

`bind` looks at an action and answers two callables that take a `Task`: one for synchronous, one for asynchronous
drivers; either may be None. Nothing is inspected at run time. `execute` and `aexecute` are the bodies of one attempt:
they run inside the task's own context.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from stepgraph.errors import GraphInterrupt, ParentCommand
from stepgraph.pregel import bridges
from stepgraph.pregel.branches import branch_input, follow, follow_branches
from stepgraph.pregel.config import writer_of
from stepgraph.pregel.results import join_written
from stepgraph.pregel.task import CURRENT, Task
from stepgraph.schema.callables import injected_parameters, state_parameter_of

if TYPE_CHECKING:
    from stepgraph.pregel.plan import NodePlan

Call = Callable[[Task], Any]
AsyncCall = Callable[[Task], Awaitable[Any]]

_set_current = CURRENT.set

INJECT: dict[str, Callable[[Task], Any]] = {
    "config": lambda task: task.config,
    "runtime": lambda task: task.runtime,
    "writer": writer_of,
    "store": lambda task: task.machine.store,
    "previous": lambda task: task.previous,
    "error": lambda task: task.handled,
}


def is_graph(action: Any) -> bool:
    """Whether an action is a compiled graph of ours."""
    return hasattr(action, "run_nested") and hasattr(action, "arun_nested")


def is_async_callable(action: Any) -> bool:
    """Whether calling the action gives a coroutine: async functions and methods, partials and objects of these."""
    from inspect import iscoroutinefunction

    return _is_kind(action, iscoroutinefunction)


def _is_kind(action: Any, is_kind: Callable[[Any], bool]) -> bool:
    while isinstance(action, partial):
        action = action.func
    if isinstance(action, (FunctionType, MethodType)):
        return is_kind(action)
    if is_kind(action):
        return True
    call = type(action).__dict__.get("__call__") or getattr(type(action), "__call__", None)  # noqa: B004
    return call is not None and is_kind(call)


def gives_values(action: Any) -> bool:
    """Whether calling the action gives a generator, synchronous or asynchronous."""
    from inspect import isasyncgenfunction, isgeneratorfunction

    return _is_kind(action, isgeneratorfunction) or _is_kind(action, isasyncgenfunction)


def by_result(action: Any, call: Call) -> tuple[Call | None, AsyncCall | None]:
    """A call in the form that its kind of result asks for; a generator's result is the last value that it yields."""
    from inspect import isgeneratorfunction

    if is_async_callable(action):
        return None, call
    if not gives_values(action):
        return call, None
    if _is_kind(action, isgeneratorfunction):
        return lambda task: _last(call(task)), None
    return None, lambda task: _alast(call(task))


def _last(values: Iterable[Any]) -> Any:
    result = None
    for result in values:  # noqa: B007
        pass
    return result


async def _alast(values: AsyncIterable[Any]) -> Any:
    result = None
    async for result in values:  # noqa: B007
        pass
    return result


def bind(action: Any) -> tuple[Call | None, AsyncCall | None]:
    """The sync and async forms of a node's action, each taking the task.

    Args:
        action: A function, method, callable object or partial (sync or async), a compiled graph, or an object with
            `invoke` or `ainvoke`; one with both and `finds_config = True` asks for its config when it needs one.

    Raises:
        TypeError: The action is none of these.
    """
    if is_graph(action):
        return _graph_calls(action)
    if bridges.active is not None:
        calls = bridges.active.calls_of(action)
        if calls is not None:
            return calls
    invoke, ainvoke = invocations_of(action)
    if not isinstance(action, (FunctionType, MethodType)) and (invoke or ainvoke):
        if invoke and ainvoke and getattr(action, "finds_config", False):
            return lambda task: invoke(task.input), lambda task: ainvoke(task.input)
        return (
            None if invoke is None else lambda task: invoke(task.input, task.config),
            None if ainvoke is None else lambda task: ainvoke(task.input, task.config),
        )
    if not callable(action):
        raise TypeError(
            f"A node must be a function, a callable object, a compiled graph, or an object with invoke or ainvoke; got "
            f"{action!r} of type {type(action).__name__}."
        )
    return by_result(action, bind_function(action, _input_of))


def invocations_of(action: Any) -> tuple[Any, Any]:
    """An object's `invoke` and `ainvoke`; None for a form that it lacks, or for which it holds no function."""
    invoke, ainvoke = getattr(action, "invoke", None), getattr(action, "ainvoke", None)
    if hasattr(action, "afunc"):
        if getattr(action, "func", None) is None:
            invoke = None
        if action.afunc is None:
            ainvoke = None
    return invoke, ainvoke


def _input_of(task: Task) -> Any:
    return task.input


def bind_function(function: Callable[..., Any], argument: Callable[[Task], Any]) -> Call:
    """A call of a plain function with what it wants injected."""
    wanted = injected_parameters(function)
    if isinstance(function, partial):
        function = by_position(function)
    if not wanted:
        if argument is _input_of:
            return lambda task: function(task.input)
        return lambda task: function(argument(task))
    if len(wanted) == 1:
        ((name, kind),) = wanted.items()
        get = INJECT[kind]
        return lambda task: function(argument(task), **{name: get(task)})
    getters = [(name, INJECT[kind]) for name, kind in wanted.items()]
    return lambda task: function(argument(task), **{name: get(task) for name, get in getters})


def by_position(function: partial[Any]) -> Callable[..., Any]:
    """A partial that binds an earlier parameter by keyword takes the state by name; this takes it by position."""
    parameter = state_parameter_of(function)
    if parameter is None or not function.keywords or parameter.kind.name != "POSITIONAL_OR_KEYWORD":
        return function
    name = parameter.name
    return lambda state, **injected: function(**{name: state}, **injected)


def plain_function(action: Any) -> Callable[[Any], Any] | None:
    """The function itself, where it is synchronous and wants nothing but its input."""
    if (
        not isinstance(action, (FunctionType, MethodType))
        or is_async_callable(action)
        or gives_values(action)
    ):
        return None
    return None if injected_parameters(action) else action


def bind_path(path: Any) -> tuple[Callable[[Any, Task], Any] | None, Callable[[Any, Task], Any] | None]:
    """The sync and async forms of a branch's path function, each taking the state and the task."""
    invoke, ainvoke = invocations_of(path)
    if not isinstance(path, (FunctionType, MethodType)) and (invoke or ainvoke):
        return (
            None if invoke is None else lambda state, task: invoke(state, task.config),
            None if ainvoke is None else lambda state, task: ainvoke(state, task.config),
        )
    wanted = injected_parameters(path)
    if not wanted:
        call: Callable[[Any, Task], Any] = lambda state, task: path(state)  # noqa: E731
    else:
        getters = [(name, INJECT[kind]) for name, kind in wanted.items()]
        call = lambda state, task: path(state, **{name: get(task) for name, get in getters})  # noqa: E731
    return (None, call) if is_async_callable(path) else (call, None)


def _graph_calls(graph: Any) -> tuple[Call, AsyncCall]:
    def call(task: Task) -> Any:
        return graph.run_nested(task)

    async def acall(task: Task) -> Any:
        return await graph.arun_nested(task)

    return call, acall


def own_input(arg: Any) -> Any:
    """A Send's argument with top-level containers of its own, so that siblings cannot reach each other through it."""
    kind = type(arg)
    if kind is dict:
        own = arg.copy()
        for key, value in arg.items():
            if type(value) in _CONTAINERS:
                own[key] = value.copy()
        return own
    return arg.copy() if kind in _CONTAINERS else arg


_CONTAINERS = frozenset((list, dict, set))


def execute(task: Task) -> None:
    """One attempt of a task whose node and branches are synchronous."""
    _set_current(task)
    node = task.node
    sent = task.index >= 0
    if sent:
        task.input = own_input(task.argument)
    try:
        plain = node.plain
        result = plain(task.input) if plain is not None else node.call(task)  # type: ignore[misc]
    except BaseException as error:
        if task.calls is not None:
            task.calls.close(task, error)
        if not isinstance(error, ParentCommand) or not task.takes_commands:
            raise
        result = commands_of(error)
        task.swallowed = None
    if task.swallowed is not None:
        if task.calls is not None:
            task.calls.settle(task)
        complain_swallowed(task)
    if sent and not task.machine.listens and node.policy is None:
        task.input = task.argument = None
    if result is None and not node.writers:
        task.targets = node.targets
    else:
        node.take(task, result)
    if task.written is not None:
        join_written(task)
    if node.branches:
        follow_branches(task)


OffLoop = Callable[[Task, Callable[[Any, Task], Any], Any], Awaitable[Any]]


async def aexecute(task: Task, off_loop: OffLoop | None = None) -> None:
    """One attempt of a task in an async run; the current context is the task's own.

    `off_loop` runs a synchronous path function elsewhere, so that it does not hold up the event loop.
    """
    node = task.node
    if task.index >= 0:
        task.input = own_input(task.argument)
    try:
        acall = node.acall
        result = await acall(task) if acall is not None else node.call(task)  # type: ignore[misc]
    except BaseException as error:
        if task.calls is not None:
            await task.calls.aclose(task, error)
        if not isinstance(error, ParentCommand) or not task.takes_commands:
            raise
        result = commands_of(error)
        task.swallowed = None
    if task.swallowed is not None:
        if task.calls is not None:
            await task.calls.asettle(task)
        complain_swallowed(task)
    node.take(task, result)
    if task.written is not None:
        join_written(task)
    if node.branches:
        await afollow_branches(task, off_loop)


async def afollow_branches(task: Task, off_loop: OffLoop | None) -> None:
    """Follow every branch of a task in an async run."""
    for branch in task.node.branches:
        state = branch_input(task, branch)
        if branch.apath is not None:
            answer = await branch.apath(state, task)
        elif off_loop is None:
            answer = branch.path(state, task)  # type: ignore[misc]
        else:
            answer = await off_loop(task, branch.path, state)  # type: ignore[arg-type]
        follow(task, branch, answer)


def commands_of(raised: ParentCommand) -> Any:
    """What a child handed up, as if the node had returned it: for this graph now, no longer for its parent."""
    from stepgraph.values.commands import Command

    (raw,) = raised.args
    commands = [
        Command(update=command.update, goto=command.goto)
        for command in (raw if isinstance(raw, tuple) else (raw,))
    ]
    return commands[0] if len(commands) == 1 else commands


def complain_swallowed(task: Task) -> None:
    """A pause that never left the node: a bare `except` or `return_exceptions=True` caught it."""
    swallowed, task.swallowed = task.swallowed, None
    if not isinstance(swallowed, BaseException):
        return
    raise RuntimeError(
        f"Node {task.node.name!r} of graph {task.node.plan.graph_name!r} swallowed a pause ({type(swallowed).__name__}): it "
        "asked with interrupt() and went on without an answer. Do not catch BaseException around interrupt() or a nested "
        "graph, nor use return_exceptions=True there; `except Exception` lets a pause pass."
    ) from swallowed


def unwrapped(error: BaseException) -> BaseException:
    """A group that holds nothing but pauses is one pause."""
    if isinstance(error, BaseExceptionGroup):
        leaves = list(_leaves(error))
        if leaves and all(isinstance(leaf, GraphInterrupt) for leaf in leaves):
            return GraphInterrupt(tuple(i for leaf in leaves for i in leaf.args[0]))
        if leaves and all(isinstance(leaf, ParentCommand) for leaf in leaves):
            commands: list[Any] = []
            for leaf in leaves:
                raw = leaf.args[0]
                commands += raw if isinstance(raw, tuple) else (raw,)
            return ParentCommand(tuple(commands))  # type: ignore[arg-type]
    return error


def _leaves(group: BaseExceptionGroup[BaseException]) -> Any:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def is_sync(node: NodePlan) -> bool:
    """Whether a node and its branches can run without an event loop."""
    return not node.has_async
