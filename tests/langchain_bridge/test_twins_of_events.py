"""Events, logs and traces beside those of langgraph, over fan-outs, tools, calls of graphs and failures.

Parallel tasks may tell in any order, so these programs run one thing at a time wherever the order shows in what is compared.
"""

from __future__ import annotations

import asyncio
import re
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")
pytest.importorskip("langgraph.graph", reason="langgraph is not installed: nothing to compare with")

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.tools import tool

from langchain_bridge.recording import Recorder, model
from langchain_bridge.test_twins import BOTH, CONFIG, GIVEN, State, any_order, chain, normal, one, third

pytestmark = pytest.mark.filterwarnings("ignore")


@tool
def double(x: int) -> int:
    "Double a number."
    return 2 * x


@tool
def broken(x: int) -> int:
    "Fail."
    raise ValueError("boom")


def fan(of):
    def spread(state):
        return [of.Send("w", 1)]

    graph = of.StateGraph(State).add_node("a", one).add_node("w", lambda number: {"log": [number]})
    graph.add_edge(of.START, "a").add_conditional_edges("a", spread, ["w"])
    return graph.compile()


def start_decides(of):
    graph = of.StateGraph(State).add_node("w", one)
    return graph.add_conditional_edges(of.START, to_w, ["w"]).compile()


def to_w(state):
    return "w"


def goto(of):
    graph = of.StateGraph(State).add_node("b", one).add_edge(of.START, "a")
    graph.add_node("a", lambda state: of.Command(goto="b", update={"log": ["a"]}), destinations=("b",))
    return graph.compile()


def tools_of(name):
    def build(of):
        node = import_module(f"{of.package}.prebuilt").ToolNode([double, broken])
        asking = AIMessage("", tool_calls=[{"name": name, "args": {"x": 1}, "id": "c1"}], id="m")
        graph = of.StateGraph(of.MessagesState).add_node("ask", lambda state: {"messages": [asking]})
        graph.add_node("tools", node).add_edge(of.START, "ask").add_edge("ask", "tools")
        return graph.compile()

    return build


def custom(of):
    async def tell(state):
        await adispatch_custom_event("told", {"x": 1})
        return {}

    def say(state):
        dispatch_custom_event("said", {"x": 2})
        return {}

    return chain(of, ("tell", tell), ("say", say))


def inside(of):
    steps = RunnableLambda(lambda x: x, name="first") | RunnableParallel(a=RunnablePassthrough())
    return chain(of, ("n", lambda state: {"log": [str(steps.invoke(state))]}))


def called(form):
    """A node that calls a graph in this way."""

    def build(of):
        child = chain(of, ("one", one), name="Child")

        async def acall(state):
            return await child.ainvoke(state)

        forms: dict[str, Any] = {
            "invoke": lambda state: child.invoke(state),
            "stream": lambda state: list(child.stream(state, stream_mode="values"))[-1],
            "ainvoke": acall,
        }
        return chain(of, ("call", forms[form]))

    return build


def around(of):
    child = chain(of, ("one", one), name="Child")

    async def call(state):
        return await child.ainvoke(state)

    return RunnableLambda(call)


def workflow(of):
    @of.task
    def inner(x):
        return x + 1

    @of.task
    def outer(x):
        return inner(x).result()

    @of.entrypoint()
    def flow(state):
        return outer(1).result()

    return flow


def failing_workflow(of):
    @of.task
    def fail(x):
        raise ValueError("boom")

    @of.entrypoint()
    def flow(state):
        return fail(1).result()

    return flow


def retried(of):
    tries = []

    def flaky(state):
        tries.append(1)
        if len(tries) < 2:
            raise ValueError("not yet")
        return {"log": ["ok"]}

    graph = chain(of, ("flaky", flaky))
    return graph.with_retry(wait_exponential_jitter=False, retry_if_exception_type=(ValueError,))


def configured(of):
    graph = of.StateGraph(State).add_node("a", one, metadata={"k": "v"}).add_edge(of.START, "a")
    return graph.compile(name="T").with_config(tags=["ct"], metadata={"cm": 1}, run_name="R")


def to_parent(of):
    def leave(state):
        return of.Command(graph=of.Command.PARENT, goto="b", update={"log": ["up"]})

    graph = of.StateGraph(State).add_node("sub", chain(of, ("leave", leave), name="Sub")).add_node("b", one)
    return graph.add_edge(of.START, "sub").compile()


def piped(of):
    return chain(of, ("one", one), name="A") | RunnableLambda(lambda s: s, name="mid") | chain(of, ("b", one))


def streaming(of):
    async def gather(state):
        return {"log": ["".join([part.content async for part in model("x y").astream("hi")])]}

    return chain(of, ("gather", gather))


def quiet(of):
    return chain(
        of, ("q", lambda state: {"log": [model().with_config(tags=["nostream"]).invoke("x").content]})
    )


PROGRAMS = {
    "fan": fan,
    "goto": goto,
    "tool": tools_of("double"),
    "failing tool": tools_of("broken"),
    "custom": custom,
    "inside": inside,
    "called": called("invoke"),
    "streamed": called("stream"),
    "awaited": called("ainvoke"),
    "around": around,
    "workflow": workflow,
    "failing workflow": failing_workflow,
    "retried": retried,
    "configured": configured,
    "to parent": to_parent,
    "piped": piped,
    "streaming": streaming,
    "quiet": quiet,
}
SYNC = [name for name in PROGRAMS if name not in ("custom", "awaited", "around", "streaming")]
EMPTY = {"tool": {"messages": []}, "failing tool": {"messages": []}}
TIME = re.compile(r"'\d{4}-\d\d-\d\dT[^']*'")
THIRD = [name for name in SYNC if name not in ("retried", "configured", "piped")]


def build(program, of):
    return PROGRAMS[program](of)


def given(program):
    return EMPTY.get(program, GIVEN)


async def collected(parts, pick):
    found = []
    try:
        async for part in parts:
            found.append(pick(part))
    except ValueError as error:
        found.append(repr(error))
    return found


def event(e):
    return e["event"], e["name"], e["tags"], e["parent_ids"], sorted(e["metadata"].items()), e["data"]


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_streamed_events(program, version):
    def run(of):
        events = build(program, of).astream_events(given(program), CONFIG, version=version)
        return any_order(asyncio.run(collected(events, event)))

    theirs, ours = map(run, BOTH)
    assert ours == theirs


@pytest.mark.parametrize("program", PROGRAMS)
def test_streamed_log(program):
    def run(of):
        patches = build(program, of).astream_log(given(program), CONFIG)
        found = asyncio.run(collected(patches, lambda patch: getattr(patch, "ops", patch)))
        return sorted(TIME.sub("TIME", normal(operations)) for operations in found)

    theirs, ours = map(run, BOTH)
    assert ours == theirs


@pytest.mark.parametrize(
    ("program", "driver"), [(p, "async") for p in PROGRAMS] + [(p, "sync") for p in SYNC]
)
def test_events_are_those_of_the_twin(program, driver):
    def run(of):
        recorder = Recorder()
        graph, config = build(program, of), {**CONFIG, "callbacks": [recorder]}
        try:
            if driver == "sync":
                graph.invoke(given(program), config)
            else:
                asyncio.run(graph.ainvoke(given(program), config))
        except ValueError as error:
            recorder.events.append(("raised", repr(error)))
        metadata = {name: sorted((found or {}).items()) for name, found in recorder.metadata.items()}
        return any_order(recorder.events), normal(metadata)

    theirs, ours = map(run, BOTH)
    assert ours == theirs


def test_the_hidden_start_is_tagged_alike():
    def run(of):
        recorder = Recorder()
        start_decides(of).invoke(GIVEN, {**CONFIG, "callbacks": [recorder]})
        return any_order(recorder.events)

    theirs, ours = map(run, BOTH)
    assert ours == theirs


@pytest.mark.parametrize("program", THIRD)
def test_events_of_version_three(program):
    theirs, ours = [third(build(program, of), given(program)) for of in BOTH]
    assert ours == theirs
