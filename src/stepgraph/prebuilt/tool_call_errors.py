"""Which failures of a tool become a message to the model, and what that message says.

`handle_tool_errors` of a `ToolNode` is read once into an `ErrorPolicy`. Pauses and other control flow are no failures:
they derive from `BaseException` and never come here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import ismethod, signature
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from stepgraph.prebuilt.injection import hints_of
from stepgraph.prebuilt.langchain_parts import ToolException

if TYPE_CHECKING:
    from pydantic import ValidationError

INVALID_TOOL_NAME_ERROR_TEMPLATE = (
    "Error: {requested_tool} is not a valid tool, try one of [{available_tools}]."
)
TOOL_CALL_ERROR_TEMPLATE = "Error: {error}\n Please fix your mistakes."
TOOL_INVOCATION_ERROR_TEMPLATE = "Error invoking tool '{tool_name}' with kwargs {tool_kwargs} with error:\n {error}\n Please fix the error and try again."


class ToolInvocationError(ToolException):
    """The arguments that a model gave do not fit the tool.

    Args:
        tool_name: The tool.
        source: What validation said.
        tool_kwargs: The arguments that the model gave.
        filtered_errors: The complaints that concern the model's arguments, as Pydantic lists them.
    """

    def __init__(
        self,
        tool_name: str,
        source: ValidationError,
        tool_kwargs: dict[str, Any],
        filtered_errors: list[Any] | None = None,
    ) -> None:
        if filtered_errors is None:
            complaint = str(source)
        else:
            complaint = "\n".join(map(_complaint, filtered_errors))
        self.message = TOOL_INVOCATION_ERROR_TEMPLATE.format(
            tool_name=tool_name, tool_kwargs=tool_kwargs, error=complaint
        )
        super().__init__(self.message)
        self.tool_name = tool_name
        self.tool_kwargs = tool_kwargs
        self.source = source
        self.filtered_errors = filtered_errors

    def __reduce__(self) -> Any:
        return type(self), (self.tool_name, self.source, self.tool_kwargs, self.filtered_errors)


def _complaint(error: Any) -> str:
    where = ".".join(map(str, error.get("loc", ())))
    return f"{where}: {error.get('msg')}" if where else str(error.get("msg"))


def invocation_error(
    tool: str, error: Any, arguments: Any, injected: Sequence[str] | set[str]
) -> ToolInvocationError:
    """The error of arguments that do not fit; complaints about injected parameters are none of the model's business."""
    errors = error.errors() if hasattr(error, "errors") else [{"loc": (), "msg": str(error)}]
    own = [entry for entry in errors if not (entry.get("loc") and entry["loc"][0] in injected)]
    shown = arguments
    if isinstance(arguments, dict):
        shown = {key: value for key, value in arguments.items() if key not in injected}
    return ToolInvocationError(tool, error, shown, own)


class ErrorPolicy:
    """What to do with a failure.

    Args:
        setting: `True`: every failure becomes a message; `False`: none; a text: every one, and it says this; an exception
            class or a tuple of them: only these; a function of the exception: it writes the message, for exceptions of
            the class that its parameter is annotated with.

    Raises:
        ValueError: The setting is none of these.
    """

    __slots__ = ("_write", "handled")

    def __init__(self, setting: Any) -> None:
        self.handled: tuple[type[BaseException], ...] = (Exception,)
        self._write: Callable[[Exception], Any] = _describe
        if setting is None or setting is False:
            self.handled = ()
        elif isinstance(setting, str):
            self._write = lambda error: setting
        elif isinstance(setting, tuple):
            self.handled = setting
        elif isinstance(setting, type) and issubclass(setting, BaseException):
            self.handled = (setting,)
        elif callable(setting):
            self.handled = handled_types(setting)
            self._write = setting
        elif setting is not True:
            raise ValueError(
                "Got unexpected type of `handle_tool_errors`. Expected bool, str, exception type(s) or callable. Received: "
                f"{setting!r}"
            )

    def message(self, error: Exception) -> Any:
        """What to tell the model about a failure; the failure itself is raised again if it is none of the model's business."""
        if not isinstance(error, self.handled):
            raise error
        return self._write(error)


def _describe(error: Exception) -> str:
    return TOOL_CALL_ERROR_TEMPLATE.format(error=repr(error))


def default_handler(error: ToolInvocationError) -> str:
    """The default: a model that gave wrong arguments is told so, every other failure is raised."""
    return error.message


def handled_types(handler: Callable[..., Any]) -> tuple[type[Exception], ...]:
    """The exceptions that a handler is for, by the annotation of its first parameter; all if it has none.

    Raises:
        ValueError: The annotation is no exception class.
    """
    function = handler if ismethod(handler) or hasattr(handler, "__code__") else type(handler).__call__
    names = list(signature(handler).parameters)
    annotation = hints_of(function).get(names[0]) if names else None
    if annotation is None or annotation is Any:
        return (Exception,)
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    if all(isinstance(member, type) and issubclass(member, Exception) for member in members):
        return members
    example = "`def custom_handler(e: Union[ValueError, TypeError])`."
    if len(members) > 1:
        raise ValueError(
            f"All types in the error handler error annotation must be Exception types. For example, {example} Got '{annotation}' instead."
        )
    raise ValueError(
        "Arbitrary types are not supported in the error handler signature. Please annotate the error with either a specific "
        "Exception type or a union of Exception types. For example, `def custom_handler(e: ValueError)` or "
        f"{example} Got '{annotation}' instead."
    )
