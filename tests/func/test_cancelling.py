"""Runs that are cancelled, that fail, or whose futures are cancelled, while calls are at work."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from typing import Any

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import NodeCancelledError
from stepgraph.func import entrypoint, task

THREAD = {"configurable": {"thread_id": "1"}}


async def leftovers() -> list[Any]:
    """Tasks of the event loop that are still there, apart from the asking one."""
    await asyncio.sleep(0)
    return [left for left in asyncio.all_tasks() if left is not asyncio.current_task()]


@pytest.mark.parametrize("way", ["ainvoke", "astream"])
@pytest.mark.parametrize("caller", ["sync", "async"])
def test_cancelling_a_run_cancels_its_calls_and_waits_for_them(way: str, caller: str) -> None:
    begun, ended = threading.Event(), []

    @task
    async def endless() -> None:
        begun.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
            ended.append("endless")
            raise

    def sync_flow(_: int) -> Any:
        return endless().result()

    async def async_flow(_: int) -> Any:
        return await endless()

    flow = entrypoint(checkpointer=InMemorySaver())(sync_flow if caller == "sync" else async_flow)

    async def consume() -> None:
        if way == "ainvoke":
            await flow.ainvoke(1, THREAD)
        else:
            async for _ in flow.astream(1, THREAD):
                raise AssertionError("nothing should be shown")

    async def main() -> list[Any]:
        run = asyncio.create_task(consume())
        while not begun.is_set():
            assert not run.done(), run.result()
            await asyncio.sleep(0.001)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return await leftovers()

    assert asyncio.run(main()) == []
    assert ended == ["endless"]


def test_a_cancelled_run_keeps_finished_calls() -> None:
    ran: list[str] = []
    begun = [False]

    @task
    async def quick() -> str:
        ran.append("quick")
        return "quick"

    @task
    async def slow() -> str:
        ran.append("slow")
        if not begun[0]:
            begun[0] = True
            await asyncio.sleep(600)
        return "slow"

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(_: int) -> Any:
        return [await quick(), await slow()]

    async def main() -> Any:
        run = asyncio.create_task(flow.ainvoke(1, THREAD))
        while not begun[0]:
            assert not run.done(), run.result()
            await asyncio.sleep(0.001)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return await flow.ainvoke(None, THREAD)

    assert asyncio.run(main()) == ["quick", "slow"]
    assert ran == ["quick", "slow", "slow"]


@pytest.mark.parametrize("driver", ["sync", "async"])
def test_a_caller_that_fails_cancels_coroutines_and_waits_for_threads(driver: str) -> None:
    ended: list[str] = []
    running = threading.Event()

    @task
    async def endless() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            ended.append("endless")

    @task
    def thread() -> None:
        running.set()
        threading.Event().wait(0.02)
        ended.append("thread")

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(_: int) -> Any:
        endless(), thread()
        while not running.is_set():
            await asyncio.sleep(0.001)
        raise ValueError("no")

    async def main() -> list[Any]:
        with pytest.raises(ValueError, match="no"):
            await flow.ainvoke(1, THREAD)
        return await leftovers()

    if driver == "async":
        assert asyncio.run(main()) == []
    else:
        with pytest.raises(ValueError, match="no"):
            flow.invoke(1, THREAD)
    assert sorted(ended) == ["endless", "thread"]


def test_a_caller_that_fails_drops_calls_that_did_not_begin() -> None:
    ran: list[int] = []
    running, go_on = threading.Event(), threading.Event()

    @task
    def work(number: int) -> None:
        ran.append(number)
        running.set()
        go_on.wait(0.05)

    @entrypoint()
    def flow(_: int) -> Any:
        for number in range(5000):
            work(number)
        running.wait(20)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        flow.invoke(1)
    assert len(ran) < 5000


def test_a_cancelled_future_ends_its_coroutine_and_the_flow_goes_on() -> None:
    begun: list[str] = []
    ended: list[str] = []

    @task
    async def endless() -> None:
        begun.append("endless")
        try:
            await asyncio.sleep(600)
        finally:
            ended.append("endless")

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(_: int) -> Any:
        future = endless()
        while len(begun) < 1:
            await asyncio.sleep(0)
        future.cancel()
        future = endless()
        while len(begun) < 2:
            await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(future, 0.01)
        return "done"

    assert asyncio.run(flow.ainvoke(1, THREAD)) == "done"
    assert ended == ["endless", "endless"]


def test_a_cancelled_future_lets_go_of_its_thread_and_the_run_waits_for_it() -> None:
    ended: list[str] = []
    running, go_on = threading.Event(), threading.Event()

    @task
    def slow() -> str:
        running.set()
        go_on.wait(20)
        ended.append("slow")
        return "slow"

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(_: int) -> Any:
        future = slow()
        while not running.is_set():
            await asyncio.sleep(0.001)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(future, 0.001)
        before = list(ended)
        go_on.set()
        return before

    assert asyncio.run(flow.ainvoke(1, THREAD)) == []
    assert ended == ["slow"]


@pytest.mark.parametrize("caller", ["sync", "async"])
def test_a_task_that_cancels_itself_has_failed(caller: str) -> None:
    @task
    async def odd() -> None:
        raise asyncio.CancelledError

    def sync_flow(_: int) -> Any:
        odd().result()

    async def async_flow(_: int) -> Any:
        await odd()

    flow = entrypoint()(sync_flow if caller == "sync" else async_flow)
    with pytest.raises(NodeCancelledError, match="'odd'"):
        flow.invoke(1)
    with pytest.raises(NodeCancelledError, match="'odd'"):
        asyncio.run(flow.ainvoke(1))


def test_a_call_that_waits_for_a_thread_can_be_cancelled() -> None:
    go_on = threading.Event()

    @task
    def work(number: int) -> int:
        go_on.wait(20)
        return number

    @entrypoint()
    def flow(_: int) -> Any:
        futures = [work(number) for number in range(100)]
        cancelled = futures[-1].cancel()
        go_on.set()
        with pytest.raises(CancelledError):
            futures[-1].result()
        return cancelled, sum(future.result() for future in futures[:-1])

    assert flow.invoke(1) == (True, sum(range(99)))


def test_a_stream_that_is_closed_early_leaves_nothing_behind() -> None:
    begun, ended = [False], []

    @task
    async def first() -> int:
        return 1

    @task
    async def endless() -> None:
        begun[0] = True
        try:
            await asyncio.sleep(600)
        finally:
            ended.append("endless")

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(_: int) -> Any:
        await first()
        await endless()

    async def main() -> list[Any]:
        parts = flow.astream(1, THREAD)
        assert await anext(parts) == {"first": 1}
        while not begun[0]:
            await asyncio.sleep(0)
        await parts.aclose()
        return await leftovers()

    assert asyncio.run(main()) == []
    assert ended == ["endless"]
