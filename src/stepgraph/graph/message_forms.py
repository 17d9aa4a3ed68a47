"""What a message is: LangChain's classes where LangChain is loaded, plain role/content dicts where it is not.

The rules:

1. LangChain is never imported from here. It counts as loaded when the program itself has imported its messages; nobody
   can hold a message of it before that.
2. Reading turns whatever a person writes (a message, a text, a `(role, content)` pair, a dict, or a list of these) into
   a list of messages that all have an id.
3. A LangChain message without an id is given one in place, as its users expect. A plain dict is never changed: the one
   that is kept is a copy with an id.
4. A removal is a message too: LangChain's `RemoveMessage`, or the dict `{"role": "remove", "id": ...}`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from os import urandom
from typing import Any, Final

REMOVE_ALL_MESSAGES: Final = "__remove_all__"
REMOVE_ROLE: Final = "remove"

PLAIN: Final = "plain"
LANGCHAIN_OPENAI: Final = "langchain-openai"
FORMATS: Final = (None, LANGCHAIN_OPENAI, PLAIN)


def new_message_id() -> str:
    """A random UUID (version 4) as text."""
    digits = urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


class LangChainMessages:
    """What is needed of LangChain's messages, looked up once."""

    __slots__ = ("base", "chunk", "complete", "convert", "removal", "unchunk")

    def __init__(self) -> None:
        from langchain_core import messages

        self.base: Any = messages.BaseMessage
        self.chunk: Any = messages.BaseMessageChunk
        self.removal: Any = messages.RemoveMessage
        self.convert: Callable[[list[Any]], list[Any]] = messages.convert_to_messages
        self.unchunk: Callable[[Any], Any] = messages.message_chunk_to_message
        self.complete: frozenset[type] = frozenset(
            (messages.HumanMessage, messages.AIMessage, messages.SystemMessage, messages.ToolMessage)
        )

    def message(self, value: Any) -> Any:
        """The message that a value stands for; a chunk stays one."""
        if isinstance(value, self.base):
            return value
        if type(value) is dict and value.get("role", value.get("type")) == REMOVE_ROLE:
            return self.removal(id=value.get("id"))
        return self.convert([value])[0]

    def read(self, value: Any) -> list[Any]:
        """The messages that a write stands for, whole and with ids."""
        complete = self.complete
        found = []
        for item in value if isinstance(value, list) else (value,):
            if type(item) not in complete:
                item = self.message(item)
                if isinstance(item, self.chunk):
                    item = self.unchunk(item)
            if item.id is None:
                item.id = new_message_id()
            found.append(item)
        return found

    def read_as_openai(self, value: Any) -> list[Any]:
        """The same with contents in the form that OpenAI's interface takes.

        One message can become several (a tool's result beside a text); the ids of the later ones follow from the first,
        so that writing the message again replaces them all.
        """
        from langchain_core.messages import convert_to_openai_messages

        found = []
        for message in self.read(value):
            if isinstance(message, self.removal):
                found.append(message)
                continue
            for number, formatted in enumerate(self.convert(convert_to_openai_messages([message]))):
                formatted.id = f"{message.id}:{number}" if number else message.id
                found.append(formatted)
        return found


_known: LangChainMessages | None = None


def loaded_langchain() -> LangChainMessages | None:
    """LangChain's messages if the program has imported them."""
    global _known
    if _known is None and "langchain_core.messages" in sys.modules:
        _known = LangChainMessages()
    return _known


def required_langchain(purpose: str) -> LangChainMessages:
    """LangChain's messages, imported if need be.

    Raises:
        ImportError: It is not installed.
    """
    try:
        import langchain_core.messages  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{purpose} needs LangChain. Install it: pip install "stepgraph[langchain]"'
        ) from error
    known = loaded_langchain()
    assert known is not None
    return known


def plain_message(value: Any) -> Any:
    """The role/content dict that a value stands for, without regard to its id; LangChain messages stay as they are.

    Raises:
        TypeError: The value is no message.
    """
    if isinstance(value, Mapping):
        if "role" in value or "type" in value:
            return value
    elif isinstance(value, str):
        return {"role": "user", "content": value}
    elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return {"role": value[0], "content": value[1]}
    else:
        langchain = loaded_langchain()
        if langchain is not None and isinstance(value, langchain.base):
            return value
    hint = ""
    if hasattr(value, "model_dump"):
        hint = f" A {type(value).__name__} can be turned into a dict by its model_dump()."
    raise TypeError(
        f"Not a message: {value!r} of type {type(value).__name__}. A message is a dict with a 'role', a text, or a pair "
        f"(role, content).{hint} LangChain's messages and its other forms are read once langchain_core is imported."
    )


def read_plain(value: Any) -> list[Any]:
    """The plain messages that a write stands for, with ids."""
    found = []
    for item in value if isinstance(value, list) else (value,):
        message = plain_message(item)
        if isinstance(message, Mapping):
            if type(message) is not dict or message.get("id") is None:
                message = {**message, "id": message.get("id") or new_message_id()}
        elif message.id is None:
            message.id = new_message_id()
        found.append(message)
    return found


def id_of(message: Any) -> Any:
    """The id of a message that was read."""
    return message["id"] if type(message) is dict else message.id


def is_removal(message: Any) -> bool:
    """Whether a message that was read asks to remove others."""
    if type(message) is dict:
        return bool(message.get("role", message.get("type")) == REMOVE_ROLE)
    return _known is not None and type(message) not in _known.complete and isinstance(message, _known.removal)


def reader_of(form: str | None) -> Callable[[Any], list[Any]]:
    """The function that reads writes, for a format and for what is loaded now."""
    if form == LANGCHAIN_OPENAI:
        return required_langchain(f"add_messages(format={form!r})").read_as_openai
    langchain = None if form == PLAIN else loaded_langchain()
    return read_plain if langchain is None else langchain.read
