"""Calling the function of one of LangChain's tools directly, where nobody watches.

Theory of operation. LangChain's way of running a tool spends most of its time on callbacks, and on looking at the function's
signature anew in each call. Where no callback, tracer or collector would be told of it, the outcome is that of reading the
arguments, calling the function, and making a message of what it returns. That is done here, for plain `StructuredTool`s;
every other tool, and every watched run, goes LangChain's way.

Rules of this file: what a call does must be the same on both ways; a test runs both.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from stepgraph.prebuilt.injection import hints_of, marks_of
from stepgraph.pregel import bridges
from stepgraph.pregel.observing import UNSEEN
from stepgraph.pregel.task import current_task


class DirectCall:
    """The function of a tool, ready to be called.

    Attributes:
        function: The tool's function.
        config_name: Its parameter that is given the config, if there is one.
    """

    __slots__ = ("_read", "config_name", "function")

    def __init__(
        self, function: Callable[..., Any], read: Callable[..., Any], config_name: str | None
    ) -> None:
        self.function = function
        self._read = read
        self.config_name = config_name

    def arguments(self, given: dict[str, Any], call_id: Any, where: Any) -> tuple[Any, dict[str, Any]]:
        """The positional and named arguments of a call; raises what LangChain's validation raises."""
        positional, named = self._read(given, call_id)
        if self.config_name is not None:
            from langchain_core.runnables.config import ensure_config

            named = {**named, self.config_name: ensure_config(where.config)}
        return positional, named


def direct_calls(tool: Any) -> tuple[DirectCall | None, DirectCall | None]:
    """The direct forms of a tool, for its function and for its coroutine; None where it must go LangChain's way."""
    from langchain_core.tools import StructuredTool
    from pydantic import BaseModel

    read: Any = getattr(tool, "_to_args_and_kwargs", None)
    schema = tool.args_schema
    plain = (
        type(tool) is StructuredTool
        and read is not None
        and isinstance(schema, type)
        and issubclass(schema, BaseModel)
        and tool.response_format == "content"
        and not (tool.callbacks or tool.verbose or tool.handle_tool_error or tool.handle_validation_error)
    )
    if not plain:
        return None, None
    read = _quick_reader(tool, read)
    return _direct(tool.func, read), _direct(tool.coroutine, read)


def _quick_reader(tool: Any, read: Callable[..., Any]) -> Callable[..., Any]:
    """What `read` does, without looking at the schema's annotations in each call, where a model gave all the arguments."""
    schema = tool.args_schema
    fields = dict(schema.model_fields)
    names = fields.keys()
    if not names or getattr(tool, "_injected_args_keys", True) or any(map(_has_own_way, fields.values())):
        return read

    def read_quickly(given: dict[str, Any], call_id: Any) -> tuple[Any, dict[str, Any]]:
        if given.keys() == names:
            checked = schema.model_validate(given)
            if type(checked) is schema:
                values = checked.__dict__
                return (), {name: values[name] for name in names}
        return read(given, call_id)  # type: ignore[no-any-return]

    return read_quickly


def _has_own_way(field: Any) -> bool:
    """Whether a field has another name outside, or is not for the model to fill."""
    from langchain_core.tools import InjectedToolArg

    if field.alias is not None or field.validation_alias is not None:
        return True
    return any(
        isinstance(mark, InjectedToolArg) or (isinstance(mark, type) and issubclass(mark, InjectedToolArg))
        for mark in (*field.metadata, *marks_of(field.annotation))
    )


def _direct(function: Callable[..., Any] | None, read: Callable[..., Any]) -> DirectCall | None:
    if function is None or "callbacks" in signature(function).parameters:
        return None
    from langchain_core.runnables import RunnableConfig

    config_name = None
    for name, hint in hints_of(function).items():
        if hint is RunnableConfig:
            config_name = name
        elif RunnableConfig in getattr(hint, "__args__", ()):
            return None  # LangChain has rules of its own for such parameters.
    return DirectCall(function, read, config_name)


def nobody_watches(config: Any) -> bool:
    """Whether no callback would be told of a tool that runs now, in a graph, with this config or its task's own."""
    task = current_task()
    bridge = bridges.active
    if task is None or bridge is None or (config is not None and config.get("callbacks")):
        return False
    observer = task.machine.scope.observer
    return (observer is None or observer is UNSEEN) and not bridge.anything_around()
