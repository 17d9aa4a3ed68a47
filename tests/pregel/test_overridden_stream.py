"""`invoke` is seen by whoever overrides `stream`, or wraps it, as instrumentation does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from typing_extensions import TypedDict

from stepgraph.graph import START, StateGraph
from stepgraph.pregel import Pregel


class State(TypedDict, total=False):
    x: int
    hidden: int


class Output(TypedDict):
    x: int


def graph() -> Any:
    builder = StateGraph(State, output_schema=Output)
    return (
        builder.add_node("a", lambda state: {"x": state["x"] + 1, "hidden": 5}).add_edge(START, "a").compile()
    )


@pytest.mark.parametrize("driver", ["sync", "async"])
def test_a_wrapped_stream_sees_invocations_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    seen: list[Any] = []
    stream, astream = Pregel.stream, Pregel.astream

    def wrapped(self: Any, input: Any, *given: Any, **named: Any) -> Any:
        seen.append(input)
        return stream(self, input, *given, **named)

    def awrapped(self: Any, input: Any, *given: Any, **named: Any) -> Any:
        seen.append(input)
        return astream(self, input, *given, **named)

    before = run(graph(), driver)
    monkeypatch.setattr(Pregel, "stream", wrapped)
    monkeypatch.setattr(Pregel, "astream", awrapped)
    assert run(graph(), driver) == before == {"x": 2}
    assert seen == [{"x": 1}]


def run(compiled: Any, driver: str) -> Any:
    return compiled.invoke({"x": 1}) if driver == "sync" else asyncio.run(compiled.ainvoke({"x": 1}))
