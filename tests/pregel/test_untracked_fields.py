"""Fields that are never stored: a client, a lock or an open file in the state keeps no run from being saved."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from checkpoint.savers import open_saver
from stepgraph.channels import UntrackedValue
from stepgraph.graph import START, StateGraph
from stepgraph.types import Command, Send, interrupt

from .both import Face, each_driver, thread

pytestmark = [each_driver, pytest.mark.parametrize("durability", ["sync", "async", "exit"])]


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    client: Annotated[Any, UntrackedValue]


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with open_saver(request.param, tmp_path) as face:
        yield face.saver


def connect(state: State) -> Any:
    return {"client": threading.Lock(), "log": ["connected"]}


def use(state: State) -> Any:
    return {"log": ["used" if "client" in state else "no client"]}


def test_later_nodes_see_it_and_the_saver_does_not(saver: Any, driver: str, durability: Any) -> None:
    builder = (
        StateGraph(State)
        .add_node(connect)
        .add_node(use)
        .add_node("beside", lambda state: {"log": ["beside"]})
    )
    builder.add_edge(START, "connect").add_edge(START, "beside").add_edge(["connect", "beside"], "use")
    graph = Face(builder.compile(saver), driver)
    assert graph.invoke({}, thread(), durability=durability)["log"] == ["beside", "connected", "used"]
    assert graph.get_state(thread()).values == {"log": ["beside", "connected", "used"]}


def test_it_may_come_with_the_input_in_a_send_and_from_a_command(
    saver: Any, driver: str, durability: Any
) -> None:
    def fan(state: State) -> Command[Any]:
        lock = threading.Lock()
        return Command(update={"client": lock}, goto=[Send("use", {"client": lock, "log": []})] * 2)

    builder = StateGraph(State).add_node("first", use).add_node(fan).add_node(use)
    graph = Face(builder.add_edge(START, "first").add_edge("first", "fan").compile(saver), driver)
    found = graph.invoke({"client": threading.Lock()}, thread(), durability=durability)
    assert found["log"] == ["used", "used", "used"]
    assert graph.get_state(thread()).values == {"log": ["used", "used", "used"]}


def test_a_node_that_wrote_nothing_else_is_not_repeated(saver: Any, driver: str, durability: Any) -> None:
    """It finished beside a node that asks; after the answer the field is empty, as in every run that goes on."""
    ran: list[str] = []

    def only_connect(state: State) -> Any:
        ran.append("connect")
        return {"client": threading.Lock()}

    def ask(state: State) -> Any:
        return {"log": [interrupt("go on?")]}

    builder = StateGraph(State).add_node(only_connect).add_node(ask).add_node(use)
    builder.add_edge(START, "only_connect").add_edge(START, "ask").add_edge(["only_connect", "ask"], "use")
    graph = Face(builder.compile(saver), driver)
    graph.invoke({}, thread(), durability=durability)
    assert graph.invoke(Command(resume="yes"), thread(), durability=durability) == {
        "log": ["yes", "no client"]
    }
    assert ran == ["connect"]


def test_a_nested_graph_keeps_it_to_itself(saver: Any, driver: str, durability: Any) -> None:
    child = (
        StateGraph(State)
        .add_node(connect)
        .add_node(use)
        .add_edge(START, "connect")
        .add_edge("connect", "use")
    )
    builder = StateGraph(State).add_node("child", child.compile()).add_node(use)
    graph = Face(builder.add_edge(START, "child").add_edge("child", "use").compile(saver), driver)
    found = graph.invoke({}, thread(), durability=durability)
    assert found["log"] == ["connected", "used", "used"]
    assert graph.get_state(thread()).values == {"log": ["connected", "used", "used"]}


def test_an_update_of_the_state_may_name_it(saver: Any, driver: str, durability: Any) -> None:
    graph = Face(StateGraph(State).add_node(use).add_edge(START, "use").compile(saver), driver)
    graph.invoke({}, thread(), durability=durability)
    graph.update_state(thread(), {"client": threading.Lock(), "log": ["updated"]}, as_node="use")
    assert graph.get_state(thread()).values == {"log": ["no client", "updated"]}
