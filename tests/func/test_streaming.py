"""What a stream shows of workflows and their calls, and when."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, TypedDict

import pytest

from stepgraph.func import entrypoint, task
from stepgraph.graph import START, StateGraph
from stepgraph.types import Command, interrupt

from .conftest import Ways


class State(TypedDict, total=False):
    number: int


def doubling(ways: Ways) -> tuple[Any, Any]:
    """A task and a workflow that calls it."""

    @ways.task
    def double(number: int, *, again: bool = False) -> int:
        return number * 2

    def flow(number: int) -> Any:
        return (yield double(number, again=True))

    return double, ways.entrypoint(flow)


def without_ids(parts: list[Any]) -> list[Any]:
    """The parts with `id` where an id stands."""
    return [(mode, {**part, "id": "id"} if mode == "tasks" else part) for mode, part in parts]


def test_updates_show_every_result_under_its_name(ways: Ways) -> None:
    _, graph = doubling(ways)
    assert ways.stream(graph, 2, ways.thread()) == [{"double": 4}, {"flow": 4}]


def test_values_show_the_output_alone(ways: Ways) -> None:
    _, graph = doubling(ways)
    assert ways.stream(graph, 2, ways.thread(), stream_mode="values") == [4]


def test_tasks_show_start_and_result_of_every_call(ways: Ways) -> None:
    _, graph = doubling(ways)
    parts = ways.stream(graph, 2, ways.thread(), stream_mode=["tasks", "updates", "values"])
    assert without_ids(parts) == [
        ("tasks", {"id": "id", "name": "flow", "input": 2, "triggers": ("__start__",)}),
        (
            "tasks",
            {"id": "id", "name": "double", "input": ((2,), {"again": True}), "triggers": ("__pregel_push",)},
        ),
        ("updates", {"double": 4}),
        (
            "tasks",
            {"id": "id", "name": "double", "error": None, "result": {"__return__": 4}, "interrupts": []},
        ),
        ("updates", {"flow": 4}),
        ("tasks", {"id": "id", "name": "flow", "error": None, "result": {"__end__": 4}, "interrupts": []}),
        ("values", 4),
    ]
    ids = [part["id"] for mode, part in parts if mode == "tasks"]
    assert ids[0] == ids[3]
    assert ids[1] == ids[2] != ids[0]


def test_debug_shows_calls_as_tasks_of_the_step(ways: Ways) -> None:
    _, graph = doubling(ways)
    parts = ways.stream(graph, 2, ways.thread(), stream_mode="debug")
    shown = [(p["type"], p["step"], p["payload"]["name"]) for p in parts if p["type"] != "checkpoint"]
    assert shown == [
        ("task", 0, "flow"),
        ("task", 0, "double"),
        ("task_result", 0, "double"),
        ("task_result", 0, "flow"),
    ]


def test_a_failed_call_shows_its_error(ways: Ways) -> None:
    error = ValueError("no")

    @ways.task
    def fail() -> None:
        raise error

    def flow(_: int) -> Any:
        try:
            yield fail()
        except ValueError:
            return "caught"

    parts = ways.stream(ways.entrypoint(flow), 1, ways.thread(), stream_mode=["tasks", "updates"])
    assert without_ids(parts)[2:] == [
        ("tasks", {"id": "id", "name": "fail", "error": error, "result": {}, "interrupts": []}),
        ("updates", {"flow": "caught"}),
        (
            "tasks",
            {"id": "id", "name": "flow", "error": None, "result": {"__end__": "caught"}, "interrupts": []},
        ),
    ]


def test_a_call_that_was_found_again_shows_its_start_alone(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def flow(number: int) -> Any:
        doubled = yield double(number)
        return doubled + interrupt("?")

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, 1, thread)
    parts = ways.stream(graph, Command(resume=1), thread, stream_mode=["tasks", "updates", "values"])
    shown = [(mode, part["name"], "result" in part) for mode, part in parts if mode == "tasks"]
    assert shown == [("tasks", "flow", False), ("tasks", "double", False), ("tasks", "flow", True)]
    assert [part for mode, part in parts if mode == "updates"] == [{"flow": 3}]
    assert [part for mode, part in parts if mode == "values"] == [None, 3]


def test_a_question_of_a_task_is_shown_once_as_its_callers(ways: Ways) -> None:
    @ways.task
    def ask() -> Any:
        return interrupt("?")

    def flow(_: int) -> Any:
        return (yield ask())

    parts = ways.stream(ways.entrypoint(flow), 1, ways.thread(), stream_mode=["tasks", "updates", "values"])
    asked = [part["__interrupt__"] for mode, part in parts if mode == "updates"]
    assert [[question.value for question in questions] for questions in asked] == [["?"]]
    results = [part for mode, part in parts if mode == "tasks" and "interrupts" in part]
    assert [(part["name"], [i["value"] for i in part["interrupts"]]) for part in results] == [("flow", ["?"])]


def test_a_nested_workflow_shows_its_calls_in_its_own_namespace(ways: Ways) -> None:
    _, inner = doubling(ways)

    @task
    def run_inner(number: int) -> Any:
        return inner.invoke(number)

    def outer(number: int) -> Any:
        return (yield run_inner(number))

    parts = ways.stream(ways.entrypoint(outer), 1, ways.thread(), subgraphs=True)
    shown = [([name.split(":")[0] for name in namespace], part) for namespace, part in parts]
    assert shown == [
        (["outer", "run_inner"], {"double": 2}),
        (["outer", "run_inner"], {"flow": 2}),
        ([], {"run_inner": 2}),
        ([], {"outer": 2}),
    ]


def waiting_flow(body_of: str) -> tuple[Any, Any, threading.Event]:
    """A graph whose node goes on only when the consumer has seen its task's result."""
    seen = threading.Event()

    @task
    def first() -> int:
        return 1

    def wait_for_consumer() -> None:
        assert seen.wait(20), "the consumer did not see the result while the node was at work"

    def sync_body(_: Any) -> Any:
        first().result()
        wait_for_consumer()
        return {"number": 2}

    async def async_body(_: Any) -> Any:
        await first()
        await asyncio.to_thread(wait_for_consumer)
        return {"number": 2}

    return first, (sync_body if body_of == "sync" else async_body), seen


@pytest.mark.parametrize("body", ["sync", "async"])
@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("kind", ["entrypoint", "node"])
def test_results_of_calls_arrive_while_their_caller_is_at_work(kind: str, driver: str, body: str) -> None:
    _, function, seen = waiting_flow(body)
    graph: Any = (
        entrypoint()(function)
        if kind == "entrypoint"
        else StateGraph(State).add_node("node", function).add_edge(START, "node").compile()
    )

    def sync_consumer() -> list[Any]:
        parts = []
        for part in graph.stream({"number": 1}, stream_mode="updates"):
            seen.set()
            parts.append(part)
        return parts

    async def async_consumer() -> list[Any]:
        parts = []
        async for part in graph.astream({"number": 1}, stream_mode="updates"):
            seen.set()
            parts.append(part)
        return parts

    parts = sync_consumer() if driver == "sync" else asyncio.run(async_consumer())
    assert parts[0] == {"first": 1}
    assert list(parts[1].values()) == [{"number": 2}]
