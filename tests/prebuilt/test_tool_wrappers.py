"""Functions around each call of a tool."""

from __future__ import annotations

import asyncio
from typing import Annotated

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from prebuilt.calls import ask, call, contents
from stepgraph.prebuilt import InjectedState, ToolNode, ToolRuntime
from stepgraph.prebuilt.tool_node import ToolCallRequest
from stepgraph.types import Command


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def topic(topic: Annotated[str, InjectedState("topic")], runtime: ToolRuntime) -> str:
    """Tell the topic."""
    return f"{topic} {runtime.state['topic']}"


ADD = call("add", {"a": 1, "b": 2})


def run(wrap, *calls, tools=(add,), **options):
    return contents(
        ToolNode(list(tools), wrap_tool_call=wrap, **options).invoke({**ask(*calls), "topic": "cats"})
    )


def test_a_wrapper_sees_the_call_its_tool_and_the_state():
    seen = []

    def wrap(request, execute):
        seen.append(
            (request.tool_call, request.tool.name, request.state["topic"], request.runtime.tool_call_id)
        )
        return execute(request)

    assert run(wrap, ADD) == ["3"]
    assert seen == [(ADD, "add", "cats", "1")]


def test_a_wrapper_may_answer_itself():
    assert run(lambda request, execute: ToolMessage("no", tool_call_id="1"), ADD) == ["no"]


def test_a_wrapper_may_change_the_arguments():
    def wrap(request, execute):
        return execute(request.override(tool_call={**request.tool_call, "args": {"a": 5, "b": 5}}))

    assert run(wrap, ADD) == ["10"]


def test_a_wrapper_may_change_the_state():
    def wrap(request, execute):
        changed = request.override(state={"topic": "dogs"})
        assert request.state["topic"] == "cats"
        return execute(changed)

    assert run(wrap, call("topic", {}), tools=[topic]) == ["dogs dogs"]


def test_a_wrapper_may_try_again():
    tries = []

    @tool
    def shaky() -> str:
        """Work in the end."""
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("lost")
        return "there"

    def wrap(request, execute):
        while True:
            try:
                return execute(request)
            except ConnectionError:
                continue

    assert run(wrap, call("shaky", {}), tools=[shaky]) == ["there"]


def test_a_wrapper_may_supply_a_tool_that_the_node_does_not_know():
    def wrap(request, execute):
        assert request.tool is None
        return execute(request.override(tool=add))

    assert run(wrap, call("plus", {"a": 1, "b": 2}), tools=[topic]) == ["3"]


def test_an_unknown_tool_is_answered_when_the_wrapper_goes_on():
    assert run(lambda request, execute: execute(request), call("plus", {}))[0].startswith(
        "Error: plus is not"
    )


def test_a_wrapper_may_return_a_command():
    answer = Command(update={"messages": [ToolMessage("no", tool_call_id="1")]})
    node = ToolNode([add], wrap_tool_call=lambda request, execute: answer)
    assert node.invoke(ask(ADD)) == [answer]


def broken(request, execute):
    raise KeyError("broken")


def test_a_failure_of_a_wrapper_is_handled_like_one_of_a_tool():
    assert run(broken, ADD, handle_tool_errors=True) == [
        "Error: KeyError('broken')\n Please fix your mistakes."
    ]
    with pytest.raises(KeyError, match="broken"):
        run(broken, ADD)


async def awrap(request, execute):
    message = await execute(request)
    return message.model_copy(update={"content": f"async {message.content}"})


def test_an_asynchronous_run_uses_the_asynchronous_wrapper():
    node = ToolNode([add], wrap_tool_call=broken, awrap_tool_call=awrap)
    assert contents(asyncio.run(node.ainvoke(ask(ADD)))) == ["async 3"]


def test_an_asynchronous_run_can_do_with_the_synchronous_wrapper():
    node = ToolNode([add], wrap_tool_call=lambda request, execute: execute(request))
    assert contents(asyncio.run(node.ainvoke(ask(ADD)))) == ["3"]


def test_a_synchronous_run_leaves_the_asynchronous_wrapper_out():
    assert contents(ToolNode([add], awrap_tool_call=awrap).invoke(ask(ADD))) == ["3"]


def test_an_override_of_what_is_not_there_is_an_error():
    with pytest.raises(TypeError, match="colour"):
        ToolCallRequest(ADD, add, {}, None).override(colour="red")
