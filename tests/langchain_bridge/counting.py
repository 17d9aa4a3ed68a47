"""How many Python functions a superstep calls; needs no LangChain, so it can be measured with and without."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

from typing_extensions import TypedDict

from stepgraph.graph import END, START, StateGraph

LIMIT = {"recursion_limit": 1000}


class Counter(TypedDict):
    n: int


def step(state: Counter) -> dict[str, int]:
    return {"n": state["n"] - 1}


def looping() -> Any:
    graph = StateGraph(Counter).add_node("step", step).add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if state["n"] else END, ["step", END])
    return graph.compile()


GRAPH = looping()
RUNS: dict[str, Callable[[int], Any]] = {
    "invoke": lambda n: GRAPH.invoke({"n": n}, LIMIT),
    "stream": lambda n: list(GRAPH.stream({"n": n}, LIMIT, stream_mode="updates")),
}


def calls_of(run: Callable[[], Any]) -> int:
    """How many Python functions a run calls."""
    count = 0

    def look(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    gc.collect()
    gc.disable()
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def per_step(run: Callable[[int], Any]) -> int:
    """Calls of functions per superstep, without what a run costs once."""
    run(2)
    return round((calls_of(lambda: run(110)) - calls_of(lambda: run(10))) / 100)
