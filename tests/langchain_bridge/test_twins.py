"""Traces, messages and events beside those of langgraph: the same program, the same things seen."""

from __future__ import annotations

import asyncio
import operator
import re
import warnings
from importlib import import_module
from types import SimpleNamespace
from typing import Annotated, Any

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")
pytest.importorskip("langgraph.graph", reason="langgraph is not installed: nothing to compare with")

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda, RunnableParallel
from typing_extensions import TypedDict

from langchain_bridge.recording import Recorder, model, without_ids

pytestmark = pytest.mark.filterwarnings("ignore")


def engine(package):
    """The names that programs use, from one of the two packages."""
    names = SimpleNamespace(package=package)
    for module, wanted in {
        "graph": ("StateGraph", "MessagesState", "START", "END", "add_messages"),
        "types": ("Command", "Send", "RetryPolicy", "interrupt"),
        "func": ("entrypoint", "task"),
        "checkpoint.memory": ("InMemorySaver",),
    }.items():
        for name in wanted:
            setattr(names, name, getattr(import_module(f"{package}.{module}"), name))
    return names


BOTH = (engine("langgraph"), engine("stepgraph"))


class State(TypedDict):
    log: Annotated[list, operator.add]
    text: str


def chain(of, *nodes, state=State, **options):
    graph = of.StateGraph(state)
    before = of.START
    for name, action in nodes:
        graph.add_node(name, action)
        graph.add_edge(before, name)
        before = name
    return graph.compile(**options)


def one(state):
    return {"log": ["one"]}


def bad(state):
    raise ValueError("boom")


def ask_model(state):
    return {"log": [model().invoke("x").content]}


def say(state):
    return {"messages": [model().invoke(state["messages"])]}


def make(state):
    return {
        "messages": [
            AIMessage("a", id="a"),
            HumanMessage("h", id="h"),
            ToolMessage("t", tool_call_id="1", id="t"),
        ]
    }


# ---- programs: an engine to a graph


def branching(of):
    graph = of.StateGraph(State).add_node("a", one).add_node("b", one).add_node("c", one)
    graph.add_edge(of.START, "a").add_edge("a", "b")
    graph.add_conditional_edges("a", RunnableLambda(lambda state: of.END, name="end"))
    graph.add_conditional_edges("a", pick, ["c", of.END])
    return graph.compile()


def pick(state):
    return "c"


def nested(of):
    return chain(
        of, ("sub", chain(of, ("low", chain(of, ("one", one), name="Low")), name="Mid")), ("one", one)
    )


def called(of):
    child = chain(of, ("one", one), name="Child")

    def call(state):
        child.invoke(state)
        return child.invoke(state, {"tags": ["t"], "metadata": {"m": 1}, "run_name": "again"})

    return chain(of, ("call", call))


def between(of):
    child = chain(of, ("one", one), name="Child")
    return chain(of, ("call", lambda state: RunnableLambda(child.invoke).invoke(state)))


def retried(of):
    tries = []

    def flaky(state):
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("not yet")
        return {"log": ["ok"]}

    policy = of.RetryPolicy(initial_interval=0, jitter=False, retry_on=ValueError)
    graph = of.StateGraph(State).add_node("flaky", flaky, retry_policy=policy)
    return graph.add_edge(of.START, "flaky").compile()


def paused(of):
    return chain(of, ("sub", chain(of, ("ask", lambda state: {"log": [of.interrupt("q")]}))))


def workflow(of):
    @of.task
    def add(n, by=1):
        return n + by

    @of.entrypoint()
    def flow(state):
        return add(1).result() + add(2, by=3).result()

    return flow


SEQUENCE = RunnableLambda(lambda state: state) | RunnableLambda(lambda state: {"log": ["x"]}, name="last")
PROGRAMS = {
    "chain": lambda of: chain(of, ("a", one), ("b", one), name="Mine"),
    "branching": branching,
    "nested": nested,
    "called": called,
    "between": between,
    "model": lambda of: chain(of, ("ask", ask_model)),
    "failing": lambda of: chain(of, ("sub", chain(of, ("bad", bad)))),
    "retried": retried,
    "paused": paused,
    "workflow": workflow,
    "lambda": lambda of: chain(of, ("l", RunnableLambda(one).with_config(tags=["lt"], run_name="named"))),
    "sequence": lambda of: chain(of, ("s", SEQUENCE), ("one", one)),
    "parallel": lambda of: chain(of, ("p", RunnableParallel(log=RunnableLambda(lambda state: ["p"])))),
    "piped": lambda of: RunnableLambda(lambda state: state) | chain(of, ("one", one), name="Piped"),
}
HEX = re.compile(r"[0-9a-f]{32}")
GIVEN = {"log": ["in"]}
CONFIG = {"tags": ["mine"], "metadata": {"m": 0}, "configurable": {"thread_id": "1", "other": "x"}}


def normal(value: Any) -> str:
    return HEX.sub("HEX", without_ids(value))


def any_order(events: Any) -> list[str]:
    """Events of which those of parallel tasks may stand in any order."""
    return sorted(normal(events).split("), ("))


def traced(graph, driver, config):
    recorder = Recorder()
    try:
        if driver == "sync":
            graph.invoke(GIVEN, {**config, "callbacks": [recorder]})
        else:
            asyncio.run(graph.ainvoke(GIVEN, {**config, "callbacks": [recorder]}))
    except ValueError:
        pass
    return any_order(recorder.events), normal(
        {k: sorted((v or {}).items()) for k, v in recorder.metadata.items()}
    )


@pytest.mark.parametrize("config", [{}, CONFIG], ids=["bare", "config"])
@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_traces_are_those_of_the_twin(program, driver, config):
    theirs, ours = [traced(PROGRAMS[program](of), driver, config) for of in BOTH]
    assert ours == theirs


# ---- messages


def parallel(of):
    graph = of.StateGraph(of.MessagesState)
    for name in "ab":
        graph.add_node(name, say).add_edge(of.START, name)
    return graph.compile()


def chat(of, *nodes, **options):
    return chain(of, *nodes, state=of.MessagesState, **options)


def calling(of):
    child = chat(of, ("say", say))
    return chat(of, ("call", lambda state: {"messages": child.invoke(state)["messages"][-1]}))


CHATS = {
    "say": lambda of: chat(of, ("say", say)),
    "make": lambda of: chat(of, ("make", make), ("again", lambda state: {"messages": state["messages"]})),
    "nested": lambda of: chat(of, ("sub", chat(of, ("say", say), ("make", make)))),
    "deep": lambda of: chat(of, ("top", chat(of, ("sub", chat(of, ("say", say)))))),
    "calling": calling,
    "parallel": parallel,
    "nostream": lambda of: chat(
        of, ("quiet", lambda state: {"messages": [model().with_config(tags=["nostream"]).invoke("x")]})
    ),
}
HI = {"messages": [HumanMessage("hi", id="hi")]}


def shown(graph, driver, subgraphs):
    if driver == "sync":
        found = list(graph.stream(HI, CONFIG, stream_mode="messages", subgraphs=subgraphs))
    else:

        async def run():
            return [p async for p in graph.astream(HI, CONFIG, stream_mode="messages", subgraphs=subgraphs)]

        found = asyncio.run(run())
    parts = [part if subgraphs else ((), part) for part in found]
    return sorted(
        normal((namespace, type(message).__name__, message.content, sorted(metadata.items())))
        for namespace, (message, metadata) in parts
    )


@pytest.mark.parametrize("subgraphs", [False, True])
@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("program", CHATS)
def test_messages_are_those_of_the_twin(program, driver, subgraphs):
    theirs, ours = [shown(CHATS[program](of), driver, subgraphs) for of in BOTH]
    assert ours == theirs


# ---- events


def third(graph, given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = graph.stream_events(given, version="v3")
    found = []
    try:
        for event in stream:
            params = event["params"]
            found.append(
                (event["seq"], event["method"], params["namespace"], params["data"], params.get("interrupts"))
            )
    except ValueError as error:
        found.append(repr(error))
    return normal(found)


@pytest.mark.parametrize(
    "program", ["chain", "branching", "nested", "called", "failing", "paused", "workflow"]
)
def test_events_of_version_three(program):
    theirs, ours = [third(PROGRAMS[program](of), GIVEN) for of in BOTH]
    assert ours == theirs


@pytest.mark.parametrize("program", ["say", "make", "nested", "nostream"])
def test_messages_of_version_three(program):
    def ordered(text):
        return re.sub(r"\{[^{}]*'langgraph_node'[^{}]*(\{[^{}]*\})?[^{}]*\}", "METADATA", text)

    theirs, ours = [ordered(third(CHATS[program](of), HI)) for of in BOTH]
    assert ours == theirs


def second(graph):
    async def run():
        return [
            (e["event"], e["name"], e["tags"], e["parent_ids"], e["data"])
            async for e in graph.astream_events(GIVEN, version="v2")
        ]

    return any_order(asyncio.run(run()))


@pytest.mark.parametrize("program", ["chain", "branching", "nested", "model", "lambda", "piped"])
def test_events_of_version_two(program):
    theirs, ours = [second(PROGRAMS[program](of)) for of in BOTH]
    assert ours == theirs
