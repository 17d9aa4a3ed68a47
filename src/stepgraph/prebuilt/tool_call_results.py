"""What tools returned becomes messages and commands, and those become what the node returns.

The rule that is enforced here: every call is answered by exactly one message, because providers refuse a history in
which one is missing. A command for the parent graph, and one that removes all messages, are let off.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from stepgraph.graph.message_forms import REMOVE_ALL_MESSAGES, loaded_langchain
from stepgraph.prebuilt.tool_call_input import CallInput
from stepgraph.values.commands import Command, Send

TOOL_MESSAGE_BLOCK_TYPES = (
    "text",
    "image_url",
    "image",
    "json",
    "search_result",
    "custom_tool_call_output",
    "document",
    "file",
)


def msg_content_output(output: Any) -> str | list[dict[str, Any]]:
    """A tool's output as the content of a message: text and lists of content blocks as they are, else JSON, else `str`.

    Example:
        >>> msg_content_output({"answer": 42}), msg_content_output({1}), msg_content_output([{"type": "text", "text": "x"}])
        ('{"answer": 42}', '{1}', [{'type': 'text', 'text': 'x'}])
    """
    if isinstance(output, str):
        return output
    if isinstance(output, list) and all(
        isinstance(block, dict) and block.get("type") in TOOL_MESSAGE_BLOCK_TYPES for block in output
    ):
        return output
    try:
        return json.dumps(output, ensure_ascii=False)
    except Exception:
        return str(output)


def checked_result(result: Any, call: Mapping[str, Any], given: CallInput) -> Any:
    """What a tool returned as a message, a `Command`, or a list of these.

    Raises:
        ValueError: The call is answered by no message, or by several, or an update does not fit the node's input.
    """
    if isinstance(result, Command):
        return _checked_command(result, call, given, alone=True)
    if _is_answer(result):
        return _as_given(result, given)
    if (
        isinstance(result, list)
        and result
        and all(isinstance(part, Command) or _is_answer(part) for part in result)
    ):
        return _checked_parts(result, call, given)
    return given.answer(msg_content_output(result), call)


def _is_answer(value: Any) -> bool:
    """Whether a tool returned a whole message in place of its content."""
    if isinstance(value, dict):
        return value.get("role") == "tool" and "tool_call_id" in value
    return (
        loaded_langchain() is not None
        and getattr(value, "type", None) == "tool"
        and hasattr(value, "tool_call_id")
    )


def _as_given(message: Any, given: CallInput) -> Any:
    """A message in the form of the message that asked."""
    if isinstance(message, dict):
        return message
    if not given.plain:
        content = msg_content_output(message.content)
        return message if content == message.content else message.model_copy(update={"content": content})
    call = {"id": message.tool_call_id, "name": message.name}
    return given.answer(msg_content_output(message.content), call, message.status == "error")


def _checked_parts(parts: Sequence[Any], call: Mapping[str, Any], given: CallInput) -> list[Any]:
    settled = [
        _checked_command(part, call, given, alone=False)
        if isinstance(part, Command)
        else _as_given(part, given)
        for part in parts
    ]
    answers = 0
    for part in settled:
        messages = _messages_in(part.update, given) if isinstance(part, Command) else [part]
        answers += sum(_answers(message, call) for message in messages)
    if answers != 1:
        raise ValueError(
            f"Tool {call['name']} returned a list with {answers} messages bound to tool_call_id {call['id']!r}; expected exactly "
            "one terminating ToolMessage."
        )
    return settled


def _checked_command(
    command: Command[Any], call: Mapping[str, Any], given: CallInput, alone: bool
) -> Command[Any]:
    update = command.update
    name = call["name"]
    if isinstance(update, dict):
        if given.kind == "messages":
            raise ValueError(
                f"Tools can provide a dict in Command.update only when using dict with '{given.messages_key}' key as ToolNode "
                f"input, got: {update} for tool '{name}'"
            )
    elif isinstance(update, list):
        if given.kind != "messages":
            raise ValueError(
                "Tools can provide a list of messages in Command.update only when using list of messages as ToolNode input, "
                f"got: {update} for tool '{name}'"
            )
    else:
        return command
    messages = _messages_in(update, given)
    named = [_named(message, name) if _answers(message, call) else message for message in messages]
    if alone and command.graph is None and not any(map(_lets_off, messages)):
        _demand_answer(messages, call, given)
    if all(one is other for one, other in zip(named, messages)):
        return command
    return replace(
        command, update=named if isinstance(update, list) else {**update, given.messages_key: named}
    )


def _messages_in(update: Any, given: CallInput) -> list[Any]:
    messages = update if isinstance(update, list) else (update or {}).get(given.messages_key) or []
    return messages if isinstance(messages, list) else [messages]


def _answers(message: Any, call: Mapping[str, Any]) -> bool:
    if isinstance(message, Mapping):
        return (
            message.get("role", message.get("type")) == "tool" and message.get("tool_call_id") == call["id"]
        )
    return bool(getattr(message, "tool_call_id", None) == call["id"])


def _named(message: Any, name: str) -> Any:
    """The answer with its tool's name; a message of the tool is never changed in place."""
    if isinstance(message, Mapping) or message.name is not None:
        return message
    return message.model_copy(update={"name": name})


def _lets_off(message: Any) -> bool:
    key = message.get("id") if isinstance(message, Mapping) else getattr(message, "id", None)
    return bool(key == REMOVE_ALL_MESSAGES)


def _demand_answer(messages: Sequence[Any], call: Mapping[str, Any], given: CallInput) -> None:
    if any(_answers(message, call) for message in messages):
        return
    if given.plain:
        example = '{"role": "tool", "tool_call_id": tool_call_id, "content": "Success"}'
    else:
        example = 'ToolMessage("Success", tool_call_id=tool_call_id)'
    update = (
        f"[{example}, ...]" if given.kind == "messages" else f'{{"{given.messages_key}": [{example}, ...]}}'
    )
    raise ValueError(
        f"Expected to have a matching ToolMessage in Command.update for tool '{call['name']}', got: {list(messages)}. Every "
        "tool call (LLM requesting to call a tool) in the message history MUST have a corresponding ToolMessage. You can fix "
        f"it by modifying the tool to return `Command(update={update}, ...)`."
    )


def node_result(results: Sequence[Any], given: CallInput) -> Any:
    """What the node returns: one update with all messages, or a list of updates and commands if there are commands."""
    flat: list[Any] = []
    for result in results:
        flat += result if isinstance(result, list) else [result]
    if not any(isinstance(part, Command) for part in flat):
        return _wrapped(flat, given)
    parts: list[Any] = []
    sends: list[Any] = []
    for part in flat:
        if not isinstance(part, Command):
            parts.append(_wrapped([part], given))
        elif _only_sends_up(part):
            sends += cast(Any, part.goto)
        else:
            parts.append(part)
    return [*parts, Command(graph=Command.PARENT, goto=sends)] if sends else parts


def _wrapped(messages: list[Any], given: CallInput) -> Any:
    return messages if given.kind == "messages" else {given.messages_key: messages}


def _only_sends_up(command: Command[Any]) -> bool:
    """Such commands of several calls become one, so that the parent starts all that they ask for together."""
    return (
        command.graph == Command.PARENT
        and command.update is None
        and isinstance(command.goto, (list, tuple))
        and bool(command.goto)
        and all(isinstance(target, Send) for target in command.goto)
    )
