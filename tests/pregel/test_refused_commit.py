"""A superstep whose commit is refused fails that run; the node that wrote what was refused runs again at the next try."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from postgres_server import database
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.errors import InvalidUpdateError
from stepgraph.graph import START, StateGraph
from stepgraph.types import Command, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


def only_good(old: list[str], added: list[str]) -> list[str]:
    if "bad" in added:
        raise ValueError("refused")
    return old + added


class State(TypedDict, total=False):
    log: Annotated[list[str], only_good]
    ran: Annotated[list[str], operator.add]
    one: int


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver(request: Any, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
    elif request.param == "postgres":
        with database() as url:
            from stepgraph.checkpoint.postgres import PostgresSaver

            with PostgresSaver.from_conn_string(url) as opened:
                yield opened
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as opened:
            yield opened


def test_a_lone_node_whose_write_is_refused_is_still_due_and_runs_again(saver: Any) -> None:
    tries = iter(["bad", "good"])
    builder = StateGraph(State).add_node("write", lambda state: {"log": [next(tries)]})
    graph = builder.add_edge(START, "write").compile(saver)
    with pytest.raises(ValueError, match="refused"):
        graph.invoke({"log": ["first"]}, THREAD)
    paused = graph.get_state(THREAD)
    assert (paused.next, paused.values) == (("write",), {"log": ["first"], "ran": []})
    assert graph.invoke(None, THREAD) == {"log": ["first", "good"], "ran": []}


def test_of_parallel_nodes_only_the_one_to_blame_runs_again_with_a_saver_in_memory() -> None:
    tries = iter(["bad", "good"])
    ran: list[str] = []

    def write(state: State) -> State:
        ran.append("write")
        return {"log": [next(tries)]}

    def beside(state: State) -> State:
        ran.append("beside")
        return {"ran": ["beside"]}

    builder = StateGraph(State).add_node(write).add_node(beside)
    graph = builder.add_edge(START, "write").add_edge(START, "beside").compile(InMemorySaver())
    with pytest.raises(ValueError, match="refused"):
        graph.invoke({"log": []}, THREAD)
    assert graph.get_state(THREAD).next == ("write",)
    assert graph.invoke(None, THREAD) == {"log": ["good"], "ran": ["beside"]}
    assert sorted(ran) == ["beside", "write", "write"]


def test_nodes_whose_writes_conflict_run_again_with_a_saver_in_memory() -> None:
    values = iter([{"one": 1}, {"one": 2}, {"one": 3}, {}])
    builder = (
        StateGraph(State).add_node("a", lambda state: next(values)).add_node("b", lambda state: next(values))
    )
    graph = builder.add_edge(START, "a").add_edge(START, "b").compile(InMemorySaver())
    with pytest.raises(InvalidUpdateError, match="only one value per step"):
        graph.invoke({"log": []}, THREAD)
    assert graph.get_state(THREAD).next == ("a", "b")
    assert graph.invoke(None, THREAD)["one"] == 3


def test_an_update_beside_an_answer_that_is_refused_stores_nothing(saver: Any) -> None:
    def asks(state: State) -> State:
        return {"log": [interrupt("which?")]}

    graph = StateGraph(State).add_node(asks).add_edge(START, "asks").compile(saver)
    graph.invoke({"log": ["first"]}, THREAD)
    with pytest.raises(ValueError, match="refused"):
        graph.invoke(Command(resume="good", update={"log": ["bad"]}), THREAD)
    assert graph.get_state(THREAD).interrupts[0].value == "which?"
    out = graph.invoke(Command(resume="good", update={"log": ["better"]}), THREAD)
    assert out == {"log": ["first", "better", "good"], "ran": []}
