"""Runs on threads that expire."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Annotated, Any, TypedDict

import pytest

from checkpoint.savers import open_saver
from checkpoint.test_ttl import LONG, SHORT, over
from stepgraph.graph import START, StateGraph
from stepgraph.pregel.drivers import heart

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with open_saver(request.param, tmp_path) as face:
        yield face.saver


def a_graph(saver: Any, work: Any = lambda state: {"log": ["a"]}) -> Any:
    return StateGraph(State).add_node("a", work).add_edge(START, "a").compile(saver)


def run(graph: Any, use: str) -> Any:
    return graph.invoke({}, THREAD) if use == "invoke" else asyncio.run(graph.ainvoke({}, THREAD))


@pytest.mark.parametrize("use", ["invoke", "ainvoke"])
def test_a_run_on_an_expired_thread_begins_with_nothing(saver: Any, use: str) -> None:
    graph = a_graph(saver)
    saver.set_ttl(SHORT)
    run(graph, use)
    over()
    assert graph.get_state(THREAD).values == {}
    saver.set_ttl(LONG)
    assert run(graph, use) == {"log": ["a"]}
    assert run(graph, use) == {"log": ["a", "a"]}


def test_a_thread_lives_from_the_end_of_its_last_run(saver: Any) -> None:
    graph = a_graph(saver, lambda state: saver.set_ttl(SHORT) or {"log": ["a"]})
    saver.set_ttl(LONG)
    graph.invoke({}, THREAD)
    over()
    assert graph.get_state(THREAD).values == {}
    assert saver.sweep_ttl() == 1


@pytest.mark.parametrize("use", ["update_state", "aupdate_state"])
def test_an_update_lets_a_thread_live_on(saver: Any, use: str) -> None:
    graph = a_graph(saver)
    saver.set_ttl(SHORT)
    graph.invoke({}, THREAD)
    over()
    saver.set_ttl(LONG)
    if use == "update_state":
        graph.update_state(THREAD, {"log": ["edited"]}, as_node="a")
    else:
        asyncio.run(graph.aupdate_state(THREAD, {"log": ["edited"]}, as_node="a"))
    assert graph.get_state(THREAD).values == {"log": ["edited"]}
    assert saver.sweep_ttl() == 0


def test_a_thread_at_work_is_never_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1. A node is at work; 2. the time of its thread is over; 3. the heart of the run beats; 4. a sweep finds nothing."""
    monkeypatch.setattr(heart, "_BEATS", 1e6)
    with open_saver("sqlite", tmp_path) as face, open_saver("sqlite", tmp_path) as other:
        for one in (face, other):
            one.saver.set_ttl(LONG)

        def expires_at() -> float:
            with other.saver.cursor() as cursor:
                return float(cursor.execute("SELECT expires_at FROM stepgraph_threads").fetchone()[0])

        def work(state: State) -> State:
            with other.saver.cursor() as cursor:
                cursor.execute("UPDATE stepgraph_threads SET expires_at = 0")
            end = monotonic() + 20
            while expires_at() == 0:
                assert monotonic() < end, "the hold of the run was not renewed"
                sleep(0.005)
            assert other.saver.sweep_ttl() == 0
            return {"log": ["a"]}

        graph = a_graph(face.saver, work)
        assert graph.invoke({}, THREAD) == {"log": ["a"]}
        assert graph.get_state(THREAD).values == {"log": ["a"]}
