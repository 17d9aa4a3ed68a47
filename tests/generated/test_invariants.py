"""The engine's invariants hold after every superstep of generated programs, and a broken one is found."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from hypothesis import given

from stepgraph.pregel import invariants, opening

from .checks import finished
from .programs import Program
from .strategies import Limits, programs

CALM = Limits(parallel_parent_commands=False)


@pytest.fixture(autouse=True, scope="module")
def checking() -> Any:
    """Let every run check itself."""
    before, opening.CHECK_INVARIANTS = opening.CHECK_INVARIANTS, True
    yield
    opening.CHECK_INVARIANTS = before


@given(programs(CALM))
def test_they_hold_with_a_saver(program: Program) -> None:
    assert "BrokenInvariantError" not in [turn.error for turn in finished(program).turns]


@given(programs(CALM))
def test_they_hold_for_asynchronous_runs(program: Program) -> None:
    run = finished(program, driver="ainvoke", colour="async")
    assert "BrokenInvariantError" not in [turn.error for turn in run.turns]


def test_a_broken_one_is_named_with_its_number_and_place() -> None:
    from stepgraph.graph import START, StateGraph

    class Holding(TypedDict, total=False):
        items: list[int]

    def break_it(state: dict[str, Any]) -> dict[str, Any]:
        from stepgraph.pregel.task import current_task

        task = current_task()
        assert task is not None
        task.machine.containers.discard("items")
        return {}

    builder = StateGraph(Holding).add_node("a", break_it).add_node("b", lambda state: {})
    graph = builder.add_edge(START, "a").add_edge("a", "b").compile()
    with pytest.raises(invariants.BrokenInvariantError, match=r"Invariant 2 .*step 1 of graph 'LangGraph'"):
        graph.invoke({"items": [1]})
