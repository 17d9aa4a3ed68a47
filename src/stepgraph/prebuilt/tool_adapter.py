"""How a tool of each kind is called: a plain function, or a tool of LangChain.

Rules of this file: an adapter takes arguments that are complete, calls, and answers what the tool returned; arguments that
do not fit it turns into a `ToolInvocationError`. What becomes of results and failures is decided elsewhere.
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Coroutine, Mapping
from contextvars import copy_context
from typing import Any, Protocol

from stepgraph.prebuilt.direct_call import DirectCall, direct_calls
from stepgraph.prebuilt.injection import Wanted, wanted_by
from stepgraph.prebuilt.langchain_parts import HAS_LANGCHAIN
from stepgraph.prebuilt.plain_tool import PlainTool
from stepgraph.prebuilt.tool_call_errors import ToolInvocationError, invocation_error
from stepgraph.prebuilt.tool_call_results import msg_content_output
from stepgraph.pregel.task import current_task


class Where(Protocol):
    """The run that a call is part of."""

    @property
    def config(self) -> Any:
        """Its config."""

    @property
    def unwatched(self) -> bool:
        """Whether no callback would be told of a tool that runs now."""


class ToolAdapter:
    """A tool, and what it wants to be given.

    Attributes:
        tool: The tool.
        wanted: What it wants to be given beside the model's arguments.
    """

    __slots__ = ("tool", "wanted")

    def __init__(self, tool: Any) -> None:
        self.tool = tool
        self.wanted: Wanted = wanted_by(tool)

    def run(self, arguments: dict[str, Any], call: Mapping[str, Any], where: Where, shown: bool) -> Any:
        """Call the tool.

        Args:
            arguments: The model's and what is injected.
            call: The call, as the model made it.
            where: The run that the call is part of.
            shown: Whether somebody streams the calls of tools.

        Raises:
            ToolInvocationError: The model's arguments do not fit.
            Exception: What the tool raises.
        """
        raise NotImplementedError

    async def arun(
        self, arguments: dict[str, Any], call: Mapping[str, Any], where: Where, shown: bool
    ) -> Any:
        """The same from the event loop; a synchronous tool runs on a thread."""
        raise NotImplementedError

    def misfit(self, error: Exception, call: Mapping[str, Any]) -> ToolInvocationError:
        """The error of arguments that do not fit."""
        return invocation_error(self.tool.name, error, call["args"], self.wanted.names)


class PlainAdapter(ToolAdapter):
    """A plain function."""

    __slots__ = ()

    def run(self, arguments: dict[str, Any], call: Mapping[str, Any], where: Where, shown: bool) -> Any:
        """Call the function."""
        tool: PlainTool = self.tool
        checked = self._checked(arguments, call)
        if tool.is_async:
            return run_coroutine(lambda: tool.function(**checked))
        return tool.function(**checked)

    async def arun(
        self, arguments: dict[str, Any], call: Mapping[str, Any], where: Where, shown: bool
    ) -> Any:
        """Call the function from the event loop."""
        tool: PlainTool = self.tool
        checked = self._checked(arguments, call)
        if tool.is_async:
            return await tool.function(**checked)
        return await to_thread(tool.function, **checked)

    def _checked(self, arguments: dict[str, Any], call: Mapping[str, Any]) -> dict[str, Any]:
        """The model's arguments are checked, what is injected is taken as it is."""
        injected = self.wanted.names
        try:
            given = {key: value for key, value in arguments.items() if key not in injected}
            return {**arguments, **self.tool.check(given)}
        except ValueError as error:
            raise self.misfit(error, call) from error


class LangChainAdapter(ToolAdapter):
    """A tool of LangChain, called directly where nobody watches."""

    __slots__ = ("_coroutine", "_function", "_only_coroutine", "_refusal")

    def __init__(self, tool: Any) -> None:
        from pydantic import ValidationError

        super().__init__(tool)
        self._refusal = ValidationError
        self._function, self._coroutine = direct_calls(tool)
        self._only_coroutine = (
            getattr(tool, "func", None) is None and getattr(tool, "coroutine", None) is not None
        )

    def run(self, arguments: dict[str, Any], call: Mapping[str, Any], where: Where, shown: bool) -> Any:
        """Call the tool; a coroutine runs on the run's own loop."""
        tool = self.tool
        try:
            if self._function is not None and not shown and where.unwatched:
                positional, named = self._function.arguments(arguments, call["id"], where)
                return _value(self._function.function(*positional, **named))
            asked = {**call, "args": arguments, "type": "tool_call"}
            if self._only_coroutine:
                return run_coroutine(lambda: tool.ainvoke(asked, where.config))
            return tool.invoke(asked, where.config)
        except self._refusal as error:
            raise self.misfit(error, call) from error

    async def arun(
        self, arguments: dict[str, Any], call: Mapping[str, Any], where: Where, shown: bool
    ) -> Any:
        """Call the tool from the event loop."""
        direct = self._direct_async()
        try:
            if direct is not None and not shown and where.unwatched:
                positional, named = direct.arguments(arguments, call["id"], where)
                if direct is self._coroutine:
                    return _value(await direct.function(*positional, **named))
                return _value(await to_thread(direct.function, *positional, **named))
            return await self.tool.ainvoke({**call, "args": arguments, "type": "tool_call"}, where.config)
        except self._refusal as error:
            raise self.misfit(error, call) from error

    def _direct_async(self) -> DirectCall | None:
        return self._coroutine if self.tool.coroutine is not None else self._function


def _value(result: Any) -> Any:
    """What a tool of LangChain returned: a dict is a value like any other, never a message."""
    return msg_content_output(result) if isinstance(result, dict) else result


def adapt(given: Any) -> ToolAdapter:
    """The adapter of a tool, or of a function that is to be one."""
    if not HAS_LANGCHAIN or isinstance(given, PlainTool):
        return PlainAdapter(given if isinstance(given, PlainTool) else PlainTool(given))
    from langchain_core.tools import BaseTool, tool

    return LangChainAdapter(given if isinstance(given, BaseTool) else tool(given))


def run_coroutine(make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine from synchronous code: on the loop of the graph's run, or on one of its own."""
    task = current_task()
    if task is not None:
        from stepgraph.pregel.drivers.sync import loop_host

        return loop_host(task.machine).run(make, copy_context())
    from stepgraph.pregel.drivers.loop_host import LoopHost

    host = LoopHost()
    try:
        return host.run(make, copy_context())
    finally:
        host.close()
