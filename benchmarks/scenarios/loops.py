"""One node: a single step (`tiny`), and a loop of 1,000 supersteps with everything that can be put around it."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from typing import Any, TypedDict

from benchmarks.engine import Engine, config
from benchmarks.kinds import Bench, ByHand, Gauge, Limit, Program, Race, Scenario
from benchmarks.measure import import_cost, worst_lag
from benchmarks.table import duration, size

STEPS = 1000


class Counter(TypedDict):
    n: int
    limit: int


def step(state: Counter) -> dict[str, int]:
    return {"n": state["n"] + 1}


def more(state: Counter) -> str:
    return "step" if state["n"] < state["limit"] else "__end__"


async def async_step(state: Counter) -> dict[str, int]:
    return {"n": state["n"] + 1}


async def async_more(state: Counter) -> str:
    return "step" if state["n"] < state["limit"] else "__end__"


def sleeping_step(state: Counter) -> dict[str, int]:
    time.sleep(0.005)
    return {"n": state["n"] + 1}


def loop_graph(engine: Engine, node: Any = step, path: Any = more, saver: Any = None) -> Any:
    graph = engine.StateGraph(Counter)
    graph.add_node("step", node)
    graph.add_edge(engine.START, "step")
    graph.add_conditional_edges("step", path, ["step", engine.END])
    return graph.compile(checkpointer=saver)


def threads() -> Iterator[str]:
    """A fresh thread id for each run, so no run starts from another's state."""
    return (f"thread-{i}" for i in count())


def sqlite_saver(bench: Bench, engine: Engine) -> Any:
    """A saver over a file of its own; both go when the command ends."""
    folder = bench.cleanup.enter_context(tempfile.TemporaryDirectory())
    path = os.path.join(folder, "checkpoints.sqlite")
    return bench.cleanup.enter_context(engine.SqliteSaver.from_conn_string(path))


# ---------------------------------------------------------------- tiny


def tiny(bench: Bench, engine: Engine, saver: bool = False) -> Program:
    graph = engine.StateGraph(Counter)
    graph.add_node("step", step)
    graph.add_edge(engine.START, "step")
    graph.add_edge("step", engine.END)
    compiled = graph.compile(checkpointer=engine.InMemorySaver() if saver else None)
    if not saver:
        return Program(lambda: compiled.invoke({"n": 0, "limit": 1}))
    fresh = threads()
    return Program(lambda: compiled.invoke({"n": 0, "limit": 1}, config(next(fresh))))


def tiny_saver(bench: Bench, engine: Engine) -> Program:
    return tiny(bench, engine, saver=True)


# ---------------------------------------------------------------- loop


def loop(bench: Bench, engine: Engine) -> Program:
    steps = bench.count(STEPS)
    compiled = loop_graph(engine)
    given = {"n": 0, "limit": steps}
    return Program(lambda: compiled.invoke(given, config()), units=steps)


def loop_by_hand(bench: Bench, engine: Engine) -> Program:
    steps = bench.count(STEPS)

    def run() -> Any:
        state: Any = {"n": 0, "limit": steps}
        while True:
            state = {**state, **step(state)}
            if more(state) == "__end__":
                return state

    return Program(run, units=steps)


def streamed(mode: str) -> Any:
    def build(bench: Bench, engine: Engine) -> Program:
        steps = bench.count(STEPS)
        compiled = loop_graph(engine)
        given = {"n": 0, "limit": steps}
        return Program(lambda: list(compiled.stream(given, config(), stream_mode=mode)), units=steps)

    return build


def saved(durability: str, sqlite: bool = False) -> Any:
    def build(bench: Bench, engine: Engine) -> Program:
        steps = bench.count(STEPS)
        saver = sqlite_saver(bench, engine) if sqlite else engine.InMemorySaver()
        compiled = loop_graph(engine, saver=saver)
        given = {"n": 0, "limit": steps}
        fresh = threads()
        used: list[str] = []

        def run() -> Any:
            used.append(next(fresh))
            return compiled.invoke(given, config(used[-1]), durability=durability)

        def outcome(result: Any) -> Any:
            """The result, and how many checkpoints of which steps are stored."""
            history = compiled.get_state_history(config(used[-1]))
            return result, [snapshot.metadata["step"] for snapshot in history]

        return Program(run, outcome, units=steps)

    return build


def in_async(node: Any, path: Any, saver: bool = False) -> Any:
    def build(bench: Bench, engine: Engine) -> Program:
        steps = bench.count(STEPS)
        compiled = loop_graph(engine, node, path, engine.InMemorySaver() if saver else None)
        given = {"n": 0, "limit": steps}
        fresh = threads()

        async def run() -> Any:
            return await compiled.ainvoke(given, config(next(fresh) if saver else None))

        return Program(run, units=steps)

    return build


def lag_of_mixed(bench: Bench, engine: Engine) -> float:
    """Milliseconds: of seven runs of a sync node that sleeps, the one least disturbed by other programs."""
    compiled = loop_graph(engine, sleeping_step)

    async def once() -> float:
        return await worst_lag(lambda: compiled.ainvoke({"n": 0, "limit": 20}, config()))

    return 1000 * min(asyncio.run(once()) for _ in range(max(3, bench.samples)))


# ---------------------------------------------------------------- import


def import_statement(engine: Engine) -> str:
    if engine.package == "langgraph":
        return "from langgraph.graph import StateGraph"
    return f"from {engine.package} import StateGraph"


def import_seconds(bench: Bench, engine: Engine) -> float:
    return import_cost(import_statement(engine), bench.samples)[0]


def import_memory(bench: Bench, engine: Engine) -> float:
    return import_cost(import_statement(engine), bench.samples)[1]


SCENARIOS: list[Scenario] = [
    Race("tiny", tiny, 35, 60),
    Race("tiny-saver", tiny_saver, 30, 60),
    Race("loop", loop, 50, 100),
    ByHand("loop/hand", loop, loop_by_hand, 24, 12),
    Race("loop-stream-values", streamed("values"), 45, 80),
    Race("loop-stream-updates", streamed("updates"), 45, 80),
    Race("loop-saver-async", saved("async"), 25, 46),
    Race("loop-saver-sync", saved("sync"), 25, 46),
    Race("loop-saver-exit", saved("exit"), 30, 60),
    Race("loop-sqlite-async", saved("async", sqlite=True), 22, 43),
    Race("loop-sqlite-sync", saved("sync", sqlite=True), 2.5, 3.1),
    Race("loop-async", in_async(async_step, async_more), 45, 87),
    Race("loop-async-saver", in_async(async_step, async_more, saver=True), 25, 52),
    Race("loop-mixed", in_async(step, more), 50, 110),
    Limit("loop-mixed/lag", lag_of_mixed, "ms", 2.0, 1.0),
    Gauge("import", import_seconds, duration, 10, 17),
    Gauge("import-memory", import_memory, size, 3, 5),
]
