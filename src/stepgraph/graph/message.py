"""A list of messages as state: `add_messages`, the reducer that appends, replaces by id and removes.

Theory of operation. `add_messages.fold(base, writes, memo)` folds all writes of a superstep in one pass, and keeps in
`memo` an index from id to position of the list that it returned. As long as the next fold starts from that list (or
from the one before it, when a conditional edge looked ahead), nothing of the history is looked at again: an append costs
what is new, plus the copy of the list of references.

Rules of this file: no list is changed in place; what a message is stands in `message_forms.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typing_extensions import TypedDict, Unpack

from stepgraph.graph.message_forms import (
    FORMATS,
    LANGCHAIN_OPENAI,
    REMOVE_ALL_MESSAGES,
    id_of,
    is_removal,
    loaded_langchain,
    plain_message,
    reader_of,
)

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage  # type: ignore[import-not-found,unused-ignore]

    from stepgraph.graph.message_graph import MessageGraph
else:
    AnyMessage = Any

__all__ = ("REMOVE_ALL_MESSAGES", "MessageGraph", "MessagesState", "add_messages")

Messages: TypeAlias = Any
"""A message or a list of messages, in any form that `add_messages` reads."""


class _Index:
    """Where each message of a list stands.

    `origin` is the list that this index was brought forward from by appending and replacing only, so it fits that list
    too: there, positions at or after its end mean nothing.
    """

    __slots__ = ("items", "objects", "origin", "positions", "sizes")

    def __init__(self, items: list[Any]) -> None:
        self.items = self.origin = items
        self.sizes = (len(items), len(items))
        self.scan()

    def scan(self) -> None:
        """Look at every message."""
        self.positions = {id_of(message): position for position, message in enumerate(self.items)}
        self.objects = set(map(id, self.items))

    def fits(self, base: Any) -> bool:
        """Whether this is an index of `base`, and nobody has changed the length of that list since."""
        return (base is self.items and len(base) == self.sizes[0]) or (
            base is self.origin and len(base) == self.sizes[1]
        )

    def position(self, key: Any, message: Any) -> int | None:
        """Where the message with this id stands, None if there is none.

        Messages are objects that anybody may have changed in place. A found message must still have the id, and one
        that stands in the list already must not have got another id meanwhile; else everything is looked at again.
        """
        items = self.items
        position = self.positions.get(key)
        if position is None:
            if id(message) not in self.objects:
                return None
        elif position >= len(items):
            return None
        elif id_of(items[position]) == key:
            return position
        self.scan()
        return self.positions.get(key)

    def merge(self, batch: list[Any]) -> None:
        """Take in the messages of one write."""
        items, cleared, missing = self.items, False, None
        removed: set[Any] = set()
        for message in batch:
            key = id_of(message)
            if not is_removal(message):
                position = self.position(key, message)
                if position is None:
                    self.positions[key] = len(items)
                    self.objects.add(id(message))
                    items.append(message)
                else:
                    self.objects.discard(id(items[position]))
                    self.objects.add(id(message))
                    items[position] = message
                    removed.discard(key)
            elif key == REMOVE_ALL_MESSAGES:
                items.clear()
                self._forget_origin()
                removed.clear()
                cleared, missing = True, None
            elif self.position(key, message) is not None:
                removed.add(key)
            elif missing is None and not cleared:
                missing = (key,)
        if missing is not None:
            raise ValueError(
                f"Attempting to delete a message with an ID that doesn't exist ({missing[0]!r}). It may have been removed "
                "before; the ids that can be removed are those of the messages in the state."
            )
        if removed:
            items[:] = [message for message in items if id_of(message) not in removed]
            self._forget_origin()

    def _forget_origin(self) -> None:
        self.origin = self.items
        self.scan()


def _fold(base: Any, writes: Sequence[Any], memo: dict[str, Any], form: str | None) -> list[Any]:
    """Fold the writes of a step; taking the index out of the memo gives it to one thread only."""
    index: _Index | None = memo.pop("index", None)
    read = reader_of(form)
    if index is None or memo.get("reader") != read or not index.fits(base):
        index = _Index(read(_given(base, "left")))
    else:
        index.origin = base
        index.items = base.copy()
    for write in writes:
        index.merge(read(_given(write, "right")))
    items = index.items
    index.sizes = (len(items), len(index.origin))
    memo["reader"], memo["index"] = read, index
    return items


def _given(value: Any, side: str) -> Any:
    if value is None:
        other = "right" if side == "left" else "left"
        raise ValueError(
            f"Must specify non-null arguments for both 'left' and 'right'. Only received: '{other}'. A node that has "
            "nothing to add returns no messages key, or an empty list."
        )
    return value


class _Options(TypedDict, total=False):
    """What `add_messages` takes beside the messages."""

    format: str | None


def add_messages(
    left: Messages | None = None, right: Messages | None = None, **kwargs: Unpack[_Options]
) -> Any:
    """Merge two lists of messages: append, replace by id, remove.

    Messages are LangChain's where the program has imported `langchain_core.messages`, else plain dicts with a `role` and
    whatever the provider wants beside it. A text stands for a message of the user, a pair for `(role, content)`. Every
    message is given an id if it has none.

    - A message of `right` whose id stands in `left` takes that message's place, any other is appended.
    - `RemoveMessage(id=...)`, or `{"role": "remove", "id": ...}`, removes a message; with the id `REMOVE_ALL_MESSAGES` it
      removes all that were there before it.

    Args:
        left: The messages so far: a list, or one message.
        right: What is added: a list, or one message.
        kwargs: `format`. `"langchain-openai"`: contents are brought into the form of OpenAI's interface (needs LangChain).
            `"plain"`: dicts stay dicts even where LangChain is loaded. Without it, dicts become LangChain's messages where
            LangChain is loaded.

    Returns:
        A new list. Without `left` and `right`: the reducer with this format, for an annotation.

    Raises:
        ValueError: Only one of `left` and `right` is given, a message to remove is not there, or the format is unknown.
        TypeError: Something given is no message, or there is no such option.

    Example:
        >>> left = [{"role": "user", "content": "Hi", "id": "1"}]
        >>> right = [{"role": "assistant", "content": "Hello!", "id": "2"}, {"role": "remove", "id": "1"}]
        >>> add_messages(left, right, format="plain")
        [{'role': 'assistant', 'content': 'Hello!', 'id': '2'}]

        As a reducer:

        >>> class State(TypedDict):
        ...     messages: Annotated[list, add_messages]
        ...     log: Annotated[list, add_messages(format="plain")]
    """
    form = kwargs.pop("format", None)
    if kwargs:
        raise TypeError(f"add_messages() got an unexpected keyword argument {next(iter(kwargs))!r}")
    if left is None and right is None:
        return _reducer(form)
    if form not in FORMATS:
        raise _unknown_format(form)
    return _fold(left, (right,), {}, form)


def _add_messages_fold(
    base: Any, writes: Sequence[Any], memo: dict[str, Any], format: str | None = None
) -> list[Any]:
    """`add_messages` over all writes of a superstep at once; the engine calls this."""
    return _fold(base, writes, memo, format)


add_messages.fold = _add_messages_fold  # type: ignore[attr-defined]


@lru_cache
def _reducer(form: str | None) -> Callable[[Any, Any], Any]:
    """The reducer with a format; the same object each time, so that two schemas that name it agree."""
    if form not in FORMATS:
        raise _unknown_format(form)
    reducer: Any = partial(add_messages, format=form)
    reducer.fold = partial(_add_messages_fold, format=form)
    return reducer  # type: ignore[no-any-return]


def _unknown_format(form: Any) -> ValueError:
    return ValueError(f"Unrecognized format={form!r}. Expected one of {LANGCHAIN_OPENAI!r}, 'plain', None.")


class MessagesState(TypedDict):
    """A state with the one field `messages`; extend it with fields of your own."""

    messages: Annotated[list[AnyMessage], add_messages]


def __getattr__(name: str) -> Any:
    if name == "MessageGraph":
        from stepgraph.graph.message_graph import MessageGraph

        return MessageGraph
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def push_message(message: Messages, *, state_key: str | None = "messages") -> Any:
    """From inside a node: show a message to who streams `messages` at once, before the node ends.

    Args:
        message: A message with an id, in any form that `add_messages` reads.
        state_key: The field that the message is written to, too; None: it is only shown.

    Returns:
        The message.

    Raises:
        RuntimeError: No node is running.
        ValueError: The message has no id.
    """
    from stepgraph.pregel.results import report_unknown_keys
    from stepgraph.pregel.task import current_task

    task = current_task()
    if task is None:
        raise RuntimeError(
            "push_message was called outside of a runnable context. Call it in a node, or in what a node calls."
        )
    langchain = loaded_langchain()
    pushed = plain_message(message) if langchain is None else langchain.message(message)
    if (pushed.get("id") if isinstance(pushed, dict) else pushed.id) is None:
        raise ValueError(
            f"Message ID is required: node {task.node.name!r} pushed {pushed!r}. With an id, who streams it can tell that it "
            "is the same message that the state holds later."
        )
    machine = task.machine
    if machine.sink is not None and machine.sink.wants_messages:
        machine.sink.put((machine.namespace_parts, "messages", (pushed, task.config["metadata"])))
    if state_key:
        if state_key in machine.plan.fieldset:
            task.send([(state_key, pushed)])
        else:
            report_unknown_keys(machine.plan, task.node.name, [state_key])
    return pushed
