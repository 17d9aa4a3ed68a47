"""A wide dataclass state and nodes that only move references (`wide`); long sequences of nodes (`chain`)."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, TypedDict

from benchmarks.engine import Engine, config
from benchmarks.kinds import Bench, Program, Race, Scenario
from benchmarks.scenarios.loops import threads

ROWS = 25
CELLS = 300
NODES = 1000


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {**old, **new}


def keep(old: Any, new: Any) -> Any:
    return old if new is None else new


@dataclass
class Wide:
    """Fifteen fields: four growing lists, two merged dicts, four that keep the last value given, five plain."""

    inbox: Annotated[list[Any], operator.add] = field(default_factory=list)
    done: Annotated[list[Any], operator.add] = field(default_factory=list)
    events: Annotated[list[int], operator.add] = field(default_factory=list)
    notes: Annotated[list[str], operator.add] = field(default_factory=list)
    index: Annotated[dict[str, Any], merge] = field(default_factory=dict)
    totals: Annotated[dict[str, Any], merge] = field(default_factory=dict)
    owner: Annotated[str | None, keep] = None
    title: Annotated[str | None, keep] = None
    urgent: Annotated[bool | None, keep] = None
    reviewer: Annotated[str | None, keep] = None
    stage: str = ""
    count: int = 0
    current: dict[str, Any] | None = None
    previous: dict[str, Any] | None = None
    picked: list[Any] | None = None


def one(state: Wide) -> dict[str, Any]:
    row = state.inbox[state.count % len(state.inbox)]
    return {"current": row, "previous": state.current, "count": state.count + 1, "stage": "one"}


def two(state: Wide) -> dict[str, Any]:
    return {"events": [state.count], "owner": f"owner {state.count % 3}", "title": None, "stage": "two"}


def three(state: Wide) -> dict[str, Any]:
    return {"index": {str(state.count): state.current}, "picked": [state.current, state.previous]}


def four(state: Wide) -> dict[str, Any]:
    return {"notes": [state.stage], "totals": {str(state.count % 5): state.count}, "urgent": True}


def five(state: Wide) -> dict[str, Any]:
    return {"done": [state.current], "reviewer": state.owner, "stage": "five"}


def six(state: Wide) -> dict[str, Any]:
    return {"title": f"lap {state.count}", "urgent": None, "picked": None}


def another(state: Wide) -> str:
    return "__end__" if len(state.done) > ROWS else "one"


def wide_input(cells: int) -> dict[str, Any]:
    row = [{str(cell): [cell, "text", 0.5, row % 2 == 0] for cell in range(cells)} for row in range(ROWS)]
    return {"inbox": row}


def wide_graph(engine: Engine, saver: Any = None) -> Any:
    graph = engine.StateGraph(Wide)
    for node in (one, two, three, four, five, six):
        graph.add_node(node)
    graph.add_edge(engine.START, "one")
    graph.add_edge("one", "two")
    graph.add_edge("two", "three")
    graph.add_edge("two", "four")
    graph.add_edge(["three", "four"], "five")
    graph.add_edge("five", "six")
    graph.add_conditional_edges("six", another, ["one", engine.END])
    return graph.compile(checkpointer=saver)


def wide(durability: str | None) -> Any:
    def build(bench: Bench, engine: Engine) -> Program:
        given = wide_input(bench.count(CELLS))
        if durability is None:
            plain = wide_graph(engine)
            return Program(lambda: plain.invoke(given, config()))
        compiled = wide_graph(engine, engine.InMemorySaver())
        fresh = threads()
        return Program(lambda: compiled.invoke(given, config(next(fresh)), durability=durability))

    return build


# ---------------------------------------------------------------- chain


class Nothing(TypedDict):
    x: int


def idle(state: Nothing) -> None:
    return None


def chain_graph(engine: Engine, nodes: int) -> Any:
    graph = engine.StateGraph(Nothing)
    names = [f"node {i}" for i in range(nodes)]
    for name in names:
        graph.add_node(name, idle)
    graph.add_edge(engine.START, names[0])
    for before, after in pairwise(names):
        graph.add_edge(before, after)
    graph.add_edge(names[-1], engine.END)
    return graph.compile()


def chain(bench: Bench, engine: Engine) -> Program:
    nodes = bench.count(NODES)
    compiled = chain_graph(engine, nodes)
    return Program(lambda: compiled.invoke({"x": 1}, config()), units=nodes)


def chain_first(bench: Bench, engine: Engine) -> Program:
    compiled = chain_graph(engine, bench.count(NODES))

    def run() -> Any:
        events = compiled.stream({"x": 1}, config(), stream_mode="updates")
        first = next(events)
        events.close()
        return first

    return Program(run)


def chain_build(bench: Bench, engine: Engine) -> Program:
    nodes = bench.count(NODES)
    return Program(lambda: chain_graph(engine, nodes), lambda compiled: sorted(compiled.nodes))


SCENARIOS: list[Scenario] = [
    Race("wide", wide(None), 15, 27),
    Race("wide-exit", wide("exit"), 15, 29),
    Race("wide-async", wide("async"), 11, 22),
    Race("chain", chain, 200, 390),
    Race("chain-first", chain_first, 150, 290),
    Race("chain-build", chain_build, 4, 7),
]
