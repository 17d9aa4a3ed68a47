"""Retries, cached results and time limits of tasks: the same policies as those of nodes."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, TypedDict

import pytest

from stepgraph.cache.memory import InMemoryCache
from stepgraph.errors import NodeTimeoutError
from stepgraph.func import entrypoint, task
from stepgraph.graph import START, StateGraph
from stepgraph.runtime import get_runtime
from stepgraph.types import CachePolicy, Command, RetryPolicy, interrupt

from .conftest import Ways


class State(TypedDict):
    number: int


AT_ONCE = RetryPolicy(initial_interval=0.0001, jitter=False, retry_on=ConnectionError)


def test_a_failed_call_is_tried_again(ways: Ways) -> None:
    attempts: list[int] = []

    @ways.task(retry_policy=AT_ONCE)
    def flaky() -> str:
        attempts.append(get_runtime().execution_info.node_attempt)
        if len(attempts) < 3:
            raise ConnectionError("down")
        return "up"

    def flow(_: int) -> Any:
        return (yield flaky())

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == "up"
    assert attempts == [1, 2, 3]


def test_the_last_failure_reaches_the_caller(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task(retry_policy=[RetryPolicy(max_attempts=9, retry_on=KeyError), AT_ONCE])
    def broken() -> None:
        ran.append(1)
        raise ConnectionError(f"down {len(ran)}")

    def flow(_: int) -> Any:
        try:
            yield broken()
        except ConnectionError as error:
            return str(error)

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == "down 3"


def test_a_retried_task_calls_its_tasks_anew(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task
    def draw() -> int:
        ran.append(len(ran))
        return ran[-1]

    def body() -> Any:
        drawn = yield draw()
        if drawn == 0:
            raise ConnectionError("again")
        return drawn

    outer = task(ways.flow(body), retry_policy=AT_ONCE)

    def flow(_: int) -> Any:
        return (yield outer())

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == 1


def test_a_pause_is_not_tried_again(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task(retry_policy=RetryPolicy(initial_interval=0.0001, retry_on=lambda error: True))
    def ask() -> Any:
        ran.append(1)
        return interrupt("?")

    def flow(_: int) -> Any:
        return (yield ask())

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, 1, thread)
    assert ways.invoke(graph, Command(resume=2), thread) == 2
    assert len(ran) == 2


def test_a_result_is_reused_for_the_same_arguments(ways: Ways) -> None:
    ran: list[Any] = []

    @ways.task(cache_policy=CachePolicy())
    def add(first: int, *, second: int = 0) -> int:
        ran.append((first, second))
        return first + second

    def flow(number: int) -> Any:
        return [(yield add(number)), (yield add(number, second=1)), (yield add(number))]

    cache = InMemoryCache[Any]()
    graph = ways.entrypoint(flow, cache=cache)
    assert ways.invoke(graph, 1, ways.thread()) == [1, 2, 1]
    assert ways.invoke(graph, 1, ways.thread()) == [1, 2, 1]
    assert ran == [(1, 0), (1, 1)]
    add.clear_cache(cache)
    ways.invoke(graph, 1, ways.thread())
    assert len(ran) == 4
    asyncio.run(add.aclear_cache(cache))
    ways.invoke(graph, 1, ways.thread())
    assert len(ran) == 6


def test_the_key_function_gets_the_arguments_of_the_call(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task(cache_policy=CachePolicy(key_func=lambda number, scale=1: str(number % 10)))
    def work(number: int, scale: int = 1) -> int:
        ran.append(number)
        return number * scale

    def flow(number: int) -> Any:
        return (yield work(number, scale=2))

    graph = ways.entrypoint(flow, cache=InMemoryCache())
    assert [ways.invoke(graph, number, ways.thread()) for number in (3, 13, 4)] == [6, 6, 8]
    assert ran == [3, 4]


def test_a_cached_call_says_so_in_the_stream(ways: Ways) -> None:
    @ways.task(cache_policy=CachePolicy())
    def double(number: int) -> int:
        return number * 2

    def flow(number: int) -> Any:
        return (yield double(number))

    graph = ways.entrypoint(flow, cache=InMemoryCache())
    assert ways.stream(graph, 1, ways.thread()) == [{"double": 2}, {"flow": 2}]
    assert ways.stream(graph, 1, ways.thread()) == [
        {"double": 2, "__metadata__": {"cached": True}},
        {"flow": 2},
    ]


def test_tasks_of_a_graph_use_the_cache_of_the_graph(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task(cache_policy=CachePolicy())
    def double(number: int) -> int:
        ran.append(number)
        return number * 2

    def body(state: Any) -> Any:
        return {"number": (yield double(state["number"]))}

    graph = (
        StateGraph(State)
        .add_node("node", ways.flow(body))
        .add_edge(START, "node")
        .compile(ways.saver, cache=InMemoryCache())
    )
    assert [ways.invoke(graph, {"number": 2}, ways.thread())["number"] for _ in range(2)] == [4, 4]
    assert ran == [2]


def test_a_failure_is_not_cached(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task(cache_policy=CachePolicy())
    def flaky() -> str:
        ran.append(1)
        if len(ran) == 1:
            raise ValueError("once")
        return "ok"

    def flow(_: int) -> Any:
        try:
            return (yield flaky())
        except ValueError as error:
            return str(error)

    graph = ways.entrypoint(flow, cache=InMemoryCache())
    assert [ways.invoke(graph, 1, ways.thread()) for _ in range(3)] == ["once", "ok", "ok"]
    assert len(ran) == 2


def test_an_answer_is_not_cached(ways: Ways) -> None:
    @ways.task(cache_policy=CachePolicy())
    def ask() -> Any:
        return interrupt("?")

    def flow(_: int) -> Any:
        return (yield ask())

    graph = ways.entrypoint(flow, cache=InMemoryCache())
    for answer in ("first", "second"):
        thread = ways.thread()
        ways.invoke(graph, 1, thread)
        assert ways.invoke(graph, Command(resume=answer), thread) == answer


def test_a_coroutine_that_takes_too_long_is_cancelled() -> None:
    ended: list[str] = []

    @task(timeout=0.02)
    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    @entrypoint()
    async def flow(_: int) -> Any:
        try:
            await slow()
        except NodeTimeoutError as error:
            return error.node

    assert asyncio.run(flow.ainvoke(1)) == "slow"
    assert flow.invoke(1) == "slow"
    assert ended == ["cancelled", "cancelled"]


@pytest.mark.parametrize("driver", ["sync", "async"])
def test_a_function_that_takes_too_long_is_left_alone_and_its_result_ignored(driver: str) -> None:
    go_on, late = threading.Event(), threading.Event()

    @task(timeout=0.02)
    def slow() -> str:
        go_on.wait(20)
        late.set()
        return "late"

    @entrypoint()
    def flow(_: int) -> Any:
        try:
            return slow().result()
        except NodeTimeoutError:
            return "in time"

    ways = Ways(driver, "sync", "sync", None)
    parts = ways.stream(flow, 1)
    go_on.set()
    assert late.wait(20)
    assert parts == [{"flow": "in time"}]


def test_a_timeout_may_be_tried_again(ways: Ways) -> None:
    attempts: list[int] = []
    blocked = threading.Event()

    def work() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            blocked.wait(20)
        return "done"

    async def awork() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            await asyncio.sleep(60)
        return "done"

    policy = RetryPolicy(initial_interval=0.0001, max_attempts=50, jitter=False, retry_on=NodeTimeoutError)
    timed = task(work if ways.tasks == "sync" else awork, timeout=0.02, retry_policy=policy)

    def flow(_: int) -> Any:
        return (yield timed())

    out = ways.invoke(ways.entrypoint(flow), 1, ways.thread())
    blocked.set()
    assert out == "done"
    assert len(attempts) >= 2  # a busy machine may need more
