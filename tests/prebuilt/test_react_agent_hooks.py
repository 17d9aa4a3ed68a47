"""Nodes that the agent runs before and after its model."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from prebuilt.calls import contents
from prebuilt.fake_model import ScriptedModel
from stepgraph.graph.message import REMOVE_ALL_MESSAGES
from stepgraph.prebuilt import create_react_agent
from stepgraph.prebuilt.chat_agent_executor import AgentState, AgentStatePydantic

pytestmark = pytest.mark.filterwarnings("ignore::stepgraph.warnings.LangGraphDeprecatedSinceV10")

HI = {"messages": [("user", "hi")]}
VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADD = ("add", {"a": 1, "b": 2})


@pytest.mark.parametrize("schema", [None, AgentState, AgentStatePydantic])
def test_a_hook_gives_messages_to_the_model_alone(schema):
    model = ScriptedModel()

    def hook(state):
        return {"llm_input_messages": [HumanMessage("only this")]}

    result = create_react_agent(model, [], pre_model_hook=hook, prompt="P", state_schema=schema).invoke(HI)
    assert model.shown == [[("system", "P"), ("human", "only this")]]
    assert contents(result) == ["hi", "P-only this"]
    assert list(result) == ["messages"]


def test_what_a_hook_gave_in_an_earlier_round_is_not_used_again():
    model = ScriptedModel(script=[[ADD]])

    def hook(state):
        return {"llm_input_messages": [HumanMessage("first")]} if len(state["messages"]) == 1 else {}

    create_react_agent(model, [add], pre_model_hook=hook).invoke(HI)
    assert model.shown[1] == [("human", "hi"), ("ai", "first"), ("tool", "3")]


def test_a_hook_replaces_the_conversation():
    def hook(state):
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("summary")]}

    agent = create_react_agent(ScriptedModel(), [], pre_model_hook=hook)
    assert contents(agent.invoke(HI)) == ["summary", "summary"]


def test_a_hook_runs_before_every_round():
    rounds = []
    model = ScriptedModel(script=[[ADD]])
    create_react_agent(
        model, [add], pre_model_hook=lambda state: rounds.append(len(state["messages"]))
    ).invoke(HI)
    assert rounds == [1, 3]


@VERSIONS
def test_a_hook_after_the_model_sees_what_it_answered(version):
    seen = []
    agent = create_react_agent(
        ScriptedModel(script=[[ADD]]),
        [add],
        post_model_hook=lambda state: seen.append(state["messages"][-1].type),
        version=version,
    )
    assert contents(agent.invoke(HI)) == ["hi", "hi", "3", "hi-hi-3"]
    assert seen == ["ai", "ai"]


@VERSIONS
def test_a_hook_after_the_model_takes_calls_away(version):
    def hook(state):
        return {"messages": [state["messages"][-1].model_copy(update={"tool_calls": []})]}

    agent = create_react_agent(ScriptedModel(script=[[ADD]]), [add], post_model_hook=hook, version=version)
    assert contents(agent.invoke(HI)) == ["hi", "hi"]


@VERSIONS
def test_calls_that_a_hook_has_answered_are_not_run(version):
    def hook(state):
        calls = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("refused", tool_call_id=calls[0]["id"])]} if calls else None

    model = ScriptedModel(script=[[ADD, ("add", {"a": 5, "b": 5})]])
    agent = create_react_agent(model, [add], post_model_hook=hook, version=version)
    assert contents(agent.invoke(HI)) == ["hi", "hi", "refused", "10", "hi-hi-refused-10"]


@VERSIONS
def test_where_a_hook_has_answered_every_call_the_model_goes_on(version):
    def hook(state):
        calls = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("refused", tool_call_id=one["id"]) for one in calls]}

    agent = create_react_agent(ScriptedModel(script=[[ADD]]), [add], post_model_hook=hook, version=version)
    assert contents(agent.invoke(HI)) == ["hi", "hi", "refused", "hi-hi-refused"]


def test_both_hooks_and_a_shaped_answer_go_together():
    class Answer(BaseModel):
        answer: str

    order = []
    agent = create_react_agent(
        ScriptedModel(script=[[ADD]]),
        [add],
        pre_model_hook=lambda state: order.append("before"),
        post_model_hook=lambda state: order.append("after"),
        response_format=Answer,
    )
    assert agent.invoke(HI)["structured_response"] == Answer(answer="42")
    assert order == ["before", "after", "before", "after"]
