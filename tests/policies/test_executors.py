"""Nodes on executors: threads keep the task's context, other processes get the function and its input, and no more."""

from __future__ import annotations

import asyncio
import multiprocessing
import operator
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.config import get_config
from stepgraph.errors import NodeError
from stepgraph.graph import START, StateGraph
from stepgraph.runtime import Runtime
from stepgraph.types import Command, RetryPolicy, Send, interrupt

from .conftest import Runner, chain, thread


class State(TypedDict, total=False):
    number: int
    handle: Any
    log: Annotated[list[Any], operator.add]


class Problem(Exception):
    """An exception that pickles but cannot be unpickled: its arguments are not what it takes."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(f"{number}: {text}")


class Adder:
    """A callable object with content of its own."""

    def __init__(self, more: int) -> None:
        self.more = more

    def __call__(self, state: State) -> State:
        return {"log": [state["number"] + self.more]}

    def method(self, state: State) -> State:
        return {"log": [state["number"] * self.more]}


def process(state: State) -> State:
    return {"log": [os.getpid()]}


def double(state: State) -> State:
    return {"log": [state["number"] * 2]}


def add(more: int, state: State) -> State:
    return {"log": [state["number"] + more]}


def jump(state: State) -> Command[Any]:
    return Command(update={"log": ["jump"]}, goto=Send("double", {"number": 4}))


def fails(state: State) -> State:
    raise ValueError("in the other process")


def fails_badly(state: State) -> State:
    raise Problem(7, "in the other process")


def returns_a_lock(state: State) -> State:
    return {"log": [1], "handle": threading.Lock()}


def sleeps(state: State) -> State:
    threading.Event().wait(2)
    return {"log": ["late"]}


def wants_runtime(state: State, runtime: Runtime) -> State:
    return {}


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(2, "executor") as pool:
        yield pool


@pytest.fixture(params=["sync", "async"])
def driver(request: pytest.FixtureRequest) -> Runner:
    return Runner(request.param, "sync nodes")


def one(node: Any, **policies: Any) -> Any:
    builder = StateGraph(State).add_node("node", node, **policies).add_node("double", double)
    return builder.add_edge(START, "node").compile(InMemorySaver())


def test_the_function_runs_in_another_process(driver: Runner, processes: Executor) -> None:
    (pid,) = driver.invoke(one(process, executor=processes), {"log": []}, thread())["log"]
    assert pid != os.getpid()


@pytest.mark.parametrize(
    ("node", "result"), [(double, [6]), (partial(add, 10), [13]), (Adder(1), [4]), (Adder(5).method, [15])]
)
def test_functions_of_all_kinds_are_shipped(
    driver: Runner, processes: Executor, node: Any, result: list[int]
) -> None:
    assert driver.invoke(one(node, executor=processes), {"number": 3, "log": []}, thread())["log"] == result


def test_commands_and_sends_come_back(driver: Runner, processes: Executor) -> None:
    out = driver.invoke(one(jump, executor=processes), {"number": 3, "log": []}, thread())
    assert out["log"] == ["jump", 8]


def test_an_error_comes_back_as_itself(driver: Runner, processes: Executor) -> None:
    with pytest.raises(ValueError, match="in the other process") as raised:
        driver.invoke(one(fails, executor=processes), {"log": []}, thread())
    assert any("During task with name 'node'" in note for note in raised.value.__notes__)


def test_an_error_that_cannot_travel_is_told(driver: Runner, processes: Executor) -> None:
    with pytest.raises(RuntimeError, match="Problem: 7: in the other process"):
        driver.invoke(one(fails_badly, executor=processes), {"log": []}, thread())
    assert driver.invoke(one(double, executor=processes), {"number": 1, "log": []}, thread())["log"] == [2]


def test_a_field_that_cannot_be_pickled_is_named(driver: Runner, processes: Executor) -> None:
    graph = StateGraph(State).add_node("node", double, executor=processes).add_edge(START, "node").compile()
    with pytest.raises(TypeError, match=r"Node 'node' .* key 'handle' \(a lock\) cannot be"):
        driver.invoke(graph, {"number": 1, "handle": threading.Lock(), "log": []})


def test_a_result_that_cannot_be_pickled_is_named(driver: Runner, processes: Executor) -> None:
    with pytest.raises(TypeError, match=r"Node 'node' .* key 'handle' \(a lock\) cannot be"):
        driver.invoke(one(returns_a_lock, executor=processes), {"log": []}, thread())


def test_a_function_that_cannot_be_pickled_is_named(driver: Runner, processes: Executor) -> None:
    with pytest.raises(TypeError, match="Define it at the top level of a module"):
        driver.invoke(one(lambda state: {}, executor=processes), {"log": []}, thread())


def test_what_exists_only_here_is_refused_when_compiling(processes: Executor) -> None:
    with pytest.raises(TypeError, match="asks for 'runtime'"):
        one(wants_runtime, executor=processes)


def test_policies_work_around_another_process(driver: Runner, processes: Executor) -> None:
    def handles(state: State, error: NodeError) -> State:
        return {"log": [type(error.error).__name__]}

    retry = RetryPolicy(max_attempts=3, retry_on=ValueError)
    graph = one(fails, executor=processes, retry_policy=retry, error_handler=handles)
    assert driver.invoke(graph, {"log": []}, thread())["log"] == ["ValueError"]
    assert len(driver.clock.slept) == 2
    graph = one(sleeps, executor=processes, timeout=0.01, error_handler=handles)
    assert driver.invoke(graph, {"log": []}, thread("2"))["log"] == ["NodeTimeoutError"]


def test_a_thread_pool_keeps_the_context_of_the_task(driver: Runner, threads: Executor) -> None:
    def node(state: State, runtime: Runtime) -> State:
        assert runtime.execution_info is not None
        name = get_config()["metadata"]["langgraph_node"]
        return {
            "log": [threading.current_thread().name.split("_")[0], name, runtime.execution_info.thread_id]
        }

    out = driver.invoke(one(node, executor=threads), {"log": []}, thread())
    assert out["log"] == ["executor", "node", "1"]


def test_a_node_on_a_thread_pool_may_pause(driver: Runner, threads: Executor) -> None:
    def asks(state: State) -> State:
        return {"log": [interrupt("who?")]}

    graph = one(asks, executor=threads)
    assert driver.invoke(graph, {"log": []}, thread())["__interrupt__"][0].value == "who?"
    assert driver.invoke(graph, Command(resume="Ann"), thread())["log"] == ["Ann"]


def test_the_executor_of_a_graph_serves_its_functions(driver: Runner, threads: Executor) -> None:
    async def waits(state: State) -> State:
        await asyncio.sleep(0)
        return {"log": ["async"]}

    def where(state: State) -> State:
        return {"log": [threading.current_thread().name.split("_")[0]]}

    inner = chain(State, where).compile()
    with ThreadPoolExecutor(1, "own") as own:
        builder = StateGraph(State).add_node("a", where).add_node("b", where, executor=own)
        builder.add_node("c", waits).add_node("d", inner)
        builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c").add_edge("c", "d")
        out = driver.invoke(builder.compile(executor=threads), {"log": []})["log"]
    assert out[:3] == ["executor", "own", "async"]
    assert out[-1] not in ("executor", "own")


def test_all_tasks_of_a_step_share_the_executor(driver: Runner, processes: Executor) -> None:
    builder = StateGraph(State).add_node("double", double, executor=processes)
    builder.add_conditional_edges(
        START, lambda state: [Send("double", {"number": n}) for n in range(20)], ["double"]
    )
    assert driver.invoke(builder.compile(), {"log": []})["log"] == [n * 2 for n in range(20)]


@pytest.mark.parametrize("executor", ["a pool", 5])
def test_what_is_no_executor_is_refused(executor: Any) -> None:
    with pytest.raises(TypeError, match=r"must be a concurrent\.futures\.Executor"):
        one(double, executor=executor)


def test_async_functions_and_graphs_take_no_executor_of_their_own(threads: Executor) -> None:
    async def waits(state: State) -> State:
        return {}

    for action in (waits, chain(State, double).compile()):
        with pytest.raises(TypeError, match="no synchronous function"):
            one(action, executor=threads)


def test_a_cancelled_run_waits_for_what_runs_on_threads(threads: Executor) -> None:
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def blocks(state: State) -> State:
        started.set()
        release.wait(30)
        ended.set()
        return {}

    graph = one(blocks, executor=threads)

    async def main() -> None:
        run = asyncio.create_task(graph.ainvoke({"log": []}, thread()))
        await asyncio.to_thread(started.wait, 30)
        run.cancel()
        await asyncio.sleep(0.02)
        assert not run.done()
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert ended.is_set()

    asyncio.run(main())
