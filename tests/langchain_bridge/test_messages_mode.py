"""The stream mode `messages` with LangChain: tokens of models, wherever they are called, and each message once."""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from typing_extensions import TypedDict

from langchain_bridge.recording import chain, model
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.func import entrypoint, task
from stepgraph.graph import START, MessagesState, StateGraph
from stepgraph.graph.message import push_message
from stepgraph.types import Command, Send, interrupt

HI = {"messages": [HumanMessage("hi", id="hi")]}
TOKENS = ["a", " ", "b"]


def messages(*nodes, **options):
    return chain(*nodes, state=MessagesState, **options)


def parts(graph, given=None, driver="sync", **options):
    given = HI if given is None else given
    options = {"stream_mode": "messages", **options}
    if driver == "sync":
        return list(graph.stream(given, **options))

    async def run():
        return [part async for part in graph.astream(given, **options)]

    return asyncio.run(run())


def texts(found):
    """Content and node of each part."""
    return [(message.content, metadata["langgraph_node"]) for message, metadata in found]


def whole(text="whole", id="w"):
    """A chat model that does not stream."""
    return FakeMessagesListChatModel(responses=[AIMessage(text, id=id)])


def generate(state):
    return {"messages": [model().invoke(state["messages"])]}


async def agenerate(state):
    return {"messages": [await model().ainvoke(state["messages"])]}


each_driver = pytest.mark.parametrize("driver", ["sync", "async"])


@each_driver
def test_tokens_come_and_the_returned_message_does_not_come_again(driver):
    found = parts(messages(generate), driver=driver)
    assert texts(found) == [(token, "generate") for token in TOKENS]
    assert {type(message) for message, _ in found} == {AIMessageChunk}
    assert len({message.id for message, _ in found}) == 1


def test_an_async_model():
    assert texts(parts(messages(agenerate), driver="async")) == [(token, "agenerate") for token in TOKENS]


def test_metadata_says_where_the_model_was_called():
    _, metadata = parts(
        messages(generate), config={"tags": ["t"], "metadata": {"m": 1}, "configurable": {"thread_id": "1"}}
    )[0]
    namespace = metadata.pop("langgraph_checkpoint_ns")
    assert namespace.startswith("generate:")
    assert metadata.pop("checkpoint_ns") == namespace
    metadata.pop("lc_versions", None)
    assert metadata.pop("ls_integration") in ("langchain_chat_model", "langgraph")  # by LangChain's version
    assert metadata == {
        "m": 1,
        "thread_id": "1",
        "tags": ["t"],
        "langgraph_step": 1,
        "langgraph_node": "generate",
        "langgraph_triggers": ("branch:to:generate",),
        "langgraph_path": ("__pregel_pull", "generate"),
        "ls_provider": "genericfakechatmodel",
        "ls_model_type": "chat",
    }


def test_a_model_that_does_not_stream_comes_whole_once():
    found = parts(messages(("node", lambda state: {"messages": [whole().invoke("x")]})))
    assert texts(found) == [("whole", "node")]


def test_a_model_whose_answer_is_not_returned():
    def ask(state):
        model().invoke("x")
        return {}

    assert texts(parts(messages(ask))) == [(token, "ask") for token in TOKENS]


def test_messages_that_a_node_makes_come_whole():
    def make(state):
        return {"messages": [HumanMessage("h"), ToolMessage("t", tool_call_id="1"), AIMessage("a", id="a")]}

    found = parts(messages(make))
    assert texts(found) == [("h", "make"), ("t", "make"), ("a", "make")]
    assert all(message.id for message, _ in found)
    assert found[2][1]["ls_integration"] == "langgraph"
    assert "checkpoint_ns" not in found[2][1]


def test_ids_that_are_shown_are_those_of_the_state():
    graph = messages(("make", lambda state: {"messages": AIMessage("a")}), checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    ((message, _),) = parts(graph, config=thread)
    assert graph.get_state(thread).values["messages"][-1].id == message.id


def test_messages_that_were_there_are_not_shown():
    again = ("again", lambda state: {"messages": state["messages"]})
    made = ("made", lambda state: {"messages": [AIMessage("a", id="a")]})
    assert texts(parts(messages(again))) == []
    assert texts(parts(messages(made, again))) == [("a", "made")]


def test_messages_of_any_field():
    class State(TypedDict):
        text: str
        one: Any
        several: list

    def make(state):
        return {"one": AIMessage("1"), "several": [AIMessage("2"), {"deep": AIMessage("3")}]}

    assert texts(parts(chain(make, state=State), {"text": "x"})) == [("1", "make"), ("2", "make")]


def test_messages_of_commands():
    def make(state):
        return [
            Command(update={"messages": [AIMessage("1", id="1")]}),
            {"messages": [AIMessage("2", id="2")]},
        ]

    assert texts(parts(messages(make))) == [("1", "make"), ("2", "make")]


def test_what_a_removal_removes_is_not_shown():
    assert parts(messages(("drop", lambda state: {"messages": [RemoveMessage(id="hi")]}))) == []


def test_a_model_with_the_tag_nostream_shows_its_message_but_no_tokens():
    def quiet(state):
        return {"messages": [model().with_config(tags=["nostream"]).invoke("x")]}

    assert texts(parts(messages(quiet))) == [("a b", "quiet")]


def test_a_pushed_message_comes_once():
    def push(state):
        push_message(AIMessage("pushed", id="p"), state_key=None)
        return {"messages": [AIMessage("pushed", id="p")]}

    assert texts(parts(messages(push))) == [("pushed", "push")]


def test_a_model_in_a_thread_a_tool_and_a_sequence():
    @tool
    def ask(text: str) -> str:
        """Ask."""
        return model().invoke(text).content

    def in_thread(state):
        worker = threading.Thread(target=copy_context().run, args=(model().invoke, "x"))
        worker.start()
        worker.join()
        return {}

    def in_tool(state):
        ask.invoke({"text": "x"})
        return {}

    steps = (
        RunnableLambda(lambda state: state["messages"]) | model() | (lambda message: {"messages": [message]})
    )
    for name, node in (("thread", in_thread), ("tool", in_tool), ("steps", steps)):
        assert texts(parts(messages((name, node)))) == [(token, name) for token in TOKENS]


def test_models_side_by_side_in_asyncio_tasks():
    async def both(state):
        answers = await asyncio.gather(model().ainvoke("x"), asyncio.create_task(model().ainvoke("y")))
        return {"messages": answers}

    found = parts(messages(both), driver="async")
    assert sorted(message.content for message, _ in found) == sorted(TOKENS * 2)
    assert len({message.id for message, _ in found}) == 2


@each_driver
def test_parallel_branches(driver):
    graph = StateGraph(MessagesState)
    for name in ("left", "right"):
        graph.add_node(name, generate).add_edge(START, name)
    found = parts(graph.compile(), driver=driver)
    assert sorted(texts(found)) == sorted((token, name) for token in TOKENS for name in ("left", "right"))


def test_tasks_of_sends_are_told_apart_by_namespace():
    graph = StateGraph(MessagesState).add_node("generate", generate)
    graph.add_conditional_edges(
        START, lambda state: [Send("generate", HI), Send("generate", HI)], ["generate"]
    )
    found = parts(graph.compile())
    assert len({metadata["langgraph_checkpoint_ns"] for _, metadata in found}) == 2
    assert len(found) == 6


def test_a_model_that_a_path_function_calls():
    graph = StateGraph(MessagesState).add_node("node", lambda state: {}).add_edge(START, "node")
    graph.add_conditional_edges("node", lambda state: "__end__" if model().invoke("x") else "node")
    assert texts(parts(graph.compile())) == [(token, "node") for token in TOKENS]


# ---- nested graphs


@pytest.mark.parametrize("depth", [1, 2])
@each_driver
def test_without_subgraphs_a_nested_message_comes_once_under_the_parents_node(driver, depth):
    graph = messages(generate)
    for _ in range(depth):
        graph = messages(("sub", graph))
    found = parts(graph, driver=driver)
    assert texts(found) == [("a b", "sub")]
    assert found[0][1]["langgraph_checkpoint_ns"].count("|") == 0


@each_driver
def test_with_subgraphs_a_nested_message_comes_in_parts_and_not_again(driver):
    found = parts(messages(("sub", messages(generate))), driver=driver, subgraphs=True)
    assert [(len(namespace), message.content) for namespace, (message, _) in found] == [
        (1, token) for token in TOKENS
    ]
    assert {namespace[0].partition(":")[0] for namespace, _ in found} == {"sub"}


def test_a_graph_that_a_function_calls():
    child = messages(generate)

    def call(state):
        return {"messages": child.invoke(state)["messages"][-1]}

    assert texts(parts(messages(call))) == [("a b", "call")]
    assert len(parts(messages(call), subgraphs=True)) == 3


def test_what_a_nested_graph_said_and_nobody_returned():
    child = messages(generate)

    def call(state):
        child.invoke(state)
        return {}

    assert parts(messages(call)) == []


def test_a_nested_stream_of_its_own():
    child = messages(generate)
    inner = []

    def call(state):
        inner.extend(child.stream(state, stream_mode="messages"))
        return {}

    assert parts(messages(call)) == []
    assert texts(inner) == [(token, "generate") for token in TOKENS]
    inner.clear()
    assert len(parts(messages(call), subgraphs=True)) == 3
    assert len(inner) == 3


def test_a_root_run_that_a_node_starts_streams_to_itself_only():
    other = messages(generate)

    def call(state):
        return {"messages": other.invoke(state, {"configurable": {"thread_id": "other"}})["messages"]}

    assert texts(parts(messages(call))) == [("a b", "call")]
    assert texts([part for _, part in parts(messages(call), subgraphs=True)]) == [("a b", "call")]


def test_a_message_that_a_child_hands_up():
    def up(state):
        return Command(graph=Command.PARENT, update={"messages": [AIMessage("up", id="up")]})

    assert texts(parts(messages(("sub", messages(up))))) == [("up", "sub")]


# ---- beside other things


def test_other_modes_beside_it():
    found = parts(messages(generate), stream_mode=["messages", "updates"])
    assert [mode for mode, _ in found] == ["messages"] * 3 + ["updates"]


def test_version_two():
    (part,) = parts(messages(("make", lambda state: {"messages": [AIMessage("a", id="a")]})), version="v2")
    assert (part["type"], part["ns"]) == ("messages", ())
    assert type(part["data"]) is tuple


def test_a_resumed_run():
    def ask(state):
        return {"messages": [AIMessage(interrupt("q"), id="answer")]}

    made = ("made", lambda state: {"messages": [AIMessage("a", id="a")]})
    graph = messages(made, ask, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    assert texts(parts(graph, config=thread)) == [("a", "made")]
    assert texts(parts(graph, Command(resume="yes"), config=thread)) == [("yes", "ask")]


def test_models_called_by_tasks_of_a_workflow_stream_tokens():
    @task
    def ask(text):
        return model().invoke(text)

    @task
    def make(text):
        return AIMessage(text, id="made")

    @entrypoint()
    def workflow(text):
        make(text).result()
        return ask(text).result()

    found = parts(workflow, "x")
    assert texts(found) == [("x", "make")] + [(token, "ask") for token in TOKENS]


def test_a_failing_run_shows_what_came_before():
    def bad(state):
        model().invoke("x")
        raise ValueError("boom")

    found = []
    with pytest.raises(ValueError, match="boom"):
        for part in messages(bad).stream(HI, stream_mode="messages"):
            found.append(part)
    assert len(found) == 3


def test_nobody_asked_for_messages():
    graph = messages(generate)
    assert graph.invoke(HI)["messages"][-1].content == "a b"
    assert [list(part) for part in graph.stream(HI, stream_mode="updates")] == [["generate"]]


def test_tokens_of_an_attempt_that_was_given_up_are_not_shown():
    release = threading.Event()

    def slow(state):
        parts = model().stream("x")
        next(parts)
        release.wait(30)
        return {"messages": list(parts)[-1:]}

    from stepgraph.errors import NodeTimeoutError

    graph = StateGraph(MessagesState).add_node("slow", slow, timeout=1).add_edge(START, "slow").compile()
    found = []
    with pytest.raises(NodeTimeoutError):
        for part in graph.stream(HI, stream_mode="messages"):
            found.append(part)
    release.set()
    assert [message.content for message, _ in found] == ["a"]
