"""`compile(strict_serde=True)`: of a store, only the classes that the graph's schemas name come back as objects."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pytest

from stepgraph.checkpoint.serde.base import SerializerProtocol
from stepgraph.checkpoint.serde.policy import PlainDataWarning
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.graph import START, StateGraph
from stepgraph.types import Command, Send, interrupt

pytestmark = pytest.mark.filterwarnings("ignore::stepgraph.checkpoint.serde.policy.NotRestorableWarning")
THREAD: Any = {"configurable": {"thread_id": "1"}}


@dataclass
class Named:
    number: int


@dataclass
class Unnamed:
    number: int


@dataclass
class Sent:
    number: int


class State(TypedDict, total=False):
    named: Named
    loose: Any


class Outer(TypedDict, total=False):
    kinds: list[str]


class Argument(TypedDict):
    sent: Sent


def fills(state: State) -> State:
    return {"named": Named(1), "loose": Unnamed(2)}


def asks(state: State) -> State:
    kinds = [type(state["named"]).__name__, type(state["loose"]).__name__]
    interrupt(kinds)
    return {"loose": kinds}


def declared() -> StateGraph[Any]:
    return StateGraph(State).add_sequence([fills, asks]).add_edge(START, "fills")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "threads.db")


def resumed(build: Any, path: str) -> Any:
    """Start a graph, and resume it over another connection, as another process would."""
    with SqliteSaver.from_conn_string(path) as saver:
        build(saver).invoke({}, THREAD)
    with SqliteSaver.from_conn_string(path) as saver, warnings.catch_warnings():
        warnings.simplefilter("ignore", PlainDataWarning)
        return build(saver).invoke(Command(resume="go"), THREAD)


def test_a_class_that_no_schema_names_comes_back_as_plain_data(path: str) -> None:
    out = resumed(lambda saver: declared().compile(saver, strict_serde=True), path)
    assert out["loose"] == ["Named", "dict"]


def test_without_it_any_loaded_class_of_a_known_kind_comes_back(path: str) -> None:
    assert resumed(lambda saver: declared().compile(saver), path)["loose"] == ["Named", "Unnamed"]


def test_it_holds_for_a_saver_that_a_copy_gets_later(path: str) -> None:
    graph = declared().compile(strict_serde=True)
    assert resumed(lambda saver: graph.copy({"checkpointer": saver}), path)["loose"] == ["Named", "dict"]


@pytest.mark.parametrize("called", [False, True])
def test_schemas_of_graphs_inside_and_of_nodes_count(path: str, called: bool) -> None:
    inner = declared().compile()

    def calls(state: Outer) -> Outer:
        inner.invoke({})
        return {}

    def takes(argument: Argument) -> Outer:
        interrupt("wait")
        return {"kinds": [type(argument["sent"]).__name__]}

    builder = StateGraph(Outer).add_node("inner", calls if called else inner).add_node(takes)
    builder.add_edge(START, "inner")
    builder.add_conditional_edges(START, lambda state: [Send("takes", {"sent": Sent(1)})], ["takes"])
    with SqliteSaver.from_conn_string(path) as saver:
        builder.compile(saver, strict_serde=True).invoke({"kinds": []}, THREAD)
    with SqliteSaver.from_conn_string(path) as saver:
        graph = builder.compile(saver, strict_serde=True)
        waiting = graph.get_state(THREAD).interrupts
        out = graph.invoke(Command(resume={asked.id: "go" for asked in waiting}), THREAD)
    assert out == {"kinds": ["Sent"]}


def test_a_serializer_that_cannot_be_strict_is_refused_at_once(path: str) -> None:
    class Own(SerializerProtocol):
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return "own", b""

        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            return None

    import sqlite3

    saver = SqliteSaver(sqlite3.connect(":memory:"), serde=Own())
    with pytest.raises(TypeError, match=r"has a Own, which has no as_strict\(\)"):
        declared().compile(saver, strict_serde=True)
