"""One call on its way to its tool, and the shapes in which calls are handed around."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from typing_extensions import TypedDict, Unpack

from stepgraph.prebuilt.injection import ToolRuntime
from stepgraph.values.commands import Command

if TYPE_CHECKING:
    from langchain_core.messages import ToolMessage
    from langchain_core.messages.tool import ToolCall
    from langchain_core.tools import BaseTool
else:
    ToolMessage = ToolCall = BaseTool = Any

WITH_CONTEXT: Literal["tool_call_with_context"] = "tool_call_with_context"


class _Overrides(TypedDict, total=False):
    """What `ToolCallRequest.override` takes."""

    tool_call: ToolCall
    tool: BaseTool | None
    state: Any


@dataclass
class ToolCallRequest:
    """A tool call that is about to run; what `wrap_tool_call` is given.

    Attributes:
        tool_call: The call: `name`, `args`, `id`.
        tool: The tool, None if the node knows none of that name.
        state: The state that the node was given.
        runtime: What the tool can ask about the run.
    """

    tool_call: ToolCall
    tool: BaseTool | None
    state: Any
    runtime: ToolRuntime[Any, Any]

    def override(self, **overrides: Unpack[_Overrides]) -> ToolCallRequest:
        """A copy with another `tool_call`, `tool` or `state`; this request stays as it is.

        Raises:
            TypeError: There is no such attribute.

        Example:
            >>> request = ToolCallRequest({"name": "add", "args": {}, "id": "1"}, None, {}, None)
            >>> request.override(state={"x": 1}).state, request.state
            ({'x': 1}, {})
        """
        changes: dict[str, Any] = {**overrides}
        if "state" in changes and self.runtime is not None:
            changes.setdefault("runtime", replace(self.runtime, state=changes["state"]))
        return replace(self, **changes)


class ToolCallWithContext(TypedDict):
    """One call together with the state it belongs to: what a `Send` to a `ToolNode` carries.

    Attributes:
        tool_call: The call.
        state: The state that the tool sees.
    """

    tool_call: ToolCall
    __type: Literal["tool_call_with_context"]
    state: Any


ToolCallWrapper: TypeAlias = Callable[
    [ToolCallRequest, Callable[[ToolCallRequest], ToolMessage | Command[Any]]], ToolMessage | Command[Any]
]
"""A function `(request, execute)` around each call."""

AsyncToolCallWrapper: TypeAlias = Callable[
    [ToolCallRequest, Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]],
    Awaitable[ToolMessage | Command[Any]],
]
"""The same for asynchronous runs."""
