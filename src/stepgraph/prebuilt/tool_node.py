"""The node that runs the tools which a model asked for.

Theory of operation. `read_calls` finds the calls; each becomes a `ToolCallRequest`, passes the wrapper, if there is one,
and is executed: `inject` adds what the tool wants, the tool runs, `checked_result` makes a message or command of what it
returned, and `ErrorPolicy` makes a message of what it raised, or raises it again. `node_result` joins the outcomes in the
order of calls. Sync and async differ only in how a tool is called and how calls run at once (`tool_lanes`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from stepgraph.errors import is_invalid_resume
from stepgraph.graph.message_forms import REMOVE_ALL_MESSAGES
from stepgraph.prebuilt.injection import (
    InjectedState,
    InjectedStore,
    ToolRuntime,
    Wanted,
    inject,
    wanted_by,
)
from stepgraph.prebuilt.langchain_parts import HAS_LANGCHAIN, Runnable
from stepgraph.prebuilt.plain_tool import PlainTool
from stepgraph.prebuilt.tool_call_errors import (
    INVALID_TOOL_NAME_ERROR_TEMPLATE,
    TOOL_CALL_ERROR_TEMPLATE,
    TOOL_INVOCATION_ERROR_TEMPLATE,
    ErrorPolicy,
    ToolInvocationError,
    default_handler,
    invocation_error,
)
from stepgraph.prebuilt.tool_call_events import TOOL_CALL_WRITER, ToolCallEvents, events_for
from stepgraph.prebuilt.tool_call_input import CallInput, read_calls, tools_condition
from stepgraph.prebuilt.tool_call_request import (
    AsyncToolCallWrapper,
    ToolCallRequest,
    ToolCallWithContext,
    ToolCallWrapper,
)
from stepgraph.prebuilt.tool_call_results import (
    TOOL_MESSAGE_BLOCK_TYPES,
    checked_result,
    msg_content_output,
    node_result,
)
from stepgraph.prebuilt.tool_lanes import arun_calls, run_calls
from stepgraph.pregel.task import current_task
from stepgraph.values.names import CONF, CONFIG_KEY_RUNTIME
from stepgraph.values.runtime import Runtime

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

__all__ = (
    "INVALID_TOOL_NAME_ERROR_TEMPLATE",
    "REMOVE_ALL_MESSAGES",
    "TOOL_CALL_ERROR_TEMPLATE",
    "TOOL_INVOCATION_ERROR_TEMPLATE",
    "TOOL_MESSAGE_BLOCK_TYPES",
    "AsyncToolCallWrapper",
    "InjectedState",
    "InjectedStore",
    "ToolCallRequest",
    "ToolCallWithContext",
    "ToolCallWrapper",
    "ToolInvocationError",
    "ToolNode",
    "ToolRuntime",
    "is_invalid_resume",
    "msg_content_output",
    "tools_condition",
)


class ToolNode(Runnable[Any, Any]):
    """A node that runs the tools which the model's last message calls, several at once.

    The input is a state with messages, a list of messages, a list of calls, or a `ToolCallWithContext`. The node returns
    one message for each call; a tool may return a `Command` instead, which must hold that message. With LangChain, a tool
    is one of its tools or a function; without it, a function, and messages are role/content dicts.

    Args:
        tools: The tools.
        name: The node's name.
        tags: Tags of the node in traces.
        handle_tool_errors: Which failures become a message to the model. By default wrong arguments only; `True`: all;
            `False`: none; a text: all, with this text; exception classes: only these; a function of the exception that
            returns the text, for exceptions of the class that its parameter is annotated with.
        messages_key: The field of the state that holds the messages.
        wrap_tool_call: A function `(request, execute)` around each call; it may change the request, call `execute` once,
            again or not at all, and returns the message or command.
        awrap_tool_call: The same for asynchronous runs; without it those use `wrap_tool_call`.

    Raises:
        ValueError: `handle_tool_errors` is none of these, or a tool has neither name nor description.

    Example:
        >>> def double(number: int) -> int:
        ...     "Double a number."
        ...     return 2 * number
        >>> call = {"id": "1", "function": {"name": "double", "arguments": '{"number": 21}'}}
        >>> node = ToolNode([double])
        >>> node.invoke({"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]})
        {'messages': [{'role': 'tool', 'tool_call_id': '1', 'name': 'double', 'content': '42'}]}
    """

    name: str = "tools"

    def __init__(
        self,
        tools: Sequence[BaseTool | Callable[..., Any]],
        *,
        name: str = "tools",
        tags: list[str] | None = None,
        handle_tool_errors: bool
        | str
        | Callable[..., str]
        | type[Exception]
        | tuple[type[Exception], ...] = default_handler,
        messages_key: str = "messages",
        wrap_tool_call: ToolCallWrapper | None = None,
        awrap_tool_call: AsyncToolCallWrapper | None = None,
    ) -> None:
        self.name = name
        self.tags = tags
        self.messages_key = messages_key
        self._errors = ErrorPolicy(handle_tool_errors)
        self._wrap: Any = wrap_tool_call
        self._awrap: Any = awrap_tool_call
        self._tools: dict[str, Any] = {}
        self._wanted: dict[str, Wanted] = {}
        for given in tools:
            tool = as_tool(given)
            self._tools[tool.name] = tool
            self._wanted[tool.name] = wanted_by(tool)

    @property
    def tools_by_name(self) -> dict[str, BaseTool]:
        """The tools by their names."""
        return self._tools

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Run the tools that were asked for.

        Args:
            input: A state with messages, a list of messages, a list of calls, or one call with its state.
            config: The config of the run; inside a node it need not be given.

        Returns:
            An update with the answers, or a list of updates and commands.

        Raises:
            ValueError: There are no messages, or a tool's result does not answer its call.
            Exception: What a tool raised and `handle_tool_errors` does not handle.
        """
        batch = _Batch(self, input, config)
        return node_result(run_calls(batch.given.calls, batch.run, batch.limit), batch.given)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """The same on the running event loop; synchronous tools run on threads."""
        batch = _Batch(self, input, config)
        return node_result(await arun_calls(batch.given.calls, batch.arun, batch.limit), batch.given)


def as_tool(given: Any) -> Any:
    """A tool as it is, or a function as a tool."""
    if not HAS_LANGCHAIN:
        return given if isinstance(given, PlainTool) else PlainTool(given)
    from langchain_core.tools import BaseTool, tool

    return given if isinstance(given, (BaseTool, PlainTool)) else tool(given)


class _Batch:
    """The calls of one invocation, and what they have in common."""

    __slots__ = ("_base", "_config", "_node", "given", "limit")

    def __init__(self, node: ToolNode, input: Any, config: Any) -> None:
        task = current_task()
        if config is None:
            config = {} if task is None else task.config
        runtime = (config.get(CONF) or {}).get(CONFIG_KEY_RUNTIME)
        if runtime is None:
            runtime = Runtime() if task is None else task.runtime
        self._node = node
        self._config = config
        self._base: Runtime[Any] = runtime
        self.limit: int | None = config.get("max_concurrency")
        self.given: CallInput = read_calls(input, node.messages_key)

    def request(self, call: Mapping[str, Any]) -> ToolCallRequest:
        """A call with what surrounds it."""
        base = self._base
        runtime: ToolRuntime[Any, Any] = ToolRuntime(
            state=self.given.state,
            context=base.context,
            config=self._config,
            stream_writer=base.stream_writer,
            tool_call_id=call["id"],
            store=base.store,
            tools=list(self._node.tools_by_name.values()),
            execution_info=base.execution_info,
            server_info=base.server_info,
        )
        tool = self._node.tools_by_name.get(call["name"])
        return ToolCallRequest(dict(call), tool, self.given.state, runtime)  # type: ignore[arg-type]

    # ---- one call

    def run(self, call: Mapping[str, Any]) -> Any:
        """Answer one call."""
        request = self.request(call)
        wrap = self._node._wrap
        if wrap is None:
            return self.execute(request)
        try:
            return wrap(request, self.execute)
        except Exception as error:
            return self._failed(error, call)

    async def arun(self, call: Mapping[str, Any]) -> Any:
        """The same, asynchronously."""
        request = self.request(call)
        node = self._node
        try:
            if node._awrap is not None:
                return await node._awrap(request, self.aexecute)
            if node._wrap is not None:
                return node._wrap(request, self.execute)
        except Exception as error:
            return self._failed(error, call)
        return await self.aexecute(request)

    def execute(self, request: ToolCallRequest) -> Any:
        """Run the tool of a request."""
        prepared = _Prepared(self, request)
        if prepared.answer is not None:
            return prepared.answer
        token = prepared.begin()
        try:
            return prepared.settle(prepared.call_tool())
        except Exception as error:
            return prepared.fail(error)
        finally:
            TOOL_CALL_WRITER.reset(token)

    async def aexecute(self, request: ToolCallRequest) -> Any:
        """The same, asynchronously."""
        prepared = _Prepared(self, request)
        if prepared.answer is not None:
            return prepared.answer
        token = prepared.begin()
        try:
            return prepared.settle(await prepared.acall_tool())
        except Exception as error:
            return prepared.fail(error)
        finally:
            TOOL_CALL_WRITER.reset(token)

    def _failed(self, error: Exception, call: Mapping[str, Any]) -> Any:
        return self.given.answer(self._node._errors.message(error), call, failed=True)


class _Prepared:
    """A call that is ready to run, or already answered because it cannot run."""

    __slots__ = ("_arguments", "_batch", "_call", "_config", "_events", "_injected", "_tool", "answer")

    def __init__(self, batch: _Batch, request: ToolCallRequest) -> None:
        node = batch._node
        call: Any = request.tool_call
        tool: Any = request.tool
        self.answer: Any = None
        self._batch, self._call, self._tool, self._config = batch, call, tool, request.runtime.config
        self._events: ToolCallEvents | None = events_for(current_task(), call["id"])
        if tool is None:
            known = ", ".join(node.tools_by_name)
            complaint = INVALID_TOOL_NAME_ERROR_TEMPLATE.format(
                requested_tool=call["name"], available_tools=known
            )
            self.answer = batch.given.answer(complaint, call, failed=True)
            return
        wanted = node._wanted.get(tool.name)
        if wanted is None or node.tools_by_name[tool.name] is not tool:
            wanted = wanted_by(tool)
        self._injected = wanted.names
        if isinstance(call["args"], Mapping):
            self._arguments = inject(tool.name, wanted, call["args"], request.runtime, node.messages_key)
        else:
            self._arguments = call["args"]

    def begin(self) -> Any:
        """Show that the tool starts, and let it show parts of its output."""
        events = self._events
        if events is None:
            return TOOL_CALL_WRITER.set(None)
        shown = self._call["args"]
        if isinstance(shown, Mapping):
            shown = {key: value for key, value in shown.items() if key not in self._injected}
        events.started(self._tool.name, shown)
        return TOOL_CALL_WRITER.set(events.delta)

    def call_tool(self) -> Any:
        """Call the tool; a coroutine runs on the run's own loop."""
        tool = self._tool
        if isinstance(tool, PlainTool):
            arguments = self._checked(tool)
            if tool.is_async:
                return run_coroutine(lambda: tool.function(**arguments))
            return tool.function(**arguments)
        asked = self._asked()
        if getattr(tool, "coroutine", None) is not None and getattr(tool, "func", None) is None:
            return run_coroutine(lambda: tool.ainvoke(asked, self._config))
        return tool.invoke(asked, self._config)

    async def acall_tool(self) -> Any:
        """Call the tool from the event loop."""
        tool = self._tool
        if isinstance(tool, PlainTool):
            arguments = self._checked(tool)
            if tool.is_async:
                return await tool.function(**arguments)
            from asyncio import to_thread

            return await to_thread(tool.function, **arguments)
        return await tool.ainvoke(self._asked(), self._config)

    def _asked(self) -> Any:
        if not isinstance(self._arguments, Mapping):
            raise self._misfit(ValueError("the arguments are no JSON object"))
        return {**self._call, "args": self._arguments, "type": "tool_call"}

    def _checked(self, tool: PlainTool) -> dict[str, Any]:
        """The arguments of a plain tool: the model's are checked, what is injected is taken as it is."""
        arguments = self._arguments
        if not isinstance(arguments, Mapping):
            raise self._misfit(ValueError("the arguments are no JSON object"))
        given = {key: value for key, value in arguments.items() if key not in self._injected}
        try:
            return {**arguments, **tool.check(given)}
        except ValueError as error:
            raise self._misfit(error) from error

    def _misfit(self, error: Exception) -> ToolInvocationError:
        return invocation_error(self._tool.name, error, self._call["args"], self._injected)

    def settle(self, result: Any) -> Any:
        """Make a message or command of what the tool returned."""
        if self._events is not None:
            self._events.finished(result)
            self._events = None
        call = {**self._call, "name": self._tool.name}
        return checked_result(result, call, self._batch.given)

    def fail(self, error: Exception) -> Any:
        """Make a message of what went wrong, or raise it again."""
        if self._events is not None:
            self._events.failed(error)
        if _is_misfit(error):
            misfit = self._misfit(error)
            misfit.__cause__ = error
            error = misfit
        return self._batch._failed(error, self._call)


def _is_misfit(error: Exception) -> bool:
    """Whether LangChain refused the arguments of a call."""
    if not HAS_LANGCHAIN:
        return False
    from pydantic import ValidationError

    return isinstance(error, ValidationError)


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
