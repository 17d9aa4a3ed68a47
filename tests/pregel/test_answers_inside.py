"""Answering a question at an old checkpoint inside a nested graph: that checkpoint is answered, whatever came later."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import UnknownInterruptError
from stepgraph.graph import START, StateGraph
from stepgraph.types import Command, interrupt

from .both import Face, each_driver, thread


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def say(text: str) -> Callable[[State], State]:
    return lambda state: {"log": [text]}


def ask(text: str) -> Callable[[State], State]:
    return lambda state: {"log": [f"{text}={interrupt(text)}"]}


def chain(saver: Any = None, **nodes: Any) -> Any:
    builder = StateGraph(State)
    before = START
    for name, node in nodes.items():
        builder.add_node(name, node).add_edge(before, name)
        before = name
    return builder.compile(saver)


def innermost(graph: Any, depth: int) -> Any:
    """The config of the paused graph at this depth."""
    state = graph.get_state(thread(), subgraphs=True)
    for _ in range(depth):
        state = next(task.state for task in state.tasks if task.interrupts)
    return state.config


@each_driver
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_question_inside_is_answered_again_after_the_thread_went_on(driver: str, depth: int) -> None:
    nested = chain(a=say("a"), b=ask("b"), c=say("c"))
    for _ in range(depth - 1):
        nested = chain(inside=nested)
    graph = Face(chain(InMemorySaver(), child=nested, z=say("z")), driver)
    graph.invoke({"log": []}, thread())
    inside = innermost(graph, depth)
    assert graph.invoke(Command(resume=1), thread())["log"] == ["a", "b=1", "c", "z"]
    assert graph.invoke(Command(resume=2), inside)["log"] == ["a", "b=2", "c", "z"]
    assert graph.get_state(thread()).values["log"] == ["a", "b=2", "c", "z"]


@each_driver
def test_an_earlier_question_of_a_child_that_waits_with_a_later_one(driver: str) -> None:
    nested = chain(p=ask("p"), q=ask("q"), r=say("r"))
    graph = Face(chain(InMemorySaver(), child=nested, z=say("z")), driver)
    graph.invoke({"log": []}, thread())
    first = innermost(graph, 1)
    graph.invoke(Command(resume=1), thread())
    asked = graph.invoke(Command(resume=2), first)["__interrupt__"]
    assert [question.value for question in asked] == ["q"]
    assert graph.invoke(Command(resume=3), thread())["log"] == ["p=2", "q=3", "r", "z"]


@each_driver
def test_one_answer_is_for_the_graph_that_the_config_names_though_others_wait(driver: str) -> None:
    child = chain(b=ask("b"), c=say("c"))
    builder = StateGraph(State).add_node("child", child).add_node("other", ask("other"))
    graph = Face(builder.add_edge(START, "child").add_edge(START, "other").compile(InMemorySaver()), driver)
    graph.invoke({"log": []}, thread())
    inside = next(task.state for task in graph.get_state(thread(), subgraphs=True).tasks if task.state).config
    with pytest.raises(UnknownInterruptError):
        graph.invoke(Command(resume=1), thread())
    asked = graph.invoke(Command(resume=1), inside)["__interrupt__"]
    assert [question.value for question in asked] == ["other"]
    assert graph.invoke(Command(resume=2), thread())["log"] == ["b=1", "c", "other=2"]
