"""What a node may return, and what becomes of it."""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from tests.pregel.both import Face, each_driver

from stepgraph.errors import InvalidUpdateError
from stepgraph.graph import END, START, StateGraph
from stepgraph.types import Command, Send
from stepgraph.warnings import LostEditWarning, UnknownStateKeyWarning


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    word: str


@dataclass
class Update:
    word: str
    unknown: int = 0


class Row(NamedTuple):
    word: str


def outcome(result: Any, driver: str = "sync", **nodes: Any) -> Any:
    """What a graph answers whose one node returns `result`."""
    builder = StateGraph(State).add_node("n", lambda state: result).add_edge(START, "n")
    for name in ("m", *nodes):
        builder.add_node(name, lambda state: {"log": ["m"]})
    return Face(builder.compile(), driver).invoke({"log": ["in"]})


@each_driver
@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (None, {"log": ["in"]}),
        ({}, {"log": ["in"]}),
        ({"word": "w"}, {"log": ["in"], "word": "w"}),
        (Update("w"), {"log": ["in"], "word": "w"}),
        (Row("w"), {"log": ["in"], "word": "w"}),
        (Command(update={"log": ["c"]}), {"log": ["in", "c"]}),
        (Command(update=[("log", ["1"]), ("log", ["2"])]), {"log": ["in", "1", "2"]}),
        (Command(goto="m"), {"log": ["in", "m"]}),
        (Command(goto=END), {"log": ["in"]}),
        (Command(goto=["m", Send("m", {})]), {"log": ["in", "m", "m"]}),
        (Send("m", {}), {"log": ["in", "m"]}),
        ([Send("m", {}), {"log": ["n"]}], {"log": ["in", "n", "m"]}),
        ([{"log": ["1"]}, {"log": ["2"]}, Command(goto="m")], {"log": ["in", "1", "2", "m"]}),
        ((), {"log": ["in"]}),
    ],
)
def test_forms_of_results(result: Any, expected: Any, driver: str) -> None:
    assert outcome(result, driver) == expected


@pytest.mark.parametrize("result", [5, "text", 1.5, object()])
def test_anything_else_is_refused_with_type_and_node(result: Any) -> None:
    with pytest.raises(
        InvalidUpdateError, match=rf"Expected dict, got .*node 'n'.*returned a {type(result).__name__}"
    ):
        outcome(result)


def test_a_key_that_no_schema_knows_is_reported_with_the_nearest_field() -> None:
    with pytest.warns(UnknownStateKeyWarning, match=r"'n'.*'wrod'.*Did you mean 'word'"):
        assert outcome({"wrod": 1}) == {"log": ["in"]}


def test_an_unknown_goto_names_the_nodes_and_the_nearest() -> None:
    with pytest.raises(InvalidUpdateError, match=r"'reviw'.*Did you mean 'review'\?.*'review'"):
        outcome(Command(goto="reviw"), review=None)


def test_the_text_end_is_answered_with_the_import() -> None:
    with pytest.raises(InvalidUpdateError, match=r"import END"):
        outcome(Command(goto="END"))


def test_a_send_to_an_unknown_node_is_refused() -> None:
    with pytest.raises(InvalidUpdateError, match=r"'nobody', which is no node"):
        outcome(Send("nobody", {}))


def test_a_command_for_a_parent_at_a_root_is_refused() -> None:
    with pytest.raises(InvalidUpdateError, match=r"Command\(graph=Command\.PARENT\).*no parent"):
        outcome(Command(graph=Command.PARENT, update={"log": ["x"]}))


def test_an_append_without_a_return_is_lost_and_said_so() -> None:
    def node(state: State) -> None:
        state["log"].append("lost")

    graph = StateGraph(State).add_node("n", node).add_edge(START, "n").compile()
    given = {"log": ["in"]}
    with pytest.warns(LostEditWarning, match=r"'n'.*state\['log'\]"):
        assert graph.invoke(given) == {"log": ["in"]}
    assert given == {"log": ["in"]}


def test_an_append_that_is_returned_is_no_lost_edit() -> None:
    class Plain(TypedDict):
        items: list[str]

    def node(state: Plain) -> Plain:
        state["items"].append("kept")
        return {"items": state["items"]}

    graph = StateGraph(Plain).add_node("n", node).add_edge(START, "n").compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert graph.invoke({"items": ["in"]}) == {"items": ["in", "kept"]}


def test_sends_do_not_reach_each_other_through_one_argument() -> None:
    shared = {"items": ["x"]}
    seen: list[int] = []

    def node(state: Any) -> None:
        state["items"].append("y")
        seen.append(len(state["items"]))

    builder = StateGraph(State).add_node("n", node)
    builder.add_conditional_edges(START, lambda state: [Send("n", shared), Send("n", shared)], ["n"])
    builder.compile().invoke({"log": []})
    assert seen == [2, 2]
    assert shared == {"items": ["x"]}
