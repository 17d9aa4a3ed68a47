"""Many tasks in one superstep: `Send` to a plain node (`fan`), and to a subgraph that loops (`nested`)."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from benchmarks.engine import Engine, config
from benchmarks.kinds import Bench, ByHand, Gauge, Program, Race, Scenario
from benchmarks.measure import allocated_peak
from benchmarks.scenarios.loops import threads
from benchmarks.table import size

TASKS = 500
TOPICS = 100
ROUNDS = 10


class Fan(TypedDict):
    count: int
    results: Annotated[list[int], operator.add]


class Item(TypedDict):
    value: int


def work(item: Item) -> dict[str, list[int]]:
    return {"results": [item["value"] * 2]}


async def async_work(item: Item) -> dict[str, list[int]]:
    return {"results": [item["value"] * 2]}


def fan_graph(engine: Engine, node: Any = work, saver: Any = None) -> Any:
    def spread(state: Fan) -> list[Any]:
        return [engine.Send("work", {"value": i}) for i in range(state["count"])]

    graph = engine.StateGraph(Fan)
    graph.add_node("work", node)
    graph.add_conditional_edges(engine.START, spread, ["work"])
    graph.add_edge("work", engine.END)
    return graph.compile(checkpointer=saver)


def fan(bench: Bench, engine: Engine, saver: bool = False) -> Program:
    tasks = bench.count(TASKS)
    compiled = fan_graph(engine, saver=engine.InMemorySaver() if saver else None)
    given = {"count": tasks, "results": []}
    fresh = threads()
    return Program(lambda: compiled.invoke(given, config(next(fresh) if saver else None)), units=tasks)


def fan_saver(bench: Bench, engine: Engine) -> Program:
    return fan(bench, engine, saver=True)


def fan_async(bench: Bench, engine: Engine) -> Program:
    tasks = bench.count(TASKS)
    compiled = fan_graph(engine, async_work)

    async def run() -> Any:
        return await compiled.ainvoke({"count": tasks, "results": []}, config())

    return Program(run, units=tasks)


def memory(build: Any) -> Any:
    def take(bench: Bench, engine: Engine) -> float:
        program = build(bench, engine)
        return allocated_peak(program.run) / float(program.units)

    return take


# ---------------------------------------------------------------- nested


class Topic(TypedDict):
    topic: str
    draft: str
    score: int
    finished: list[str]


class Finished(TypedDict):
    finished: list[str]


class Collected(TypedDict):
    topics: list[str]
    finished: Annotated[list[str], operator.add]


def edit(state: Topic) -> dict[str, Any]:
    return {"topic": state["topic"] + "!", "score": 0}


def generate(state: Topic) -> dict[str, Any]:
    return {"draft": "about " + state["topic"]}


def bump(state: Topic) -> dict[str, Any]:
    return {"score": state["score"] + 1, "finished": [state["draft"]]}


def again(state: Topic) -> str:
    return "bump" if state["score"] < ROUNDS else "__end__"


async def async_edit(state: Topic) -> dict[str, Any]:
    return edit(state)


async def async_generate(state: Topic) -> dict[str, Any]:
    return generate(state)


async def async_bump(state: Topic) -> dict[str, Any]:
    return bump(state)


async def async_again(state: Topic) -> str:
    return again(state)


SYNC_NODES = (edit, generate, bump, again)
ASYNC_NODES = (async_edit, async_generate, async_bump, async_again)


def nested_graph(engine: Engine, nodes: tuple[Any, ...] = SYNC_NODES, saver: Any = None) -> Any:
    first, second, third, path = nodes
    child = engine.StateGraph(Topic, output_schema=Finished)
    child.add_node("edit", first)
    child.add_node("generate", second)
    child.add_node("bump", third)
    child.add_edge(engine.START, "edit")
    child.add_edge("edit", "generate")
    child.add_edge("generate", "bump")
    child.add_conditional_edges("bump", path, ["bump", engine.END])

    def spread(state: Collected) -> list[Any]:
        return [engine.Send("write", {"topic": topic}) for topic in state["topics"]]

    parent = engine.StateGraph(Collected)
    parent.add_node("write", child.compile())
    parent.add_conditional_edges(engine.START, spread, ["write"])
    parent.add_edge("write", engine.END)
    return parent.compile(checkpointer=saver)


def topics(bench: Bench) -> list[str]:
    return [f"topic {i}" for i in range(bench.count(TOPICS))]


def nested(bench: Bench, engine: Engine) -> Program:
    compiled = nested_graph(engine)
    given = {"topics": topics(bench), "finished": []}
    return Program(lambda: compiled.invoke(given, config()))


def nested_by_hand(bench: Bench, engine: Engine) -> Program:
    given = topics(bench)

    def write(topic: str) -> list[str]:
        state: Any = {"topic": topic}
        for node in (edit, generate, bump):
            state = {**state, **node(state)}
        while again(state) == "bump":
            state = {**state, **bump(state)}
        return list(state["finished"])

    def run() -> Any:
        out: list[str] = []
        for topic in given:
            out = out + write(topic)
        return {"topics": given, "finished": out}

    return Program(run)


def nested_async(bench: Bench, engine: Engine, saver: bool = False) -> Program:
    compiled = nested_graph(engine, ASYNC_NODES, engine.InMemorySaver() if saver else None)
    given = {"topics": topics(bench), "finished": []}
    fresh = threads()

    async def run() -> Any:
        return await compiled.ainvoke(given, config(next(fresh) if saver else None))

    return Program(run)


def nested_saver(bench: Bench, engine: Engine) -> Program:
    compiled = nested_graph(engine, saver=engine.InMemorySaver())
    given = {"topics": topics(bench), "finished": []}
    fresh = threads()
    return Program(lambda: compiled.invoke(given, config(next(fresh)), durability="async"))


SCENARIOS: list[Scenario] = [
    Race("fan", fan, 100, 190),
    Race("fan-async", fan_async, 15, 27),
    Race("fan-saver", fan_saver, 60, 115),
    Race("nested", nested, 55, 100),
    ByHand("nested/hand", nested, nested_by_hand, 15, 8),
    Race("nested-async", nested_async, 35, 66),
    Race("nested-saver", nested_saver, 35, 70),
    Gauge("memory", memory(fan), size, 6, 12),
    Gauge("memory-async", memory(fan_async), size, 5, 8),
]
