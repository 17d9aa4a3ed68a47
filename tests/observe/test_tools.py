"""Calls of tools, agents, and LangChain's callbacks beside the spans."""

from __future__ import annotations

import pytest

pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed")

from opentelemetry import trace
from opentelemetry.trace import StatusCode
from typing_extensions import TypedDict

from pregel.both import Face, each_driver, thread
from stepgraph import START, StateGraph, interrupt
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import MessagesState
from stepgraph.observe import instrument
from stepgraph.prebuilt import ToolNode


def double(number: int) -> int:
    "Double a number."
    return 2 * number


async def triple(number: int) -> int:
    "Triple a number."
    return 3 * number


def broken(number: int) -> int:
    "Fail."
    raise ValueError("boom")


def approve(number: int) -> int:
    "Ask somebody."
    return interrupt("sure?")


def call(name, key="1"):
    return {"id": key, "type": "function", "function": {"name": name, "arguments": '{"number": 21}'}}


def asking(*calls):
    return {"messages": [{"role": "assistant", "content": None, "tool_calls": list(calls)}]}


def agent(spans, driver, *tools, saver=None, **options):
    node = ToolNode(list(tools), handle_tool_errors=True)
    graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools")
    compiled = instrument(
        graph.compile(name="helper", checkpointer=saver), tracer_provider=spans.provider, **options
    )
    return Face(compiled, driver)


@each_driver
def test_each_call_of_a_tool_is_a_span_below_its_task(spans, driver):
    tools = [double] if driver == "sync" else [double, triple]
    calls = [call(tool.__name__, str(number)) for number, tool in enumerate(tools)]
    agent(spans, driver, *tools).invoke(asking(*calls))
    names = [f"execute_tool {tool.__name__}" for tool in tools]
    assert spans.tree() == [("invoke_agent helper", ("superstep", ("task tools", *names)))]
    assert dict(spans.one("execute_tool double").attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "double",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "0",
    }
    run = spans.one("invoke_agent helper").attributes
    assert (run["gen_ai.operation.name"], run["gen_ai.agent.name"]) == ("invoke_agent", "helper")


@each_driver
def test_arguments_and_results_of_tools_are_shown_when_asked_for(spans, driver):
    agent(spans, driver, double, record_values=True).invoke(asking(call("double")))
    shown = spans.one("execute_tool double").attributes
    assert shown["gen_ai.tool.call.arguments"] == '{"number": 21}'
    assert "42" in shown["gen_ai.tool.call.result"]


@each_driver
def test_a_tools_failure_is_an_error_though_the_model_is_answered(spans, driver):
    agent(spans, driver, broken).invoke(asking(call("broken")))
    span = spans.one("execute_tool broken")
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "ValueError")
    assert spans.one("task tools").status.status_code is StatusCode.UNSET


@each_driver
def test_a_tool_that_asks_a_person_has_not_failed(spans, driver):
    answer = agent(spans, driver, approve, saver=InMemorySaver()).invoke(asking(call("approve")), thread())
    assert [asked.value for asked in answer["__interrupt__"]] == ["sure?"]
    assert {span.status.status_code for span in spans.all()} == {StatusCode.UNSET}
    assert spans.one("execute_tool approve")


@each_driver
def test_a_tools_own_spans_are_its_children(spans, driver):
    seen = []

    def look(number: int) -> int:
        "Look at the current span."
        seen.append(trace.get_current_span().get_span_context().span_id)
        return number

    agent(spans, driver, look).invoke(asking(call("look")))
    assert seen == [spans.one("execute_tool look").context.span_id]


class State(TypedDict, total=False):
    text: str


@each_driver
def test_callbacks_hear_the_same_beside_spans(spans, driver):
    pytest.importorskip("langchain_core", reason="LangChain is not installed")
    from langchain_core.callbacks import BaseCallbackHandler

    class Names(BaseCallbackHandler):
        def __init__(self):
            self.heard = []

        def on_chain_start(self, serialized, inputs, *, name=None, **rest):
            self.heard.append(("start", name, bool(trace.get_current_span().get_span_context().is_valid)))

        def on_chain_end(self, outputs, **rest):
            self.heard.append(("end",))

    inner = (
        StateGraph(State)
        .add_node("one", lambda state: {"text": "x"})
        .add_edge(START, "one")
        .compile(name="inner")
    )
    outer = StateGraph(State).add_node("sub", inner).add_edge(START, "sub").compile(name="outer")
    names = Names()
    Face(instrument(outer, tracer_provider=spans.provider), driver).invoke({}, {"callbacks": [names]})
    assert [event[1] for event in names.heard if event[0] == "start"] == ["outer", "sub", "inner", "one"]
    assert names.heard.count(("end",)) == 4
    below = ("invoke_workflow inner", ("superstep", "task one"))
    assert spans.tree() == [("invoke_workflow outer", ("superstep", ("task sub", below)))]


@each_driver
def test_models_are_spans_when_asked_for(spans, driver):
    pytest.importorskip("langchain_core", reason="LangChain is not installed")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    about = {"finish_reason": "stop", "model_name": "fake-1"}
    answer = AIMessage("hello there", id="a1", usage_metadata=usage, response_metadata=about)
    model = GenericFakeChatModel(messages=iter([answer] * 4))

    def say(state):
        return {"text": model.invoke("hi").content}

    async def asay(state):
        return {"text": (await model.ainvoke("hi")).content}

    graph = StateGraph(State).add_node("say", say if driver == "sync" else asay).add_edge(START, "say")
    compiled = graph.compile(name="talk")
    for models in (False, True):
        spans.clear()
        instrument(compiled, tracer_provider=spans.provider, models=models, record_values=models)
        Face(compiled, driver).invoke({})
        assert len(spans.all()) == (4 if models else 3)
    assert spans.tree() == [("invoke_workflow talk", ("superstep", ("task say", "chat")))]
    said = spans.one("chat").attributes
    assert said["gen_ai.operation.name"] == "chat"
    assert said["gen_ai.response.finish_reasons"] == ("stop",)
    assert (said["gen_ai.usage.input_tokens"], said["gen_ai.usage.output_tokens"]) == (3, 2)
    assert "hi" in said["gen_ai.input.messages"]
    assert "hello there" in said["gen_ai.output.messages"]


@each_driver
def test_a_model_that_fails_is_marked(spans, driver):
    pytest.importorskip("langchain_core", reason="LangChain is not installed")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel

    model = GenericFakeChatModel(messages=iter(()))

    def say(state):
        return {"text": model.invoke("hi").content}

    graph = StateGraph(State).add_node("say", say).add_edge(START, "say").compile(name="talk")
    instrument(graph, tracer_provider=spans.provider, models=True)
    with pytest.raises(Exception):  # noqa: B017 - which one is the fake model's business
        Face(graph, driver).invoke({})
    assert spans.one("chat").status.status_code is StatusCode.ERROR
