"""Showing a message before its node ends."""

from __future__ import annotations

import pytest

from stepgraph.graph import START, MessagesState, StateGraph
from stepgraph.graph.message import push_message
from stepgraph.warnings import UnknownStateKeyWarning

pytestmark = pytest.mark.usefixtures("without_langchain")

PUSHED = {"role": "assistant", "content": "at work", "id": "p"}
RETURNED = {"role": "assistant", "content": "done", "id": "r"}


def compiled(node):
    return StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()


def test_a_pushed_message_is_kept_before_what_the_node_returns():
    def node(state):
        push_message(PUSHED)
        return {"messages": [RETURNED]}

    assert compiled(node).invoke({"messages": []})["messages"] == [PUSHED, RETURNED]


def test_a_pushed_message_is_streamed_with_where_it_comes_from():
    def node(state):
        push_message(PUSHED)

    ((message, metadata),) = compiled(node).stream({"messages": []}, stream_mode="messages")
    assert message == PUSHED
    assert metadata["langgraph_node"] == "node"


def test_a_pushed_message_can_be_for_the_stream_only():
    def node(state):
        push_message(PUSHED, state_key=None)

    assert compiled(node).invoke({"messages": []})["messages"] == []


def test_push_message_returns_the_message():
    returned = []
    compiled(lambda state: returned.append(push_message(PUSHED)) or {}).invoke({"messages": []})
    assert returned == [PUSHED]


def test_a_message_without_an_id_cannot_be_pushed():
    def node(state):
        push_message(("assistant", "who am I?"))

    with pytest.raises(ValueError, match="Message ID is required"):
        compiled(node).invoke({"messages": []})


def test_pushing_to_a_field_that_no_schema_knows_is_reported():
    def node(state):
        push_message(PUSHED, state_key="message")

    with pytest.warns(UnknownStateKeyWarning, match="'message'.*Did you mean 'messages'"):
        compiled(node).invoke({"messages": []})


def test_pushing_outside_of_a_node_is_an_error():
    with pytest.raises(RuntimeError, match="outside of a runnable context"):
        push_message(PUSHED)
