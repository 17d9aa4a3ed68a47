"""A run that is watched: a handler of LangChain's that hears every node, and a stream of messages.

Time per superstep, everything included; both sides must have told the handler the same number of events. Everything, because
LangGraph makes its managers and runs whether somebody listens or not: the difference to an unwatched run would leave out most
of what being watchable costs there, and nothing of what it costs here.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from benchmarks.engine import Engine, config
from benchmarks.kinds import Bench, Limit, Program, Race, Scenario
from benchmarks.measure import import_cost
from benchmarks.scenarios.loops import STEPS, Counter, async_more, async_step, loop_graph, more, step


def counting() -> Any:
    """A handler that counts what it hears of chains."""
    from langchain_core.callbacks import BaseCallbackHandler

    class Counting(BaseCallbackHandler):
        def __init__(self) -> None:
            self.heard = 0

        def on_chain_start(self, serialized: Any, inputs: Any, **rest: Any) -> None:
            self.heard += 1

        def on_chain_end(self, outputs: Any, **rest: Any) -> None:
            self.heard += 1

    return Counting()


def watched(bench: Bench, engine: Engine) -> Program:
    steps = bench.count(STEPS, 20) // 5
    compiled = loop_graph(engine, step, more)

    def run() -> Any:
        handler = counting()
        return compiled.invoke({"n": 0, "limit": steps}, {**config(), "callbacks": [handler]}), handler.heard

    return Program(run, units=steps)


def watched_chain(bench: Bench, engine: Engine) -> Program:
    """Nodes without path functions: one run of LangChain's for each."""
    steps = bench.count(STEPS, 20) // 5
    graph = engine.StateGraph(Counter)
    before = engine.START
    for number in range(steps):
        graph.add_node(f"step{number}", step)
        graph.add_edge(before, f"step{number}")
        before = f"step{number}"
    compiled = graph.compile()

    def run() -> Any:
        handler = counting()
        return compiled.invoke({"n": 0, "limit": 0}, {**config(), "callbacks": [handler]}), handler.heard

    return Program(run, units=steps)


def watched_async(bench: Bench, engine: Engine) -> Program:
    steps = bench.count(STEPS, 20) // 5
    compiled = loop_graph(engine, async_step, async_more)

    async def run() -> Any:
        handler = counting()
        given = {"n": 0, "limit": steps}
        return await compiled.ainvoke(given, {**config(), "callbacks": [handler]}), handler.heard

    return Program(run, units=steps)


def streamed_messages(bench: Bench, engine: Engine) -> Program:
    steps = bench.count(STEPS, 20) // 5
    compiled = loop_graph(engine, step, more)
    given = {"n": 0, "limit": steps}
    return Program(lambda: list(compiled.stream(given, config(), stream_mode="messages")), units=steps)


def import_share(bench: Bench, engine: Engine) -> float:
    """What importing the engine adds to importing LangChain's runnables and messages, in percent of that."""
    other = "import langchain_core.runnables, langchain_core.messages, langchain_core.runnables.base"
    added = import_cost(f"from {engine.package}.graph import StateGraph", bench.samples, before=other)[0]
    return 100 * added / import_cost(other, bench.samples)[0]


SCENARIOS: list[Scenario] = (
    []
    if find_spec("langchain_core") is None
    else [
        Race("callbacks", watched, 3, 8),
        Race("callbacks-chain", watched_chain, 3, 10),
        Race("callbacks-async", watched_async, 3, 4),
        Limit("import-after-langchain", import_share, "%", 5, 3),
        Race("callbacks-messages", streamed_messages, 3, 5),
    ]
)
