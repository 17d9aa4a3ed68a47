"""Parallel tasks that share a nested graph's memory take turns in the order of their paths."""

from __future__ import annotations

import operator
import time
from typing import Annotated, Any, TypedDict

import pytest
from tests.pregel.both import Face, each_driver, thread

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import START, StateGraph
from stepgraph.types import Send


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def remember(state: State) -> State:
    time.sleep(0.002 * (5 - state["log"][-1]))
    return {}


def memory() -> Any:
    builder = StateGraph(State).add_node("remember", remember).add_edge(START, "remember")
    return builder.compile(checkpointer=True)


def sends(state: State) -> list[Send]:
    return [Send("child", {"log": [number]}) for number in range(5)]


@each_driver
@pytest.mark.parametrize("called", ["as a node", "by a function", "two levels down"])
def test_they_add_to_one_history_in_order(driver: str, called: str) -> None:
    child = memory()
    if called == "by a function":
        action: Any = lambda state: child.invoke(state)  # noqa: E731
    elif called == "two levels down":
        middle = StateGraph(State).add_node("inner", child).add_edge(START, "inner")
        action = middle.compile()
    else:
        action = child
    builder = StateGraph(State).add_node("child", action)
    saver = InMemorySaver()
    graph = builder.add_conditional_edges(START, sends, ["child"]).compile(checkpointer=saver)
    Face(graph, driver).invoke({"log": []}, thread())
    namespace = "child|inner" if called == "two levels down" else "child"
    newest = saver.get_tuple(thread(checkpoint_ns=namespace))
    assert newest is not None
    assert newest.checkpoint["channel_values"]["log"] == [0, 1, 2, 3, 4]
