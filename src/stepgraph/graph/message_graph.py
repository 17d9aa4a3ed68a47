"""`MessageGraph`: a graph whose whole state is a list of messages, for programs that still declare one."""

from __future__ import annotations

from typing import Annotated, Any

from typing_extensions import deprecated

from stepgraph.graph.message import add_messages
from stepgraph.graph.state import StateGraph
from stepgraph.warnings import LangGraphDeprecatedSinceV10

__all__ = ("MessageGraph",)


@deprecated(
    "MessageGraph is deprecated. Use StateGraph with MessagesState, or another state that has a field of messages.",
    category=LangGraphDeprecatedSinceV10,
)
class MessageGraph(StateGraph[Any, Any, Any, Any]):
    """A graph whose state is a list of messages: nodes are given the list, and return what `add_messages` adds.

    Example:
        >>> graph = MessageGraph().add_node("answer", lambda messages: [{"role": "assistant", "content": "hi", "id": "2"}])
        >>> graph = graph.set_entry_point("answer").compile()
        >>> [message["content"] for message in graph.invoke([{"role": "user", "content": "hello", "id": "1"}])]
        ['hello', 'hi']
    """

    def __init__(self) -> None:
        messages: Any = Annotated[list[Any], add_messages]
        super().__init__(messages)
