"""The stream mode `messages`: which messages a stream shows, each once.

Messages come from two sides: chat models give theirs while they produce them (`langchain/tokens.py`), and nodes return
them. What a node returns is shown whole when it has finished, unless it was shown before or the node was given it. So a
message that a model streamed and the node then puts into the state appears once.

Rules of this file: LangChain is looked at only if the program has loaded it. Without it a message is a dict with a `role`
and a `content`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task
    from stepgraph.stream.sink import Event


class WholeMessage(tuple[Any, ...]):
    """(message, metadata) of a message that is shown only if nothing of it has been shown before."""

    __slots__ = ()


def message_class() -> Any:
    """LangChain's base of all messages, None if it is not loaded."""
    module = sys.modules.get("langchain_core.messages")
    return None if module is None else getattr(module, "BaseMessage", None)


def returned_messages(task: Task, values: Iterable[Any]) -> Iterator[WholeMessage]:
    """The messages among what a task wrote that were not there before; each object has an id from now on."""
    base = message_class()
    found = list(_messages(values, base))
    if not found:
        return
    given = {_id_of(message) for message in _messages(_given(task), base)} - {None}
    metadata = {"ls_integration": "langgraph", **task.config["metadata"]}
    for message in found:
        if _id_of(message) is None and base is not None and isinstance(message, base):
            message.id = _new_id()
        if _id_of(message) not in given:
            yield WholeMessage((message, metadata))


def _messages(values: Iterable[Any], base: Any) -> Iterator[Any]:
    """The messages that stand among these values, or in a list or dict that stands among them."""
    for value in values:
        if isinstance(value, Mapping) and not _is_message(value, base):
            yield from _messages_in(value.values(), base)
        elif _is_message(value, base):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (item for item in value if _is_message(item, base))


def _messages_in(values: Iterable[Any], base: Any) -> Iterator[Any]:
    for value in values:
        if _is_message(value, base):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (item for item in value if _is_message(item, base))


def _is_message(value: Any, base: Any) -> bool:
    if base is not None:
        return isinstance(value, base)
    return type(value) is dict and isinstance(value.get("role"), str) and "content" in value


def _id_of(message: Any) -> Any:
    return message.get("id") if type(message) is dict else message.id


def _new_id() -> str:
    from uuid import uuid4

    return str(uuid4())


def _given(task: Task) -> Iterable[Any]:
    """The values that a task's node was given, and those of the state at the start of its superstep."""
    given = task.input
    held = given if isinstance(given, Mapping) else getattr(given, "__dict__", None)
    own = (given,) if held is None else held.values()
    return (*own, *task.machine.state.values())


def only_new(show: Callable[[Event], Any]) -> Callable[[Event], Any]:
    """The same function, which answers None for a whole message that was shown before."""
    shown: set[Any] = set()

    def show_new(event: Event) -> Any:
        parts, mode, data = event
        if mode != "messages":
            return show(event)
        message = data[0]
        if isinstance(message, dict) and "event" in message:
            if message["event"] == "message-start":
                shown.add(message.get("id"))
            return show(event)
        id = _id_of(message)
        if type(data) is WholeMessage:
            if id is not None and id in shown:
                return None
            event = (parts, mode, tuple(data))
        shown.add(id)
        return show(event)

    return show_new
