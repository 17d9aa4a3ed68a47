"""What a call of a task answers: futures, in coroutines and everywhere else, and how failures come out of them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from typing import Any

import pytest

from stepgraph.func import entrypoint, task
from stepgraph.pregel.drivers.calls import TaskFuture
from stepgraph.warnings import UncollectedFailureWarning

from .conftest import Ways


def test_code_of_a_coroutine_gets_an_asyncio_future() -> None:
    @task
    def sync_task() -> int:
        return 1

    @task
    async def async_task() -> int:
        return 2

    @entrypoint()
    async def flow(_: int) -> Any:
        futures = [sync_task(), async_task()]
        assert all(isinstance(future, asyncio.Future) for future in futures)
        done, _rest = await asyncio.wait(futures)
        first = [await future for future in asyncio.as_completed([sync_task(), async_task()])]
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(_await(async_task()))
        return sorted(future.result() for future in done), sorted(first), waiting.result()

    async def _await(future: Any) -> Any:
        return await future

    assert asyncio.run(flow.ainvoke(1)) == ([1, 2], [1, 2], 2)
    assert flow.invoke(1) == ([1, 2], [1, 2], 2)


def test_other_code_gets_a_future_of_the_standard_kind() -> None:
    @task
    def sync_task() -> int:
        return 1

    @task
    async def async_task() -> int:
        return 2

    @entrypoint()
    def flow(_: int) -> Any:
        futures = [sync_task(), async_task()]
        assert all(isinstance(future, concurrent.futures.Future) for future in futures)
        done, rest = concurrent.futures.wait(futures)
        assert not rest
        return sorted(future.result() for future in concurrent.futures.as_completed(done))

    assert flow.invoke(1) == [1, 2]
    assert asyncio.run(flow.ainvoke(1)) == [1, 2]


def test_a_synchronous_flow_below_a_running_event_loop_gets_a_future_of_the_standard_kind() -> None:
    @task
    def sync_task() -> int:
        return 1

    @task
    async def async_task() -> int:
        return 2

    @entrypoint()
    def flow(_: int) -> Any:
        return sync_task().result() + async_task().result()

    async def notebook() -> Any:
        return flow.invoke(1)

    assert asyncio.run(notebook()) == 3


def test_a_future_of_the_standard_kind_can_be_awaited() -> None:
    @task
    def one() -> int:
        return 1

    @entrypoint()
    def flow(_: int) -> Any:
        async def inner() -> Any:
            return await one(), await asyncio.gather(one(), one())

        return asyncio.run(inner())

    assert flow.invoke(1) == (1, [1, 1])


def test_threads_that_carry_the_context_and_threads_of_asyncio_may_call() -> None:
    @task
    def double(number: int) -> int:
        return number * 2

    @entrypoint()
    def in_thread(number: int) -> Any:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            context = contextvars.copy_context()
            return pool.submit(context.run, lambda: double(number).result()).result()

    @entrypoint()
    async def to_thread(number: int) -> Any:
        def call() -> int:
            future = double(number)
            assert isinstance(future, TaskFuture)
            return future.result()

        return await asyncio.to_thread(call)

    assert in_thread.invoke(2) == 4
    assert asyncio.run(to_thread.ainvoke(3)) == 6


def test_result_with_a_timeout_gives_up_waiting() -> None:
    go_on = threading.Event()

    @task
    def slow() -> int:
        go_on.wait(20)
        return 1

    @entrypoint()
    def flow(_: int) -> Any:
        future = slow()
        with pytest.raises(TimeoutError):
            future.result(timeout=0.001)
        go_on.set()
        return future.result()

    assert flow.invoke(1) == 1


# ---- failures


def test_a_failure_reaches_the_result_and_says_where_it_happened(ways: Ways) -> None:
    @ways.task
    def fail(number: int) -> int:
        raise ValueError(f"no {number}")

    def flow(number: int) -> Any:
        try:
            yield fail(number)
        except ValueError as error:
            return str(error), error.__notes__

    text, notes = ways.invoke(ways.entrypoint(flow), 3, ways.thread())
    assert text == "no 3"
    assert len(notes) == 1
    assert notes[0].startswith("During task with name 'fail' and id ")
    assert "step 0 of graph 'LangGraph'" in notes[0]


def test_a_failure_that_is_not_caught_fails_the_run_with_the_same_exception(ways: Ways) -> None:
    raised: list[Exception] = []

    @ways.task
    def fail() -> int:
        raised.append(ValueError("no"))
        raise raised[0]

    def flow(_: int) -> Any:
        yield fail()

    with pytest.raises(ValueError, match="no") as caught:
        ways.invoke(ways.entrypoint(flow), 1, ways.thread())
    assert caught.value is raised[0]


def test_a_failure_that_nobody_looks_at_is_reported(ways: Ways) -> None:
    @ways.task
    def fail() -> int:
        raise ValueError("no")

    def flow(_: int) -> Any:
        fail()
        return "done"
        yield

    with pytest.warns(UncollectedFailureWarning, match=r"Task 'fail', call 0 of 'flow'.*ValueError.'no'"):
        assert ways.invoke(ways.entrypoint(flow), 1, ways.thread()) == "done"


def test_looking_at_a_failure_is_no_reason_to_warn(ways: Ways, recwarn: pytest.WarningsRecorder) -> None:
    @ways.task
    def fail() -> int:
        raise ValueError("no")

    def flow(_: int) -> Any:
        try:
            yield [fail(), fail()]
        except ValueError:
            return "done"

    def looked(_: int) -> Any:
        future = fail()
        try:
            yield future
        except ValueError:
            return "done"

    assert ways.invoke(ways.entrypoint(looked), 1, ways.thread()) == "done"
    assert [w for w in recwarn if w.category is UncollectedFailureWarning] == []


def test_a_result_that_cannot_be_stored_fails_the_call(ways: Ways) -> None:
    @ways.task
    def open_file() -> Any:
        return threading.Lock()

    def flow(_: int) -> Any:
        yield open_file()

    with pytest.raises(Exception, match="__return__") as caught:
        ways.invoke(ways.entrypoint(flow), 1, ways.thread())
    assert "During task with name 'open_file'" in caught.value.__notes__[0]


def test_calling_outside_of_a_run_is_an_error() -> None:
    @task
    def double(number: int) -> int:
        return number * 2

    with pytest.raises(RuntimeError, match="Called task 'double' outside of a graph's run"):
        double(1)
    assert double.func(2) == 4


def test_calling_after_the_caller_has_ended_is_an_error() -> None:
    @task
    def double(number: int) -> int:
        return number * 2

    ended, late = threading.Event(), []

    @entrypoint()
    def flow(number: int) -> int:
        context = contextvars.copy_context()

        def stray() -> None:
            ended.wait(20)
            try:
                context.run(double, number)
            except RuntimeError as error:
                late.append(str(error))

        late.append(threading.Thread(target=stray))
        late[0].start()
        return double(number).result()

    assert flow.invoke(1) == 2
    ended.set()
    late[0].join()
    assert "after 'flow', to which the calling code belongs, had ended" in late[1]


def test_only_callables_are_tasks() -> None:
    with pytest.raises(TypeError, match="got 3 of type int"):
        task(3)  # type: ignore[call-overload]
