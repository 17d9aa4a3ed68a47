"""One of several processes that run the same thread at random; prints what became of each run.

    python -m pregel.two_writers sqlite|postgres PLACE detect|reject NAME RUNS

It begins when a line comes in, so that all begin together.
"""

from __future__ import annotations

import asyncio
import json
import operator
import random
import sys
import time
from typing import Annotated, Any, TypedDict

from stepgraph.errors import ThreadBusyError
from stepgraph.graph import START, StateGraph

THREAD: Any = {"configurable": {"thread_id": "shared"}}
STEPS = ("input", "first", "left", "right", "last")
"""What a whole run adds to the log, in order."""


class State(TypedDict, total=False):
    run: str
    log: Annotated[list[str], operator.add]


def node(name: str) -> Any:
    def work(state: State) -> State:
        if random.random() < 0.2:
            time.sleep(random.random() * 0.002)
        return {"log": [f"{state['run']} {name}"]}

    return work


def build() -> Any:
    builder = StateGraph(State)
    for name in STEPS[1:]:
        builder.add_node(name, node(name))
    builder.add_edge(START, "first").add_edge("first", "left").add_edge("first", "right")
    return builder.add_edge(["left", "right"], "last")


def open_saver(kind: str, place: str) -> Any:
    if kind == "sqlite":
        from stepgraph.checkpoint.sqlite import SqliteSaver

        return SqliteSaver.from_conn_string(place)
    from stepgraph.checkpoint.postgres import PostgresSaver

    return PostgresSaver.from_conn_string(place)


def one_run(graph: Any, run: str) -> str:
    """`done`, or the cause of the refusal."""
    input, durability = (
        {"run": run, "log": [f"{run} input"]},
        random.choice(["async", "async", "sync", "exit"]),
    )
    try:
        if random.random() < 0.5:
            graph.invoke(input, THREAD, durability=durability)
        else:
            asyncio.run(graph.ainvoke(input, THREAD, durability=durability))
    except ThreadBusyError as error:
        return error.cause if error.run_id and error.other_run_id else f"without ids: {error}"
    return "done"


def main(kind: str, place: str, concurrency: Any, name: str, runs: str) -> None:
    random.seed(name)
    with open_saver(kind, place) as saver:
        graph = build().compile(saver, concurrency=concurrency)
        sys.stdin.readline()
        outcomes = {f"{name}-{number}": one_run(graph, f"{name}-{number}") for number in range(int(runs))}
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
