"""The program that `test_killed_runs.py` kills: parallel tasks and a nested graph in a loop, slow enough to be hit anywhere.

    python -m checkpoint.killed_run DATABASE LOG DURABILITY

Each task that begins or ends is a line of the log. It starts the thread, or goes on with what is stored of it, and prints
the final state as JSON.
"""

from __future__ import annotations

import json
import operator
import os
import sys
import time
from typing import Annotated, Any, TypedDict

from policies.killed_program import THREAD, open_saver
from stepgraph.graph import START, StateGraph

__all__ = ("ROUNDS", "THREAD", "expected", "open_saver")

ROUNDS = 6


class State(TypedDict, total=False):
    round: int
    log: Annotated[list[str], operator.add]


def build(log: str, saver: Any) -> Any:
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def node(name: str) -> Any:
        def work(state: State) -> State:
            at = f"{name} {state['round']}"
            os.write(file, f"begins {at}\n".encode())
            time.sleep(0.004)
            os.write(file, f"ends {at}\n".encode())
            return {"log": [at]}

        return work

    inner = StateGraph(State).add_node("in1", node("in1")).add_node("in2", node("in2"))
    inner.add_edge(START, "in1").add_edge("in1", "in2")
    child: Any = inner.compile()

    def nested(state: State) -> State:
        return {"log": child.invoke({"round": state["round"], "log": []})["log"]}

    builder = StateGraph(State).add_node("first", lambda state: {"round": state["round"] + 1})
    builder.add_node("left", node("left")).add_node("right", node("right")).add_node("nested", nested)
    builder.add_edge(START, "first")
    for name in ("left", "right", "nested"):
        builder.add_edge("first", name)
    builder.add_node("last", node("last")).add_edge(["left", "right", "nested"], "last")
    builder.add_conditional_edges("last", lambda state: "first" if state["round"] < ROUNDS else "__end__")
    return builder.compile(saver)


def expected() -> list[str]:
    """The log of a run that nobody killed."""
    order = ("left", "in1", "in2", "right", "last")
    return [f"{name} {number}" for number in range(1, ROUNDS + 1) for name in order]


def main(database: str, log: str, durability: Any) -> None:
    with open_saver(database) as saver:
        graph = build(log, saver)
        input: Any = {"round": 0, "log": []} if saver.get_tuple(THREAD) is None else None
        print("ready", flush=True)
        print(json.dumps(graph.invoke(input, THREAD, durability=durability)["log"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
