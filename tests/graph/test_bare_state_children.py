"""A compiled graph of one bare value as a node of another."""

from __future__ import annotations

import operator
from typing import Annotated, Any

from stepgraph.graph import START, StateGraph
from stepgraph.types import Command


def chain(state: Any, *nodes: tuple[str, Any]) -> Any:
    builder = StateGraph(state)
    before = START
    for name, action in nodes:
        builder.add_node(name, action)
        builder.add_edge(before, name)
        before = name
    return builder.compile()


def test_the_childs_value_becomes_the_parents() -> None:
    child = chain(int, ("n", lambda value: value + 1))
    assert chain(int, ("k", child), ("m", lambda value: value * 10)).invoke(1) == 20


def test_the_childs_value_is_folded_by_the_parents_reducer() -> None:
    numbers = Annotated[list, operator.add]
    child = chain(numbers, ("n", lambda value: [len(value)]))
    assert chain(numbers, ("k", child)).invoke([1]) == [1, 1, 1]


def test_what_the_child_hands_up_is_the_parents_value() -> None:
    child = chain(int, ("n", lambda value: Command(graph=Command.PARENT, update=value + 5)))
    assert chain(int, ("k", child), ("m", lambda value: value * 10)).invoke(1) == 60
