"""A graph whose whole state is a list of messages."""

from __future__ import annotations

from typing import Any

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import StateGraph, message
from stepgraph.graph.message_graph import MessageGraph
from stepgraph.warnings import LangGraphDeprecatedSinceV10


def said(role: str, content: str, id: str) -> dict[str, Any]:
    return {"role": role, "content": content, "id": id}


def test_nodes_are_given_the_list_and_add_to_it() -> None:
    with pytest.warns(LangGraphDeprecatedSinceV10, match="MessageGraph is deprecated"):
        builder = MessageGraph()
    builder.add_node("count", lambda messages: said("assistant", str(len(messages)), f"a{len(messages)}"))
    builder.set_entry_point("count").set_finish_point("count")
    graph = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke([said("user", "hi", "u1")], config)
    found = graph.invoke(said("user", "again", "u2"), config)
    texts = [part["content"] if isinstance(part, dict) else part.content for part in found]
    assert texts == ["hi", "1", "again", "3"]


def test_it_is_found_where_programs_import_it_from() -> None:
    from stepgraph.graph import MessageGraph as other

    assert other is message.MessageGraph is MessageGraph
    assert issubclass(MessageGraph, StateGraph)
