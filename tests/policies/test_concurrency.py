"""How many tasks may be at work at once: over a run and all graphs inside it, and over all runs for one node."""

from __future__ import annotations

import asyncio
import operator
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import START, StateGraph
from stepgraph.types import RetryPolicy, Send

from .conftest import Runner, await_until, thread, wait_until


class State(TypedDict, total=False):
    number: int
    log: Annotated[list[Any], operator.add]


class Result(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


class Meter:
    """Counts who is at work, and keeps everybody at work until as many as expected have met, and a little longer.

    Whoever waits for a meeting that never happens gives up after ten seconds.
    """

    def __init__(self, meeting: int = 1) -> None:
        self.now = self.most = self.runs = 0
        self.meeting = meeting
        self._lock = threading.Lock()

    @contextmanager
    def at_work(self) -> Any:
        with self._lock:
            self.now += 1
            self.runs += 1
            self.most = max(self.most, self.now)
        try:
            yield
        finally:
            with self._lock:
                self.now -= 1

    def node(self, runner: Runner) -> Any:
        def work(state: State) -> State:
            with self.at_work():
                wait_until(lambda: self.most >= self.meeting, 10)
                threading.Event().wait(0.01)
            return {"log": [state["number"]]}

        async def awork(state: State) -> State:
            with self.at_work():
                await await_until(lambda: self.most >= self.meeting, 10)
                await asyncio.sleep(0.01)
            return {"log": [state["number"]]}

        return work if runner.nodes == "sync nodes" else awork


def fan_out(node: str, count: int) -> Any:
    return lambda state: [Send(node, {"number": n}) for n in range(count)]


def fan(meter: Meter, runner: Runner, count: int = 8, **policies: Any) -> Any:
    builder = StateGraph(State, output_schema=Result).add_node("work", meter.node(runner), **policies)
    return builder.add_conditional_edges(START, fan_out("work", count), ["work"])


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_tasks_than_the_run_allows(runner: Runner, most: int) -> None:
    meter = Meter(most)
    graph = fan(meter, runner).compile(InMemorySaver())
    config = {**thread(), "max_concurrency": most}
    assert runner.invoke(graph, {"log": []}, config) == {"log": list(range(8))}
    assert meter.most == most


@pytest.mark.parametrize("bound", [0, -1, "3", 1.5])
def test_a_bound_of_a_run_that_lets_nothing_run_is_refused(runner: Runner, bound: Any) -> None:
    graph = fan(Meter(), runner).compile()
    with pytest.raises(ValueError, match=r"max_concurrency must be a whole number of at least 1"):
        runner.invoke(graph, {"log": []}, {"max_concurrency": bound})


def test_without_a_bound_all_tasks_run_at_once(runner: Runner) -> None:
    meter = Meter(4)
    runner.invoke(fan(meter, runner).compile(), {"log": []})
    assert meter.most > 3


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_bound_holds_over_graphs_inside(runner: Runner, most: int) -> None:
    meter = Meter(most)
    inner = fan(meter, runner, 4).compile()
    builder = StateGraph(State).add_node("inner", inner)
    graph = builder.add_conditional_edges(START, fan_out("inner", 4), ["inner"]).compile()
    out = runner.invoke(graph, {"log": []}, {"max_concurrency": most})
    assert sorted(out["log"]) == sorted([0, 1, 2, 3] * 4)
    assert meter.most == most


def test_a_task_that_waits_for_its_graph_holds_no_slot(runner: Runner) -> None:
    """Three levels, one slot: if a waiting task kept it, nobody could go on."""
    meter = Meter()
    graph = fan(meter, runner, 2).compile()
    for _ in range(2):
        called = graph

        def calls(state: State, called: Any = called) -> State:
            return called.invoke({"log": []})  # type: ignore[no-any-return]

        async def acalls(state: State, called: Any = called) -> State:
            return await called.ainvoke({"log": []})  # type: ignore[no-any-return]

        builder = StateGraph(State).add_node("calls", calls if runner.nodes == "sync nodes" else acalls)
        graph = builder.add_conditional_edges(START, fan_out("calls", 2), ["calls"]).compile()
    out = runner.invoke(graph, {"log": []}, {"max_concurrency": 1})
    assert out["log"] == [0, 1] * 4
    assert meter.most == 1


def test_code_around_a_called_graph_counts_as_work(runner: Runner) -> None:
    meter, inside = Meter(), Meter()
    inner = fan(inside, runner, 2).compile()

    def calls(state: State) -> State:
        with meter.at_work():
            threading.Event().wait(0.005)
        inner.invoke({"log": []})
        with meter.at_work():
            threading.Event().wait(0.005)
        return {"log": [state["number"]]}

    async def acalls(state: State) -> State:
        with meter.at_work():
            await asyncio.sleep(0.005)
        await inner.ainvoke({"log": []})
        with meter.at_work():
            await asyncio.sleep(0.005)
        return {"log": [state["number"]]}

    builder = StateGraph(State).add_node("calls", calls if runner.nodes == "sync nodes" else acalls)
    graph = builder.add_conditional_edges(START, fan_out("calls", 4), ["calls"]).compile()
    runner.invoke(graph, {"log": []}, {"max_concurrency": 1})
    assert (meter.most, inside.most) == (1, 1)
    assert (meter.runs, inside.runs) == (8, 8)


def test_an_error_inside_gives_the_slot_back(runner: Runner) -> None:
    runs = []

    def fails(state: State) -> State:
        runs.append(1)
        raise ConnectionError

    inner = StateGraph(State).add_node("fails", runner.node(fails)).add_edge(START, "fails").compile()
    builder = StateGraph(State).add_node(
        "inner",
        inner,
        retry_policy=RetryPolicy(max_attempts=3),
        error_handler=lambda state: {"log": ["handled"]},
    )
    graph = builder.add_conditional_edges(START, fan_out("inner", 3), ["inner"]).compile()
    assert runner.invoke(graph, {"log": []}, {"max_concurrency": 1}) == {"log": ["handled"] * 3}
    assert len(runs) == 9


@pytest.mark.parametrize("most", [1, 3])
def test_a_node_has_a_bound_of_its_own(runner: Runner, most: int) -> None:
    meter, other = Meter(most), Meter(2)
    builder = fan(meter, runner, max_concurrency=most)
    builder.add_node("other", other.node(runner))
    builder.add_conditional_edges(START, fan_out("other", 8), ["other"])
    runner.invoke(builder.compile(), {"log": []})
    assert meter.most == most
    assert other.most > 1


def test_the_bound_of_a_node_holds_over_all_runs_of_the_process() -> None:
    meter = Meter(2)
    sync, awaited = Runner("sync", "sync nodes"), Runner("async", "async nodes")
    graph = fan(meter, sync, 3, max_concurrency=2).compile()

    def in_thread(n: int) -> Any:
        return (sync if n % 2 else awaited).invoke(graph, {"log": []})

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(in_thread, range(4))) == [{"log": [0, 1, 2]}] * 4
    assert meter.most == 2


def test_another_compilation_has_a_bound_of_its_own() -> None:
    meter = Meter()
    runner = Runner("sync", "sync nodes")
    builder = fan(meter, runner, 2, max_concurrency=1)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda graph: graph.invoke({"log": []}), [builder.compile(), builder.compile()]))
    assert meter.most <= 2


def test_a_node_that_runs_itself_inside_does_not_wait_for_itself(runner: Runner) -> None:
    graphs: list[Any] = []

    def down(state: State) -> State:
        if state["number"] == 0:
            return {"log": [0]}
        return graphs[0].invoke({"number": state["number"] - 1, "log": [state["number"]]})  # type: ignore[no-any-return]

    async def adown(state: State) -> State:
        if state["number"] == 0:
            return {"log": [0]}
        return await graphs[0].ainvoke({"number": state["number"] - 1, "log": [state["number"]]})  # type: ignore[no-any-return]

    node = down if runner.nodes == "sync nodes" else adown
    builder = StateGraph(State).add_node("down", node, max_concurrency=1).add_edge(START, "down")
    graphs.append(builder.compile())
    assert runner.invoke(graphs[0], {"number": 3, "log": []})["log"] == [3, 2, 1, 0]


def test_a_run_that_is_cancelled_while_it_waits_takes_no_slot_along() -> None:
    meter = Meter()
    runner = Runner("async", "async nodes")
    graph = fan(meter, runner, 4, max_concurrency=1).compile()

    async def main() -> Any:
        for delay in (0, 0.005, 0.015):
            run = asyncio.create_task(graph.ainvoke({"log": []}))
            await asyncio.sleep(delay)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
        return await asyncio.wait_for(graph.ainvoke({"log": []}), 30)

    assert asyncio.run(main()) == {"log": [0, 1, 2, 3]}
    assert meter.most == 1


@pytest.mark.parametrize("bound", [0, -1])
def test_a_bound_that_lets_nothing_run_is_refused(bound: int) -> None:
    with pytest.raises(ValueError, match="max_concurrency must be at least 1"):
        StateGraph(State).add_node("node", lambda state: state, max_concurrency=bound)
