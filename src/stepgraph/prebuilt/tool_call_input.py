"""Which calls a node of tools was given, and in which form their answers go back.

The input is a state with messages, a bare list of messages, a list of calls, or one call with its state. Messages are
LangChain's, or plain dicts: then a call is `{"id": ..., "function": {"name": ..., "arguments": "<JSON>"}}` as OpenAI's
interface shapes it, or `{"id": ..., "name": ..., "args": {...}}`. Answers have the form of the message that asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from stepgraph.graph.message_forms import loaded_langchain
from stepgraph.prebuilt.langchain_parts import HAS_LANGCHAIN
from stepgraph.prebuilt.tool_call_request import WITH_CONTEXT
from stepgraph.pregel.task import current_task
from stepgraph.values.names import ROOT

if TYPE_CHECKING:
    from pydantic import BaseModel

Kind = Literal["state", "messages", "calls"]

_ASSISTANT = ("assistant", "ai")


class CallInput:
    """What a node of tools was given.

    Attributes:
        kind: `"state"`: an object or dict with messages; `"messages"`: a bare list; `"calls"`: calls without messages.
        calls: each with `name`, `args`, `id` and `type`.
        state: what tools that want the state are given.
        plain: whether answers are role/content dicts.
        messages_key: the field of the state that holds messages.
    """

    __slots__ = ("calls", "kind", "messages_key", "plain", "state")

    def __init__(
        self, kind: Kind, calls: list[dict[str, Any]], state: Any, plain: bool, messages_key: str
    ) -> None:
        self.kind: Kind = kind
        self.calls = calls
        self.state = state
        self.plain = plain
        self.messages_key = messages_key

    def answer(self, content: Any, call: Mapping[str, Any], failed: bool = False) -> Any:
        """The message that answers a call."""
        if self.plain:
            message = {"role": "tool", "tool_call_id": call["id"], "name": call["name"], "content": content}
            return {**message, "status": "error"} if failed else message
        from langchain_core.messages import ToolMessage

        status: Literal["success", "error"] = "error" if failed else "success"
        if not isinstance(content, (str, list)):
            content = str(content)
        return ToolMessage(content=content, name=call["name"], tool_call_id=call["id"], status=status)


def read_calls(input: Any, messages_key: str) -> CallInput:
    """Find the calls in the input of a node of tools.

    Raises:
        ValueError: There is no message, or none of the model.
    """
    if isinstance(input, list):
        if input and isinstance(input[-1], dict) and input[-1].get("type") == "tool_call":
            return CallInput("calls", list(input), _state_around(), not HAS_LANGCHAIN, messages_key)
        return _from_messages("messages", input, input, messages_key)
    if isinstance(input, Mapping) and input.get("__type") == WITH_CONTEXT:
        return CallInput("calls", [input["tool_call"]], input["state"], not HAS_LANGCHAIN, messages_key)
    return _from_messages("state", messages_of(input, messages_key), input, messages_key)


def _from_messages(kind: Kind, messages: Any, state: Any, messages_key: str) -> CallInput:
    if not messages:
        raise ValueError(
            f"No message found in input. A ToolNode reads the calls of the model's last message in {messages_key!r} "
            f"(messages_key=...); it was given {_shape(state)}."
        )
    for message in reversed(messages):
        if is_from_model(message):
            plain = isinstance(message, Mapping)
            return CallInput(kind, calls_of(message), state, plain, messages_key)
    raise ValueError(
        f"No AIMessage found in input. A ToolNode answers the tool calls of the model's last message, but none of the "
        f"{len(messages)} messages in {messages_key!r} is a model's."
    )


def messages_of(state: Any, messages_key: str) -> Any:
    """The messages of a state: a list of them, or an object or dict that has them in a field; None if it has none."""
    if isinstance(state, list):
        return state
    if isinstance(state, Mapping):
        return state.get(messages_key)
    return getattr(state, messages_key, None)


def is_from_model(message: Any) -> bool:
    """Whether a message was written by the model."""
    if isinstance(message, Mapping):
        return message.get("role", message.get("type")) in _ASSISTANT
    return loaded_langchain() is not None and getattr(message, "type", None) in ("ai", "AIMessageChunk")


def calls_of(message: Any) -> list[dict[str, Any]]:
    """The calls of a message of the model, in one form."""
    if isinstance(message, Mapping):
        return [plain_call(call) for call in message.get("tool_calls") or ()]
    return list(getattr(message, "tool_calls", None) or ())


def plain_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A call of a plain message in the common form; arguments that are no JSON object are kept as the text they are."""
    function = call.get("function")
    source: Mapping[str, Any] = function if isinstance(function, Mapping) else call
    arguments = source.get("args", source.get("arguments"))
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments) if arguments.strip() else {}
        except ValueError:
            read = arguments
        arguments = read if isinstance(read, dict) else arguments
    return {
        "name": source.get("name"),
        "args": {} if arguments is None else arguments,
        "id": call.get("id"),
        "type": "tool_call",
    }


def _state_around() -> Any:
    """The whole state of the running graph: what a list of calls leaves unsaid."""
    task = current_task()
    if task is None:
        return {}
    machine, node = task.machine, task.node
    view = machine.view(ROOT if machine.plan.root else machine.plan.fields, machine.state)
    if node.managed:
        view = machine.with_managed(node, view)
    return view if node.mapper is None else node.mapper(view)


def _shape(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a dict with the keys {', '.join(map(repr, value)) or 'none'}"
    return f"a {type(value).__name__}"


def tools_condition(
    state: Sequence[Any] | dict[str, Any] | BaseModel, messages_key: str = "messages"
) -> Literal["tools", "__end__"]:
    """The path of a branch after the model: to `"tools"` if its last message calls tools, else to the end.

    Args:
        state: A list of messages, or a state that holds one.
        messages_key: The field that holds it.

    Returns:
        `"tools"` or `"__end__"`.

    Raises:
        ValueError: There is no message.

    Example:
        >>> tools_condition({"messages": [{"role": "assistant", "content": "Done."}]})
        '__end__'
    """
    messages = messages_of(state, messages_key)
    if not messages:
        raise ValueError(f"No messages found in input state to tool_edge: {state}")
    last = messages[-1] if isinstance(messages, (list, tuple)) else messages
    calls = last.get("tool_calls") if isinstance(last, Mapping) else getattr(last, "tool_calls", None)
    return "tools" if calls else "__end__"
