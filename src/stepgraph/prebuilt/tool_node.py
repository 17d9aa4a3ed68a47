"""The node that runs the tools which a model asked for.

Theory of operation. `read_calls` finds the calls; each becomes a `ToolCallRequest`, passes the wrapper, if there is one,
and is executed: `inject` adds what the tool wants, the tool runs, `checked_result` makes a message or command of what it
returned, and `ErrorPolicy` makes a message of what it raised, or raises it again. `node_result` joins the outcomes in the
order of calls. Sync and async differ only in how a tool is called and how calls run at once (`tool_lanes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.errors import is_invalid_resume
from stepgraph.graph.message_forms import REMOVE_ALL_MESSAGES
from stepgraph.prebuilt.direct_call import nobody_watches
from stepgraph.prebuilt.injection import (
    InjectedState,
    InjectedStore,
    ToolRuntime,
    inject,
)
from stepgraph.prebuilt.langchain_parts import Runnable
from stepgraph.prebuilt.tool_adapter import ToolAdapter, adapt
from stepgraph.prebuilt.tool_call_errors import (
    INVALID_TOOL_NAME_ERROR_TEMPLATE,
    TOOL_CALL_ERROR_TEMPLATE,
    TOOL_INVOCATION_ERROR_TEMPLATE,
    ErrorPolicy,
    ToolInvocationError,
    default_handler,
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
    finds_config = True

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
        # Packages that build a node like this one read these two names.
        self._messages_key, self._handle_tool_errors = messages_key, handle_tool_errors
        self._errors = ErrorPolicy(handle_tool_errors)
        self._wrap: Any = wrap_tool_call
        self._awrap: Any = awrap_tool_call
        self._adapters: dict[str, ToolAdapter] = {}
        for adapter in map(adapt, tools):
            self._adapters[adapter.tool.name] = adapter
        self._tools: dict[str, BaseTool] = {name: adapter.tool for name, adapter in self._adapters.items()}

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


class _Batch:
    """The calls of one invocation, and what they have in common."""

    __slots__ = ("_config", "_node", "_task", "given", "limit", "observer")

    def __init__(self, node: ToolNode, input: Any, config: Any) -> None:
        self._node = node
        self._task = task = current_task()
        self._config = config
        self.limit: int | None = None
        self.observer: Any = None if task is None else task.machine.scope.observer
        if config is not None:
            self.limit = config.get("max_concurrency")
        elif task is not None:
            self.limit = task.machine.scope.max_concurrency
        self.given: CallInput = read_calls(input, node.messages_key)

    @property
    def config(self) -> Any:
        """The config of the run; made when somebody wants it."""
        if self._config is None:
            self._config = {} if self._task is None else self._task.config
        return self._config

    @property
    def unwatched(self) -> bool:
        """Whether no callback would be told of a tool that runs now."""
        return nobody_watches(self._config)

    def runtime(self, call: Mapping[str, Any]) -> ToolRuntime[Any, Any]:
        """What the tool of a call can ask about the run."""
        base: Runtime[Any] | None = (self.config.get(CONF) or {}).get(CONFIG_KEY_RUNTIME)
        if base is None:
            base = Runtime() if self._task is None else self._task.runtime
        return ToolRuntime(
            state=self.given.state,
            context=base.context,
            config=self.config,
            stream_writer=base.stream_writer,
            tool_call_id=call["id"],
            store=base.store,
            tools=list(self._node.tools_by_name.values()),
            execution_info=base.execution_info,
            server_info=base.server_info,
        )

    def request(self, call: Mapping[str, Any]) -> ToolCallRequest:
        """A call with what surrounds it, for a wrapper."""
        tool = self._node.tools_by_name.get(call["name"])
        return ToolCallRequest(dict(call), tool, self.given.state, self.runtime(call))  # type: ignore[arg-type]

    # ---- one call

    def run(self, call: Mapping[str, Any]) -> Any:
        """Answer one call."""
        wrap = self._node._wrap
        if wrap is None:
            return self._answer(call, self._node._tools.get(call["name"]), None)
        try:
            return wrap(self.request(call), self.execute)
        except Exception as error:
            return self.failed(error, call)

    async def arun(self, call: Mapping[str, Any]) -> Any:
        """The same, asynchronously."""
        node = self._node
        if node._awrap is None and node._wrap is None:
            return await self._aanswer(call, node._tools.get(call["name"]), None)
        try:
            if node._awrap is not None:
                return await node._awrap(self.request(call), self.aexecute)
            return node._wrap(self.request(call), self.execute)
        except Exception as error:
            return self.failed(error, call)

    def execute(self, request: ToolCallRequest) -> Any:
        """Run the tool of a request, for a wrapper."""
        return self._answer(request.tool_call, request.tool, request.runtime)

    async def aexecute(self, request: ToolCallRequest) -> Any:
        """The same, asynchronously."""
        return await self._aanswer(request.tool_call, request.tool, request.runtime)

    def _answer(self, call: Any, tool: Any, runtime: ToolRuntime[Any, Any] | None) -> Any:
        if tool is None:
            return self._no_such_tool(call)
        prepared = _Prepared(self, call, self._adapter(tool), runtime)
        token = prepared.begin()
        try:
            return prepared.settle(prepared.adapter.run(*prepared.complete()))
        except BaseException as error:
            return prepared.fail(error)
        finally:
            TOOL_CALL_WRITER.reset(token)

    async def _aanswer(self, call: Any, tool: Any, runtime: ToolRuntime[Any, Any] | None) -> Any:
        if tool is None:
            return self._no_such_tool(call)
        prepared = _Prepared(self, call, self._adapter(tool), runtime)
        token = prepared.begin()
        try:
            return prepared.settle(await prepared.adapter.arun(*prepared.complete()))
        except BaseException as error:
            return prepared.fail(error)
        finally:
            TOOL_CALL_WRITER.reset(token)

    def _adapter(self, tool: Any) -> ToolAdapter:
        known = self._node._adapters.get(tool.name)
        return known if known is not None and known.tool is tool else adapt(tool)

    def _no_such_tool(self, call: Mapping[str, Any]) -> Any:
        known = ", ".join(self._node.tools_by_name)
        complaint = INVALID_TOOL_NAME_ERROR_TEMPLATE.format(
            requested_tool=call["name"], available_tools=known
        )
        return self.given.answer(complaint, call, failed=True)

    def failed(self, error: Exception, call: Mapping[str, Any]) -> Any:
        """The message about a failure; it is raised again if none is to be made."""
        return self.given.answer(self._node._errors.message(error), call, failed=True)


class _Prepared:
    """A call that is ready to run."""

    __slots__ = ("_arguments", "_batch", "_begun", "_call", "_events", "adapter")

    def __init__(
        self, batch: _Batch, call: Any, adapter: ToolAdapter, runtime: ToolRuntime[Any, Any] | None
    ) -> None:
        self._batch = batch
        self._call = call
        self._begun: Any = None
        self._events: ToolCallEvents | None = events_for(batch._task, call["id"])
        self.adapter = adapter
        arguments = call["args"]
        if adapter.wanted.names and isinstance(arguments, Mapping):
            key = batch.given.messages_key
            arguments = inject(
                adapter.tool.name, adapter.wanted, arguments, runtime or batch.runtime(call), key
            )
        self._arguments = arguments

    def begin(self) -> Any:
        """Show that the tool starts, and let it show parts of its output."""
        observer = self._batch.observer
        if observer is not None:
            name, call = self.adapter.tool.name, self._call
            self._begun = observer.tool_begins(self._batch._task, name, call["id"], call["args"])
        events = self._events
        if events is None:
            return TOOL_CALL_WRITER.set(None)
        shown = self._call["args"]
        if isinstance(shown, Mapping):
            injected = self.adapter.wanted.names
            shown = {key: value for key, value in shown.items() if key not in injected}
        events.started(self.adapter.tool.name, shown)
        return TOOL_CALL_WRITER.set(events.delta)

    def complete(self) -> tuple[dict[str, Any], Any, Any, bool]:
        """What the adapter is called with.

        Raises:
            ToolInvocationError: The model gave something else than a JSON object.
        """
        if not isinstance(self._arguments, Mapping):
            raise self.adapter.misfit(ValueError("the arguments are no JSON object"), self._call)
        return dict(self._arguments), self._call, self._batch, self._events is not None

    def settle(self, result: Any) -> Any:
        """Make a message or command of what the tool returned."""
        if self._begun is not None:
            begun, self._begun = self._begun, None
            self._batch.observer.tool_ends(begun, result)
        if self._events is not None:
            self._events.finished(result)
            self._events = None
        call = {**self._call, "name": self.adapter.tool.name}
        return checked_result(result, call, self._batch.given)

    def fail(self, error: BaseException) -> Any:
        """Make a message of what went wrong, or raise it again; a pause is always raised again."""
        if self._begun is not None:
            begun, self._begun = self._begun, None
            self._batch.observer.tool_fails(begun, _source_of(error))
        if not isinstance(error, Exception):
            raise error
        if self._events is not None:
            self._events.failed(_source_of(error))
        return self._batch.failed(error, self._call)


def _source_of(error: BaseException) -> BaseException:
    return error.source if isinstance(error, ToolInvocationError) else error
