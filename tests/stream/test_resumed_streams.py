"""What a stream shows at a pause and at the resume after it, from one body for `stream` and `astream`."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import START, StateGraph
from stepgraph.types import Command, interrupt

THREAD = {"configurable": {"thread_id": "1"}}
Parts = Callable[..., list[Any]]


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


class Plain(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    word: str


def node(name: str) -> Any:
    return lambda state: {"log": [name]}


def asking(state: State) -> Any:
    return {"log": [interrupt("go on?")]}


def quiet(state: State) -> None:
    return None


def beside(**nodes: Any) -> StateGraph[Any]:
    """A graph whose nodes all run in the first superstep."""
    builder: StateGraph[Any] = StateGraph(Plain)
    for name, function in nodes.items():
        builder.add_node(name, function).add_edge(START, name)
    return builder


@pytest.fixture(params=["stream", "astream"])
def parts(request: pytest.FixtureRequest) -> Parts:
    def run(graph: Any, input: Any, mode: Any, **options: Any) -> list[Any]:
        if request.param == "stream":
            return list(graph.stream(input, THREAD, stream_mode=mode, **options))

        async def gathered() -> list[Any]:
            return [part async for part in graph.astream(input, THREAD, stream_mode=mode, **options)]

        return asyncio.run(gathered())

    return run


@pytest.mark.parametrize("levels", [1, 2])
def test_a_breakpoint_of_a_graph_inside_is_shown_once_by_the_root(parts: Parts, levels: int) -> None:
    graph: Any = beside(a=node("a")).compile(interrupt_before=["a"])
    for _ in range(levels):
        graph = beside(inner=graph).compile(InMemorySaver() if _ == levels - 1 else None)
    assert parts(graph, {"log": []}, "updates", subgraphs=True) == [((), {"__interrupt__": ()})]


def test_the_first_checkpoint_of_a_resume_tells_what_its_tasks_asked_and_did(parts: Parts) -> None:
    graph = beside(asks=asking, done=node("done"), quiet=quiet).compile(InMemorySaver())
    question = graph.invoke({"log": []}, THREAD)["__interrupt__"][0]
    first = parts(graph, Command(resume="yes"), "checkpoints")[0]
    asks, done, silent = sorted(first["tasks"], key=lambda task: task["name"])
    assert [asked["id"] for asked in asks["interrupts"]] == [question.id]
    assert "result" not in asks
    assert (done["interrupts"], done["result"]) == ((), {"log": ["done"]})
    assert "result" not in silent


def test_results_of_before_come_after_the_starts_of_all_tasks(parts: Parts) -> None:
    graph = beside(asks=asking, done=node("done")).compile(InMemorySaver())
    graph.invoke({"log": []}, THREAD)
    shown = parts(graph, Command(resume="yes"), ["tasks", "updates"])
    assert [(mode, part.get("name") or sorted(part)) for mode, part in shown[:3]] == [
        ("tasks", "asks"),
        ("tasks", "done"),
        ("updates", ["__metadata__", "done"]),
    ]


def test_a_paused_graph_inside_shows_no_state_that_it_has_not_reached(parts: Parts) -> None:
    inner = beside(asks=asking, done=node("done")).compile()
    shown = parts(beside(inner=inner).compile(InMemorySaver()), {"log": ["in"]}, "values", subgraphs=True)
    inside = [value for namespace, value in shown if namespace]
    assert [value["log"] for value in inside] == [["in"], ["in"]]
    assert "__interrupt__" in inside[-1]


@pytest.mark.parametrize("word", ["same", "other"])
def test_results_that_cannot_be_joined_do_not_spoil_the_pause_of_a_graph_inside(
    parts: Parts, word: str
) -> None:
    def one(state: Plain) -> Plain:
        return {"word": "same"}

    def two(state: Plain) -> Plain:
        return {"word": word}

    graph = beside(inner=beside(asks=asking, one=one, two=two).compile()).compile(InMemorySaver())
    assert "__interrupt__" in parts(graph, {"log": []}, "values")[-1]


def test_a_paused_run_answers_its_output_also_where_nothing_was_written() -> None:
    graph = beside(asks=asking).compile(InMemorySaver())
    assert sorted(graph.invoke({"word": "w"}, THREAD)) == ["__interrupt__", "log", "word"]


def test_with_exit_a_checkpoint_is_shown_on_the_one_that_it_is_stored_on(parts: Parts) -> None:
    builder: StateGraph[Any] = StateGraph(State).add_sequence([("a", node("a")), ("b", node("b"))])
    graph = builder.add_edge(START, "a").compile(InMemorySaver())
    shown = parts(graph, {"log": []}, "checkpoints", durability="exit")
    assert [part["parent_config"] for part in shown] == [None] * 4
    again = parts(graph, {"log": []}, "checkpoints", durability="exit")
    stored = shown[-1]["config"]["configurable"]["checkpoint_id"]
    assert {part["parent_config"]["configurable"]["checkpoint_id"] for part in again} == {stored}
