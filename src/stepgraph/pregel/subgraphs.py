"""Which compiled graphs a node may run: found by looking, never by running.

A graph that is the node, or one that the node's function names: through its globals, its closure, the attributes of the
object it belongs to, what a partial binds, and one level of helper functions. Attributes are read statically, so no
property is run. Graphs compiled with `checkpointer=False` keep nothing and do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepgraph.pregel.plan import NodePlan

_MISSING = object()


def find_subgraphs(action: Any) -> tuple[Any, ...]:
    """The compiled graphs that an action may run, each once, in the order they are named."""
    found: dict[int, Any] = {}
    for value in _named(action, 1):
        if is_compiled_graph(value) and value.checkpointer is not False:
            found.setdefault(id(value), value)
    return tuple(found.values())


def names_tasks(action: Any) -> bool:
    """Whether an action's code names functions made by `@task`, so that it may call them."""
    return any(_is_task(value) for value in _named(action, 1))


def named_task(action: Any, name: str) -> NodePlan | None:
    """The plan of the `@task` function of this name that an action's code names; None if it names none."""
    found = (value.node for value in _named(action, 1) if _is_task(value))
    node: NodePlan | None = next((node for node in found if node.name == name), None)
    return node


def _is_task(value: Any) -> bool:
    return getattr(type(value), "is_task_function", False) is True


def is_compiled_graph(value: Any) -> bool:
    """Whether a value is a compiled graph."""
    kind = type(value)
    return hasattr(kind, "run_nested") and hasattr(kind, "arun_nested")


def _named(action: Any, depth: int) -> Iterator[Any]:
    """The action itself and every value that its code names."""
    yield action
    if isinstance(action, partial):
        yield from _named(action.func, depth)
        yield from (*action.args, *action.keywords.values())
    elif isinstance(action, MethodType):
        names = (
            list(_code_names(action.__func__.__code__)) if isinstance(action.__func__, FunctionType) else []
        )
        yield from _deeper(_attributes(action.__self__, names), depth)
        yield from _named(action.__func__, depth)
    elif isinstance(action, FunctionType):
        yield from _deeper(_of_function(action), depth)
    elif not is_compiled_graph(action) and not isinstance(action, (type, ModuleType)):
        call = getattr(type(action), "__call__", None)  # noqa: B004
        if isinstance(call, FunctionType):
            yield from _deeper(_attributes(action, list(_code_names(call.__code__))), depth)
            yield from _named(call, depth)
        yield from _runnable_parts(action)


def _runnable_parts(action: Any) -> Iterator[Any]:
    """Parts of sequences and bindings of runnables, by the names that LangChain uses."""
    held = getattr(action, "__dict__", {})
    for name in ("steps__", "first", "middle", "last", "bound", "func", "afunc"):
        value = held.get(name)
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, (list, tuple)):
            yield from value
        elif value is not None:
            yield value
            if isinstance(value, FunctionType):
                yield from _of_function(value)


def _deeper(values: Iterator[Any], depth: int) -> Iterator[Any]:
    for value in values:
        yield value
        if depth > 0 and isinstance(value, (FunctionType, MethodType, partial)):
            yield from _named(value, depth - 1)


def _of_function(function: FunctionType) -> Iterator[Any]:
    names = list(_code_names(function.__code__))
    scope = function.__globals__
    for name in names:
        value = scope.get(name, _MISSING)
        if value is not _MISSING:
            yield value
            yield from _attributes(value, names)
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        yield value
        yield from _attributes(value, names)


def _attributes(value: Any, names: list[str]) -> Iterator[Any]:
    """Attributes with these names that stand in the object's or module's own dict, or its class's."""
    if is_compiled_graph(value):
        return
    held = getattr(value, "__dict__", None)
    if not isinstance(held, dict):
        return
    for name in names:
        found = held.get(name, _MISSING)
        if found is _MISSING and not isinstance(value, ModuleType):
            found = getattr(type(value), "__dict__", {}).get(name, _MISSING)
        if found is not _MISSING and (
            is_compiled_graph(found) or _is_task(found) or isinstance(found, (FunctionType, partial))
        ):
            yield MethodType(found, value) if isinstance(found, FunctionType) and name not in held else found


def _code_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_names(constant)
