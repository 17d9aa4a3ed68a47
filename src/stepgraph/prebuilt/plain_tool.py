"""A function as a tool, without LangChain: its name, its description, its parameters, and calls that are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import Parameter, cleandoc, getdoc, signature
from typing import Any, NotRequired

from typing_extensions import TypedDict

from stepgraph.prebuilt.injection import hints_of, wanted_by
from stepgraph.pregel.call import is_async_callable
from stepgraph.schema.callables import name_of
from stepgraph.schema.json_schema import check_answer, json_schema_of


class PlainTool:
    """A function that a model may call.

    Args:
        function: The function, sync or async. Its docstring tells the model what it is for, its annotations what it takes.

    Example:
        >>> def add(a: int, b: int = 0) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> tool = PlainTool(add)
        >>> tool.definition["function"]["name"], tool.definition["function"]["parameters"]["required"]
        ('add', ['a'])
        >>> tool.function(**tool.check({"a": 1, "b": 2}))
        3
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(
                f"A tool must be a function; got {function!r} of type {type(function).__name__}. Tools of LangChain need "
                'pip install "stepgraph[langchain]".'
            )
        self.func = self.function = function
        self.name = name_of(function)
        self.description = cleandoc(getdoc(function) or "")
        self.is_async = is_async_callable(function)
        self._injected = wanted_by(self).names

    @cached_property
    def _parameters(self) -> dict[str, Parameter]:
        return {
            name: parameter
            for name, parameter in signature(self.function).parameters.items()
            if name not in self._injected
        }

    @cached_property
    def arguments(self) -> Any:
        """The arguments that the model gives, as a TypedDict."""
        hints = hints_of(self.function)
        fields = {}
        for name, parameter in self._parameters.items():
            if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
                continue
            hint = hints.get(name, Any)
            fields[name] = hint if parameter.default is Parameter.empty else NotRequired[hint]
        return TypedDict(self.name, fields)  # type: ignore[operator]

    @property
    def definition(self) -> dict[str, Any]:
        """What tells a provider of the tool, in the widespread form of OpenAI's interface."""
        described = {"name": self.name, "parameters": json_schema_of(self.arguments)}
        if self.description:
            described["description"] = self.description
        return {"type": "function", "function": described}

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call, as their annotations have them.

        Raises:
            ValueError: They do not fit.
        """
        if not isinstance(arguments, Mapping):
            raise ValueError(f"the arguments are no JSON object: {arguments!r}")
        known = self._parameters
        if not any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values()):
            unknown = [name for name in arguments if name not in known]
            if unknown:
                raise ValueError(
                    f"unknown argument {', '.join(unknown)}; known are: {', '.join(known) or 'none'}"
                )
        return {**arguments, **check_answer(self.arguments, dict(arguments))}
