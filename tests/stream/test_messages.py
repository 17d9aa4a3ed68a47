"""The stream mode `messages` where LangChain is not loaded: dicts with a role and a content."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CODE = """
import json, operator, sys
from typing import Annotated, TypedDict
from stepgraph.graph import START, StateGraph, MessagesState
from stepgraph.graph.message import push_message
SAID = {"role": "assistant", "content": "hello", "id": "1"}
HI = {"messages": [{"role": "user", "content": "hi", "id": "0"}]}
def chain(node, state=MessagesState, name="node"):
    return StateGraph(state).add_node(name, node).add_edge(START, name).compile()
def say(state): return {"messages": [SAID]}
def shown(graph, **options): return [part for part in graph.stream(HI, stream_mode="messages", **options)]
def out(found): print(json.dumps(found))
"""


def run(code: str) -> object:
    done = subprocess.run([sys.executable, "-c", CODE + code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_message_that_a_node_returns():
    code = "(message, metadata), = shown(chain(say)); out([message, metadata['langgraph_node']])"
    assert run(code) == [{"role": "assistant", "content": "hello", "id": "1"}, "node"]


def test_messages_that_were_there_are_not_shown():
    assert run("out(shown(chain(lambda state: {'messages': state['messages']})))") == []


def test_a_pushed_message_comes_once():
    code = """
def push(state):
    push_message(SAID, state_key=None)
    return {"messages": [SAID]}
out([message["content"] for message, _ in shown(chain(push))])
"""
    assert run(code) == ["hello"]


@pytest.mark.parametrize(("subgraphs", "nodes"), [(False, ["sub"]), (True, ["node"])])
def test_a_nested_graphs_message(subgraphs, nodes):
    code = f"""
graph = chain(chain(say), name="sub")
found = shown(graph, subgraphs={subgraphs})
out([(part[1] if {subgraphs} else part)[1]["langgraph_node"] for part in found])
"""
    assert run(code) == nodes


def test_version_three_gives_them_as_they_are():
    code = "out(list(chain(say).stream_events(HI, version='v3').messages))"
    assert run(code) == [{"role": "assistant", "content": "hello", "id": "1"}]


def test_langchains_events_need_langchain():
    code = """
try:
    chain(say).astream_events(HI, version="v2")
except ImportError as error:
    out(str(error))
"""
    assert "stepgraph[langchain]" in str(run(code))
