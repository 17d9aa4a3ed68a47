"""The node that runs tools, on plain functions and role/content dicts; LangChain need not be there."""

from __future__ import annotations

import asyncio
from typing import Annotated

import pytest
from typing_extensions import TypedDict

from prebuilt.calls import asking, contents, plain_call
from stepgraph.graph import START, StateGraph
from stepgraph.graph.message import add_messages
from stepgraph.prebuilt import InjectedState, ToolNode, ToolRuntime, tools_condition
from stepgraph.types import Command


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def later(a: int) -> int:
    """Answer later."""
    await asyncio.sleep(0)
    return a


def fail() -> str:
    """Fail."""
    raise KeyError("lost")


def test_an_answer_names_its_call_and_its_tool():
    result = ToolNode([add]).invoke(asking(plain_call("add", {"a": 2})))
    assert result == {"messages": [{"role": "tool", "tool_call_id": "1", "name": "add", "content": "3"}]}


def test_a_call_in_the_short_form_is_understood():
    short = {"id": "1", "name": "add", "args": {"a": 2}}
    assert contents(ToolNode([add]).invoke(asking(short))) == ["3"]


def test_answers_come_in_the_order_of_calls():
    calls = [plain_call("add", {"a": number}, str(number)) for number in range(20)]
    result = ToolNode([add]).invoke(asking(*calls))
    assert [message["tool_call_id"] for message in result["messages"]] == [str(n) for n in range(20)]


def test_a_bare_list_of_messages_is_answered_by_a_list():
    result = ToolNode([add]).invoke(asking(plain_call("add", {"a": 2}))["messages"])
    assert contents(result) == ["3"]


def test_messages_may_stand_under_another_key():
    given = {"talk": asking(plain_call("add", {"a": 2}))["messages"]}
    assert list(ToolNode([add], messages_key="talk").invoke(given)) == ["talk"]


def test_a_message_without_calls_gets_no_answers():
    assert ToolNode([add]).invoke({"messages": [{"role": "assistant", "content": "Done."}]}) == {
        "messages": []
    }


def test_the_models_last_message_counts_even_if_others_follow():
    given = asking(plain_call("add", {"a": 2}))
    given["messages"].append({"role": "user", "content": "Hurry!"})
    assert contents(ToolNode([add]).invoke(given)) == ["3"]


@pytest.mark.parametrize("given", [{}, {"messages": []}, [], 5])
def test_no_messages_are_an_error(given):
    with pytest.raises(ValueError, match="No message found in input"):
        ToolNode([add]).invoke(given)


def test_messages_of_others_only_are_an_error():
    with pytest.raises(ValueError, match="No AIMessage found in input"):
        ToolNode([add]).invoke({"messages": [{"role": "user", "content": "Hi"}]})


def test_an_unknown_tool_is_told_to_the_model_with_the_known_ones():
    (message,) = ToolNode([add, fail]).invoke(asking(plain_call("ad", {})))["messages"]
    assert message["content"] == "Error: ad is not a valid tool, try one of [add, fail]."
    assert message["status"] == "error"


@pytest.mark.parametrize("arguments", ["{broken", "[1]"])
def test_arguments_that_are_no_json_object_are_told_to_the_model(arguments):
    (message,) = ToolNode([add]).invoke(asking(plain_call("add", arguments)))["messages"]
    assert "the arguments are no JSON object" in message["content"]


def test_no_arguments_at_all_are_an_empty_object():
    def ping() -> str:
        """Ping."""
        return "pong"

    assert contents(ToolNode([ping]).invoke(asking(plain_call("ping", "")))) == ["pong"]


def test_wrong_arguments_are_told_to_the_model():
    (message,) = ToolNode([add]).invoke(asking(plain_call("add", {"a": "many"})))["messages"]
    assert message["content"].startswith("Error invoking tool 'add' with kwargs {'a': 'many'} with error:\n ")
    assert " a: " in message["content"]
    assert message["status"] == "error"


def test_a_failure_of_a_tool_is_raised_by_default():
    with pytest.raises(KeyError, match="lost"):
        ToolNode([fail]).invoke(asking(plain_call("fail", {})))


def test_a_failure_of_a_tool_can_be_told_to_the_model():
    node = ToolNode([fail], handle_tool_errors=True)
    assert contents(node.invoke(asking(plain_call("fail", {})))) == [
        "Error: KeyError('lost')\n Please fix your mistakes."
    ]


def test_an_async_tool_runs_in_a_synchronous_run():
    assert contents(ToolNode([later]).invoke(asking(plain_call("later", {"a": 2})))) == ["2"]


def test_sync_and_async_tools_run_in_an_asynchronous_run():
    calls = asking(plain_call("add", {"a": 2}), plain_call("later", {"a": 2}, "2"))
    assert contents(asyncio.run(ToolNode([add, later]).ainvoke(calls))) == ["3", "2"]


def test_a_result_that_is_no_text_becomes_json():
    def look() -> dict:
        """Look."""
        return {"sky": "blü"}

    assert contents(ToolNode([look]).invoke(asking(plain_call("look", {})))) == ['{"sky": "blü"}']


def test_a_tool_is_given_state_and_runtime_and_a_model_cannot_forge_them():
    def peek(state: Annotated[dict, InjectedState], runtime: ToolRuntime) -> list:
        """Peek."""
        return [sorted(state), runtime.tool_call_id]

    given = asking(plain_call("peek", {"state": {"forged": True}, "runtime": "forged"}))
    assert contents(ToolNode([peek]).invoke(given)) == ['[["messages"], "1"]']


def test_a_tool_may_answer_by_a_command():
    def note(runtime: ToolRuntime) -> Command:
        """Note."""
        answer = {"role": "tool", "tool_call_id": runtime.tool_call_id, "content": "noted"}
        return Command(update={"messages": [answer], "notes": 1})

    (command,) = ToolNode([note]).invoke(asking(plain_call("note", {})))
    assert command.update["notes"] == 1


def test_a_command_without_the_answer_is_an_error_that_shows_how():
    def note() -> Command:
        """Note."""
        return Command(update={"notes": 1})

    with pytest.raises(ValueError, match='"role": "tool", "tool_call_id": tool_call_id'):
        ToolNode([note]).invoke(asking(plain_call("note", {})))


class State(TypedDict):
    messages: Annotated[list, add_messages(format="plain")]


def test_a_loop_of_model_and_tools_runs_on_plain_messages():
    def model(state):
        if state["messages"][-1]["role"] == "tool":
            return {
                "messages": [{"role": "assistant", "content": f"It is {state['messages'][-1]['content']}."}]
            }
        return {"messages": asking(plain_call("add", {"a": 41}))["messages"]}

    graph = StateGraph(State).add_node("model", model).add_node("tools", ToolNode([add]))
    graph.add_edge(START, "model").add_conditional_edges("model", tools_condition).add_edge("tools", "model")
    result = graph.compile().invoke({"messages": [{"role": "user", "content": "41 + 1?"}]})
    assert [message["role"] for message in result["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert result["messages"][-1]["content"] == "It is 42."
    assert len({message["id"] for message in result["messages"]}) == 4


def test_the_condition_ends_where_nothing_is_called():
    assert tools_condition([{"role": "assistant", "content": "Done."}]) == "__end__"
    assert tools_condition(asking(plain_call("add", {}))) == "tools"
    assert tools_condition({"talk": []} | {"talk": [{"tool_calls": [1]}]}, messages_key="talk") == "tools"


@pytest.mark.parametrize("state", [{"messages": []}, [], 5])
def test_the_condition_needs_a_message(state):
    with pytest.raises(ValueError, match="No messages found"):
        tools_condition(state)
