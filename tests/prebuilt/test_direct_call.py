"""Tools that are called directly, where nobody watches, give what LangChain's own way gives."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from contextvars import ContextVar
from typing import Annotated, Optional

from langchain_core.callbacks import BaseCallbackHandler, get_usage_metadata_callback
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException
from pydantic import BaseModel, Field, field_validator

from prebuilt.calls import ask, call
from stepgraph.config import get_config
from stepgraph.graph import START, MessagesState, StateGraph
from stepgraph.prebuilt import InjectedState, ToolNode, ToolRuntime
from stepgraph.prebuilt.direct_call import direct_calls, nobody_watches
from stepgraph.pregel.task import current_task
from stepgraph.types import Command


class Point(BaseModel):
    x: int
    y: int = 0


class Watcher(BaseCallbackHandler):
    """Counts the tools that it is told of."""

    def __init__(self):
        self.started = 0

    def on_tool_start(self, *args, **kwargs):
        self.started += 1


def made(function, coroutine=None, **options):
    return StructuredTool.from_function(
        function, coroutine, name="made", description="made for a test", **options
    )


def graph_of(tool):
    node = ToolNode([tool], handle_tool_errors=lambda error: f"{type(error).__name__}: {error}")
    return StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()


def outcome(run):
    try:
        message = run()["messages"][-1]
    except Exception as error:
        return repr(error)
    return (message.content, message.name, message.status, message.tool_call_id, message.artifact)


def both(tool, arguments, asynchronous=False):
    """What a call gives unwatched and watched; that the watcher was told only of the second."""
    graph, watcher = graph_of(tool), Watcher()
    given = ask(call("made", arguments))
    if asynchronous:
        runs = [
            lambda config=config: asyncio.run(graph.ainvoke(given, config))
            for config in ({}, {"callbacks": [watcher]})
        ]
    else:
        runs = [
            lambda config=config: graph.invoke(given, config) for config in ({}, {"callbacks": [watcher]})
        ]
    direct = outcome(runs[0])
    assert watcher.started == 0
    watched = outcome(runs[1])
    assert watcher.started == 1
    return direct, watched


def raises(error):
    raise error


OUTPUTS = [
    "text", "", 5, 5.5, True, None, b"bytes", {"ü": 1}, {"role": "tool", "tool_call_id": "1"}, [], ["a"], [1], [[1]],
    [{"type": "text", "text": "a"}], ["a", {"type": "text", "text": "b"}], [{"type": "other"}], (1, 2), {1}, Point(x=1),
    [Point(x=1)], object, ToolMessage("own", tool_call_id="1", artifact=[1]), [ToolMessage("own", tool_call_id="1")],
    [ToolMessage("own", tool_call_id="other")], [ToolMessage("own", tool_call_id="1"), "text"],
    Command(update={"messages": [ToolMessage("commanded", tool_call_id="1")]}), Command(update={"messages": []}),
    [Command(update={}), ToolMessage("own", tool_call_id="1")],
]  # fmt: skip


@pytest.mark.parametrize("output", OUTPUTS, ids=repr)
def test_every_output_gives_the_same_message(output):
    direct, watched = both(made(lambda: output), {})
    assert direct == watched


@pytest.mark.parametrize("output", OUTPUTS[:8], ids=repr)
def test_every_output_gives_the_same_message_asynchronously(output):
    async def answer():
        return output

    direct, watched = both(made(None, answer), {}, asynchronous=True)
    assert direct == watched
    direct, watched = both(made(lambda: output), {}, asynchronous=True)
    assert direct == watched


@pytest.mark.parametrize("error", [ValueError("bad"), ToolException("bad"), KeyError("bad")], ids=repr)
def test_every_failure_gives_the_same_message(error):
    direct, watched = both(made(lambda: raises(error)), {})
    assert direct == watched


def typed(number: int, point: Point, words: Optional[list[str]] = None, *, flag: bool = False) -> str:
    return repr((number, point, words, flag))


@pytest.mark.parametrize(
    "arguments",
    [
        {"number": 1, "point": {"x": 1}},
        {"number": "1", "point": {"x": "2", "y": 3}, "words": ["a"], "flag": "yes"},
        {"number": 1, "point": {"x": 1}, "more": 1},
        {"number": "one", "point": {}},
        {"point": {"x": 1}},
        {},
    ],
    ids=repr,
)
def test_every_kind_of_arguments_is_read_the_same(arguments):
    direct, watched = both(made(typed), arguments)
    assert direct == watched


def greedy(a: int, **more: int) -> str:
    return repr((a, more))


def configured(a: int, config: RunnableConfig) -> str:
    return f"{a} {config['metadata']['langgraph_node']} {sorted(config)}"


def maybe_configured(a: int, settings: Optional[RunnableConfig] = None) -> str:
    return f"{a} {settings['metadata']['langgraph_node']}"


def identified(a: int, key: Annotated[str, InjectedToolCallId]) -> str:
    return f"{a} {key}"


def informed(a: int, state: Annotated[dict, InjectedState], runtime: ToolRuntime) -> str:
    return f"{a} {len(state['messages'])} {runtime.tool_call_id}"


@pytest.mark.parametrize("function", [greedy, configured, maybe_configured, identified, informed])
@pytest.mark.parametrize(
    "arguments", [{"a": 1}, {"a": 1, "key": "forged", "config": {}, "runtime": 2}], ids=repr
)
def test_what_a_function_is_given_is_the_same(function, arguments):
    direct, watched = both(made(function), arguments)
    assert direct == watched


def test_runnables_inside_a_tool_find_the_runs_config():
    inner = RunnableLambda(lambda _, config: config["configurable"]["user"])

    def run() -> str:
        return inner.invoke(None) + get_config()["configurable"]["user"]

    config = {"configurable": {"user": "Ada"}}
    assert graph_of(made(run)).invoke(ask(call("made", {})), config)["messages"][-1].content == "AdaAda"


def test_tools_that_run_at_once_have_contexts_of_their_own():
    mine: ContextVar[str] = ContextVar("mine", default="nobody")

    def run(name: str) -> str:
        found = mine.get()
        mine.set(name)
        return found

    calls = [call("made", {"name": str(number)}, str(number)) for number in range(8)]
    messages = graph_of(made(run)).invoke(ask(*calls))["messages"][1:]
    assert {message.content for message in messages} == {"nobody"}


@pytest.mark.parametrize(
    "options",
    [
        {"response_format": "content_and_artifact"},
        {"handle_tool_error": True},
        {"handle_validation_error": True},
        {"callbacks": [Watcher()]},
        {"verbose": True},
        {"args_schema": {"type": "object", "properties": {}}},
    ],
    ids=lambda options: next(iter(options)),
)
def test_tools_with_ways_of_their_own_go_langchains_way(options):
    assert direct_calls(made(lambda: "text", **options)) == (None, None)


def test_a_subclass_goes_langchains_way():
    class Own(StructuredTool):
        pass

    assert direct_calls(Own.from_function(lambda: "text", name="own", description="own")) == (None, None)


def test_outside_of_a_graph_a_tool_goes_langchains_way():
    assert not nobody_watches({})


def test_a_collector_around_the_run_counts_as_watching():
    seen = []

    def node(state, config):
        seen.append(nobody_watches(config))

    watching = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
    watching.invoke({"messages": []})
    with get_usage_metadata_callback():
        watching.invoke({"messages": []})
    assert seen == [True, False]


def test_no_config_is_made_for_a_tool_that_asks_for_none():
    seen = []

    def look() -> str:
        seen.append(current_task()._config)
        return "looked"

    graph_of(made(look)).invoke(ask(call("made", {})))
    assert seen == [None]


class Renamed(BaseModel):
    number: int = Field(alias="n")


class Doubled(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def double(cls, number: int) -> int:
        return 2 * number


@pytest.mark.parametrize("schema", [Renamed, Doubled])
@pytest.mark.parametrize("arguments", [{"n": 1}, {"number": "1"}, {"number": 1, "n": 2}], ids=repr)
def test_schemas_with_names_and_checks_of_their_own_are_read_the_same(schema, arguments):
    direct, watched = both(made(lambda number: repr(number), args_schema=schema), arguments)
    assert direct == watched
