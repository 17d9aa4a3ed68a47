"""Declaring graphs: `StateGraph`, the names `START` and `END`, and states of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepgraph.graph.state import StateGraph
from stepgraph.values.names import END, START

if TYPE_CHECKING:
    from stepgraph.graph.message import MessagesState, add_messages
    from stepgraph.graph.message_graph import MessageGraph

__all__ = ("END", "START", "MessageGraph", "MessagesState", "StateGraph", "add_messages")


def __getattr__(name: str) -> Any:
    if name in ("MessagesState", "add_messages"):
        from stepgraph.graph import message

        return getattr(message, name)
    if name == "MessageGraph":
        from stepgraph.graph.message_graph import MessageGraph

        return MessageGraph
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
