"""What the part of a finished task holds, in the mode `updates`."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from stepgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    shown: int
    hidden: int


class Output(TypedDict):
    shown: int


@pytest.mark.parametrize(
    ("result", "part"),
    [
        ({"shown": 1}, {"shown": 1}),
        ({"shown": 1, "hidden": 2}, {"shown": 1}),
        ({"hidden": 2}, None),
        ({}, None),
        (None, None),
    ],
)
def test_a_part_holds_what_the_output_channels_show(result: Any, part: Any) -> None:
    graph = StateGraph(State)
    graph.add_node("a", lambda state: result)
    graph.add_edge(START, "a")
    parts = list(graph.compile().stream({"shown": 0}, stream_mode="updates", output_keys=["shown"]))
    assert parts == [{"a": part}]


def test_changing_a_part_does_not_change_the_state() -> None:
    graph = StateGraph(State)
    graph.add_node("a", lambda state: {"shown": 1, "hidden": 2})
    graph.add_node("b", lambda state: {"hidden": state["shown"]})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    seen = []
    for mode, part in graph.compile().stream({"shown": 0}, stream_mode=["updates", "values"]):
        if mode == "updates":
            for chunk in part.values():
                seen.append(chunk.copy())
                chunk.clear()
    assert mode == "values"
    assert seen == [{"shown": 1, "hidden": 2}, {"hidden": 1}]
    assert part == {"shown": 1, "hidden": 1}
