"""Laws: growth factors and slopes that must stay flat whatever the constant factors are.

Each takes two sizes of one program and prints what grew. A factor of 1 means "does not depend on the size".
"""

from __future__ import annotations

import asyncio
import operator
import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Annotated, Any, TypedDict

from benchmarks.engine import Engine, config, schema
from benchmarks.kinds import Bench, Limit, Scenario
from benchmarks.measure import allocated_peak, race, seconds_of
from benchmarks.scenarios.fans import fan_graph
from benchmarks.scenarios.loops import Counter, loop_graph, more, step, threads

FEW, MANY = 10, 1000


def growth(of_size: Callable[[int], Callable[[], Any]], small: int, large: int, samples: int) -> float:
    """Time of the large program / time of the small one, sampled in turns."""
    with asyncio.Runner() as runner:
        first, second = race(runner, [of_size(small), of_size(large)], samples)
    return second / first


def nodes(bench: Bench, engine: Engine) -> float:
    """Cost of a loop of 300 steps in a graph of 1,000 nodes against one of 10."""

    def of_size(size: int) -> Callable[[], Any]:
        graph = engine.StateGraph(Counter)
        graph.add_node("step", step)
        graph.add_edge(engine.START, "step")
        others = [f"other {i}" for i in range(size)]
        for name in others:
            graph.add_node(name, step)
        graph.add_conditional_edges("step", more, ["step", engine.END, *others])
        compiled = graph.compile()
        return lambda: compiled.invoke({"n": 0, "limit": 300}, config())

    return growth(of_size, FEW, MANY, bench.samples)


def channels(bench: Bench, engine: Engine) -> float:
    """The same with 1,000 fields against 10: the node and its branch read two of them."""

    def narrow(state: Counter) -> dict[str, int]:
        return {"n": state["n"] + 1}

    def of_size(size: int) -> Callable[[], Any]:
        fields: dict[str, Any] = {"n": int, "limit": int, **{f"field_{i}": int for i in range(size)}}
        graph = engine.StateGraph(schema("Many", fields))
        graph.add_node("step", narrow, input_schema=Counter)
        graph.add_edge(engine.START, "step")
        graph.add_conditional_edges("step", more, ["step", engine.END])
        compiled = graph.compile()
        given = {"n": 0, "limit": 300, **{f"field_{i}": i for i in range(size)}}
        return lambda: compiled.invoke(given, config())

    return growth(of_size, FEW, MANY, bench.samples)


def past_steps(bench: Bench, engine: Engine) -> float:
    """Cost per step of a loop of 10,000 steps against one of 1,000."""
    compiled = loop_graph(engine)

    def of_size(size: int) -> Callable[[], Any]:
        return lambda: compiled.invoke({"n": 0, "limit": size}, config())

    large = bench.count(10_000)
    return growth(of_size, large // 10, large, bench.samples) / 10


class Reading(TypedDict):
    n: int
    limit: int
    items: list[int]


def read_items(bench: Bench, engine: Engine) -> float:
    """Nanoseconds a step for each item of a list that node and branch read and do not write."""

    def reading(state: Reading) -> dict[str, int]:
        return {"n": state["n"] + 1}

    def reading_more(state: Reading) -> str:
        return "step" if state["n"] < state["limit"] else "__end__"

    def of_size(size: int) -> Callable[[], Any]:
        graph = engine.StateGraph(Reading)
        graph.add_node("step", reading)
        graph.add_edge(engine.START, "step")
        graph.add_conditional_edges("step", reading_more, ["step", engine.END])
        compiled = graph.compile()
        items = list(range(size))
        return lambda: compiled.invoke({"n": 0, "limit": 100, "items": items}, config())

    seconds = [seconds_of(of_size(size), bench.samples) for size in (0, 20_000)]
    return max(0.0, (seconds[1] - seconds[0]) / 100 / 20_000 * 1e9)


def sends(bench: Bench, engine: Engine) -> float:
    """Cost per task of a fan-out of 100,000 against one of 100; a reducer collects all results."""
    compiled = fan_graph(engine)
    large = bench.count(100_000)

    def of_size(size: int) -> Callable[[], Any]:
        return lambda: compiled.invoke({"count": size, "results": []}, config())

    return growth(of_size, 100, large, bench.samples) / (large / 100)


class Folding(TypedDict):
    tasks: int
    results: Annotated[list[int], operator.add]


def fold(bench: Bench, engine: Engine) -> float:
    """Cost per task of one superstep in which 1,000 tasks give 500 items each, against 100 such tasks."""

    def give(state: Any) -> dict[str, list[int]]:
        return {"results": [0] * 500}

    def spread(state: Folding) -> list[Any]:
        return [engine.Send("give", {}) for _ in range(state["tasks"])]

    graph = engine.StateGraph(Folding)
    graph.add_node("give", give)
    graph.add_conditional_edges(engine.START, spread, ["give"])
    compiled = graph.compile()

    def of_size(size: int) -> Callable[[], Any]:
        return lambda: compiled.invoke({"tasks": size, "results": []}, config())

    return growth(of_size, 100, 1000, bench.samples) / 10


def memory_of_steps(bench: Bench, engine: Engine) -> float:
    """Bytes that a run's peak grows by for each further step."""
    compiled = loop_graph(engine)
    steps = bench.count(10_000)
    peaks = [
        allocated_peak(lambda n=n: compiled.invoke({"n": 0, "limit": n}, config()))  # type: ignore[misc]
        for n in (steps // 10, steps)
    ]
    return max(0.0, (peaks[1] - peaks[0]) / (steps - steps // 10))


def slow_saver(engine: Engine) -> Any:
    """A saver that takes 2 ms for everything and keeps nothing."""

    class Slow(engine.BaseCheckpointSaver):  # type: ignore[misc, name-defined]
        def get_tuple(self, config: Any) -> None:
            return None

        def list(self, config: Any, **options: Any) -> Any:
            return iter(())

        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            time.sleep(0.002)
            place = config["configurable"]
            return {
                "configurable": {
                    "thread_id": place["thread_id"],
                    "checkpoint_ns": place.get("checkpoint_ns", ""),
                    "checkpoint_id": checkpoint["id"],
                }
            }

        def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            return None

        def get_next_version(self, current: Any, channel: Any) -> int:
            return (current or 0) + 1

    return Slow()


class Page(TypedDict):
    n: int
    limit: int
    page: str


def memory_with_slow_saver(bench: Bench, engine: Engine) -> float:
    """Peak bytes a further step, when each step makes a page of 20 kB and the saver lags behind."""

    def make_page(state: Page) -> dict[str, Any]:
        return {"n": state["n"] + 1, "page": "x" * 20_000}

    compiled = loop_graph(engine, make_page, saver=slow_saver(engine))
    fresh = threads()
    steps = bench.count(600)
    peaks = [
        allocated_peak(lambda n=n: compiled.invoke({"n": 0, "limit": n}, config(next(fresh))))  # type: ignore[misc]
        for n in (steps // 3, steps)
    ]
    return max(0.0, (peaks[1] - peaks[0]) / (steps - steps // 3))


# ---------------------------------------------------------------- cost of a step with a saver, as the state grows


class Growing(TypedDict):
    items: Annotated[list[str], operator.add]
    limit: int


def step_cost(bench: Bench, engine: Engine, items: int) -> float:
    """Time between two steps around item `items`, relative to around step 10; saver in memory, `sync`."""
    stamps: list[float] = []

    def append(state: Growing) -> dict[str, list[str]]:
        stamps.append(perf_counter())
        return {"items": [f"{len(stamps):0500}"]}

    def enough(state: Growing) -> str:
        return "append" if len(state["items"]) < state["limit"] else "__end__"

    graph = engine.StateGraph(Growing)
    graph.add_node("append", append)
    graph.add_edge(engine.START, "append")
    graph.add_conditional_edges("append", enough, ["append", engine.END])
    compiled = graph.compile(checkpointer=engine.InMemorySaver())
    fresh = threads()
    early: list[float] = []
    late: list[float] = []
    for _ in range(3):
        stamps.clear()
        thread = next(fresh)
        compiled.invoke({"items": [], "limit": items + 20}, config(thread), durability="sync")
        compiled.checkpointer.delete_thread(thread)
        gaps = [after - before for before, after in pairwise(stamps)]
        early += gaps[5:25]
        late += gaps[-40:]
    return median(late) / median(early)


def step_cost_1000(bench: Bench, engine: Engine) -> float:
    return step_cost(bench, engine, bench.count(1000))


def step_cost_4000(bench: Bench, engine: Engine) -> float:
    return step_cost(bench, engine, bench.count(4000))


SCENARIOS: list[Scenario] = [
    Limit("law-nodes", nodes, "x", 1.3, 1.1),
    Limit("law-channels", channels, "x", 1.3, 1.1),
    Limit("law-past-steps", past_steps, "x", 1.3, 1.1),
    Limit("law-read-items", read_items, "ns", 10, 8),
    Limit("law-sends", sends, "x", 1.3, 1.1, compare=False),
    Limit("law-fold", fold, "x", 1.3, 1.1),
    Limit("law-memory-steps", memory_of_steps, "B", 8, 1),
    Limit("law-memory-slow-saver", memory_with_slow_saver, "B", 1000, 100),
    Limit("law-step-cost-1000", step_cost_1000, "x", 4, 2),
    Limit("law-step-cost-4000", step_cost_4000, "x", 8, 3, compare=False),
]
