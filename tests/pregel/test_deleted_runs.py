"""`delete_for_runs` on what the engine stored."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from pathlib import Path
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
            raise OSError("no network")
        return {"log": ["bad"]}

    builder = StateGraph(State).add_node("first", lambda state: {"log": ["first"]})
    builder.add_node("1 good", good).add_node("2 bad", bad)
    builder.add_edge(START, "first").add_edge("first", "1 good").add_edge("first", "2 bad")
    graph = builder.compile(saver)
    graph.invoke({}, by("first run"), interrupt_before=["1 good", "2 bad"])
    with pytest.raises(OSError, match="no network"):
        graph.invoke(None, {**by("second run"), "max_concurrency": 1}, durability="sync")
    fails[0] = False
    saver.delete_for_runs(["second run"])
    assert ran == ["good"]
    assert graph.invoke(None, by("third run")) == {"log": ["first", "good", "bad"]}
    assert ran == ["good", "good"]


def test_a_thread_stands_where_it_stood_before_a_deleted_run(saver: Any) -> None:
    graph = StateGraph(State).add_node("n", lambda state: {"log": ["n"]}).add_edge(START, "n").compile(saver)
    for number in range(3):
        graph.invoke({"log": [f"input {number}"]}, by(f"run {number}"))
    saver.delete_for_runs(["run 2"])
    assert graph.get_state(by("any")).values == {"log": ["input 0", "n", "input 1", "n"]}
    assert graph.invoke({"log": ["again"]}, by("run 3"))["log"][-2:] == ["again", "n"]


@pytest.mark.parametrize("where", ["metadata", "configurable"])
def test_a_run_that_is_named_in_the_metadata_is_deleted_by_that_name(saver: Any, where: str) -> None:
    """What the metadata of its checkpoints shows as `run_id` is the run's name, wherever the config says it."""
    graph = StateGraph(State).add_node("n", lambda state: {"log": ["n"]}).add_edge(START, "n").compile(saver)
    graph.invoke({"log": ["kept"]}, by("run 1"))
    config: Any = {"configurable": {"thread_id": "1"}}
    config.setdefault(where, {})["run_id"] = "run 2"
    graph.invoke({"log": ["deleted"]}, config)
    assert graph.get_state(by("any")).metadata["run_id"] == "run 2"
    saver.delete_for_runs(["run 2"])
    assert graph.get_state(by("any")).values == {"log": ["kept", "n"]}


def test_the_id_of_a_run_counts_before_a_name_in_its_metadata(saver: Any) -> None:
    graph = StateGraph(State).add_node("n", lambda state: {"log": ["n"]}).add_edge(START, "n").compile(saver)
    graph.invoke({"log": ["x"]}, {**by("run 1"), "metadata": {"run_id": "job"}})
    saver.delete_for_runs(["job"])
    assert graph.get_state(by("any")).values == {"log": ["x", "n"]}
    saver.delete_for_runs(["run 1"])
    assert graph.get_state(by("any")).values == {}
