"""`delete_for_runs` on what the engine stored."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Annotated, Any, TypedDict

import pytest

from checkpoint.savers import open_saver
from stepgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with open_saver(request.param, tmp_path) as face:
        yield face.saver


def by(run: str) -> Any:
    return {"configurable": {"thread_id": "1"}, "run_id": run}


def wait_for(what: Callable[[], Any]) -> None:
    """Wait until something holds."""
    end = monotonic() + 20
    while not what():
        assert monotonic() < end, "it never came to hold"
        sleep(0.005)


def test_what_a_deleted_run_wrote_at_a_checkpoint_of_another_is_gone(saver: Any) -> None:
    """1. A run stops before two parallel nodes; 2. another goes on: one node ends, one fails; 3. that run is deleted; 4. the
    thread goes on as if it had never been: both nodes run."""
    ran: list[str] = []
    fails = [True]

    def good(state: State) -> State:
        ran.append("good")
        return {"log": ["good"]}

    def bad(state: State) -> State:
        if fails[0]:
            wait_for(lambda: saver.get_tuple(by("any")).pending_writes)
            raise OSError("no network")
        return {"log": ["bad"]}

    builder = StateGraph(State).add_node("first", lambda state: {"log": ["first"]})
    builder.add_node("good", good).add_node("bad", bad)
    builder.add_edge(START, "first").add_edge("first", "good").add_edge("first", "bad")
    graph = builder.compile(saver)
    graph.invoke({}, by("first run"), interrupt_before=["good", "bad"])
    with pytest.raises(OSError, match="no network"):
        graph.invoke(None, by("second run"), durability="sync")
    fails[0] = False
    saver.delete_for_runs(["second run"])
    assert ran == ["good"]
    assert graph.invoke(None, by("third run")) == {"log": ["first", "bad", "good"]}
    assert ran == ["good", "good"]


def test_a_thread_stands_where_it_stood_before_a_deleted_run(saver: Any) -> None:
    graph = StateGraph(State).add_node("n", lambda state: {"log": ["n"]}).add_edge(START, "n").compile(saver)
    for number in range(3):
        graph.invoke({"log": [f"input {number}"]}, by(f"run {number}"))
    saver.delete_for_runs(["run 2"])
    assert graph.get_state(by("any")).values == {"log": ["input 0", "n", "input 1", "n"]}
    assert graph.invoke({"log": ["again"]}, by("run 3"))["log"][-2:] == ["again", "n"]
