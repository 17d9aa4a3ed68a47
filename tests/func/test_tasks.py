"""`@task`: where calls run, how many at once, and what they answer."""

from __future__ import annotations

import asyncio
import operator
import threading
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.func import entrypoint, task
from stepgraph.graph import START, StateGraph
from stepgraph.pregel.drivers.calls import MAX_THREADS
from stepgraph.types import Send

from .conftest import Ways


class State(TypedDict, total=False):
    numbers: Annotated[list[int], operator.add]
    number: int


def one_node(node: Any, saver: Any = None) -> Any:
    """A graph of one node."""
    return StateGraph(State).add_node("node", node).add_edge(START, "node").compile(saver)


def test_a_call_answers_what_the_function_returns(ways: Ways) -> None:
    @ways.task
    def power(base: int, *, exponent: int = 2) -> int:
        return base**exponent

    def flow(base: int) -> Any:
        square = yield power(base)
        cube = yield power(base, exponent=3)
        return (square, cube)

    assert ways.invoke(ways.entrypoint(flow), 2, ways.thread()) == (4, 8)


def test_calls_work_without_a_saver(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def flow(number: int) -> Any:
        return (yield [double(number), double(number + 1)])

    assert ways.invoke(ways.entrypoint(flow, checkpointer=None), 1) == [2, 4]


def test_none_is_a_result(ways: Ways) -> None:
    @ways.task
    def nothing() -> None:
        return None

    def flow(_: int) -> Any:
        return [(yield nothing())]

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == [None]


def test_calls_of_a_node_run_in_graphs_too(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def body(state: State) -> Any:
        doubled = yield [double(number) for number in state["numbers"]]
        return {"numbers": doubled}

    graph = one_node(ways.flow(body), ways.saver)
    assert ways.invoke(graph, {"numbers": [1, 2]}, ways.thread()) == {"numbers": [1, 2, 2, 4]}


def test_every_send_has_calls_of_its_own(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def body(state: State) -> Any:
        return {"numbers": [(yield double(state["number"]))]}

    builder = StateGraph(State).add_node("node", ways.flow(body))
    builder.add_conditional_edges(START, lambda _: [Send("node", {"number": n}) for n in (1, 2, 3)], ["node"])
    assert ways.invoke(builder.compile(ways.saver), {"numbers": []}, ways.thread()) == {"numbers": [2, 4, 6]}


def test_tasks_call_tasks(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def twice(number: int) -> Any:
        once = yield double(number)
        return (yield double(once))

    outer = task(ways.flow(twice))

    def flow(number: int) -> Any:
        return (yield [outer(number), outer(number + 1)])

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == [4, 8]


def test_calls_are_at_work_at_the_same_time(ways: Ways) -> None:
    together = threading.Barrier(3, timeout=20)

    @task
    def meet(number: int) -> int:
        together.wait()
        return number

    def flow(_: int) -> Any:
        return (yield [meet(1), meet(2), meet(3)])

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == [1, 2, 3]


def test_coroutines_are_at_work_at_the_same_time(ways: Ways) -> None:
    arrived: list[int] = []

    @task
    async def meet(number: int) -> int:
        arrived.append(number)
        while len(arrived) < 3:
            await asyncio.sleep(0)
        return number

    def flow(_: int) -> Any:
        return (yield [meet(1), meet(2), meet(3)])

    assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == [1, 2, 3]


def test_more_calls_than_threads_all_run(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    def flow(count: int) -> Any:
        return (yield [double(number) for number in range(count)])

    count = 2 * MAX_THREADS + 3
    assert ways.invoke(ways.entrypoint(flow), count, ways.thread()) == [2 * n for n in range(count)]


def test_one_caller_has_a_bounded_number_of_threads() -> None:
    at_work, most, lock = [0], [0], threading.Lock()

    @task
    def work() -> None:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        threading.Event().wait(0.001)
        with lock:
            at_work[0] -= 1

    @entrypoint()
    def flow(count: int) -> int:
        return len([future.result() for future in [work() for _ in range(count)]])

    assert flow.invoke(3 * MAX_THREADS) == 3 * MAX_THREADS
    assert most[0] <= MAX_THREADS


def test_a_call_that_nobody_waits_for_ends_before_the_run(ways: Ways) -> None:
    ended: list[str] = []

    @ways.task
    def work() -> None:
        threading.Event().wait(0.02)
        ended.append("work")

    def flow(_: int) -> Any:
        work()
        return list(ended)
        yield

    ways.invoke(ways.entrypoint(flow), 1, ways.thread())
    assert ended == ["work"]


@pytest.mark.parametrize("limit", [1, 2])
def test_max_concurrency_bounds_calls_and_their_callers_hold_no_slot(ways: Ways, limit: int) -> None:
    at_work, most, lock = [0], [0], threading.Lock()

    @ways.task
    def work(number: int) -> int:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        threading.Event().wait(0.002)
        with lock:
            at_work[0] -= 1
        return number

    def several(first: int) -> Any:
        return (yield [work(first), work(first + 1)])

    group = task(ways.flow(several))

    def flow(_: int) -> Any:
        return (yield [work(0), group(1), group(3), work(5)])

    out = ways.invoke(ways.entrypoint(flow), 1, ways.thread(max_concurrency=limit))
    assert out == [0, [1, 2], [3, 4], 5]
    assert most[0] <= limit


class Shop:
    def __init__(self, rate: int) -> None:
        self.rate = rate

    @task
    def price(self, number: int) -> int:
        return number * self.rate

    @classmethod
    @task
    def label(cls, number: int) -> str:
        return f"{cls.__name__} {number}"

    @staticmethod
    @task
    def plain(number: int) -> int:
        return number + 1


def test_a_task_that_is_a_method_gets_its_object(ways: Ways) -> None:
    shop = Shop(3)

    def flow(number: int) -> Any:
        return (
            (yield shop.price(number)),
            (yield Shop.price(shop, number)),
            (yield shop.label(number)),
            (yield Shop.label(number)),
            (yield shop.plain(number)),
        )

    found = ways.invoke(ways.entrypoint(flow, checkpointer=None), 2)
    assert found == (6, 6, "Shop 2", "Shop 2", 3)


def test_a_task_that_a_class_only_keeps_gets_no_object(ways: Ways) -> None:
    @ways.task
    def double(number: int) -> int:
        return number * 2

    class Holder:
        step = double

    def flow(number: int) -> Any:
        return (yield Holder().step(number))

    assert ways.invoke(ways.entrypoint(flow, checkpointer=None), 4) == 8
