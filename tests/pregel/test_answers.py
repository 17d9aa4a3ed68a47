"""Which question an answer is for, and what happens to answers that come twice."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import UnknownInterruptError
from stepgraph.graph import START, StateGraph
from stepgraph.types import Command, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    log: Annotated[list[int], operator.add]


def asking_twice() -> Any:
    builder = StateGraph(State).add_node("ask", lambda state: {"log": [interrupt("a"), interrupt("b")]})
    return builder.add_edge(START, "ask").compile(InMemorySaver())


def test_an_id_that_its_node_got_an_answer_to_before_is_ignored_with_a_warning() -> None:
    graph = asking_twice()
    first = graph.invoke({}, THREAD)["__interrupt__"][0].id
    second = graph.invoke(Command(resume={first: 1}), THREAD)["__interrupt__"][0].id
    with pytest.warns(RuntimeWarning, match="answered before"):
        assert graph.invoke(Command(resume={first: 99, second: 2}), THREAD) == {"log": [1, 2]}


def test_an_id_that_was_never_asked_is_refused() -> None:
    graph = asking_twice()
    graph.invoke({}, THREAD)
    with pytest.raises(UnknownInterruptError, match="no question of this thread"):
        graph.invoke(Command(resume={"0" * 32: 1}), THREAD)


def test_a_question_of_a_child_that_a_person_edited_takes_the_answer_all_the_same() -> None:
    child = StateGraph(State).add_node("ask", lambda state: {"log": [interrupt("q"), len(state["log"])]})
    parent = StateGraph(State).add_node("child", child.add_edge(START, "ask").compile())
    parent.add_node("after", lambda state: {"log": [interrupt("other")]}).add_edge(START, "child")
    graph = parent.add_edge("child", "after").compile(InMemorySaver())
    graph.invoke({"log": [1]}, THREAD)
    paused = graph.get_state(THREAD, subgraphs=True).tasks[0].state
    graph.update_state(paused.config, {"log": [7]})
    output = graph.invoke(Command(resume=5), THREAD)
    assert output["log"] == [1, 1, 7, 5, 2]
    assert [question.value for question in output["__interrupt__"]] == ["other"]
