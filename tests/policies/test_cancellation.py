"""Cancelling an asynchronous run: its tasks are cancelled and waited for, and the thread goes on later as if cut there."""

from __future__ import annotations

import asyncio
import gc
import operator
import threading
import warnings
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from generated.checks import delays, finished, setting
from generated.programs import Program
from generated.strategies import Limits, programs
from generated.trace import MODES, Run, outcome, start
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import NodeCancelledError
from stepgraph.graph import START, StateGraph

from .conftest import Runner, chain, thread

CALM = Limits(depth=3, pauses=False, parallel_parent_commands=False, conflicts=False, breakpoints=False)


@dataclass
class Seen:
    """What was wrong after a cancelled run."""

    left: set[Any] = field(default_factory=set)
    noted: list[Any] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)


def cancel_at(run: Run, nodes: int, ticks: int) -> Seen:
    """Run, but cancel so many turns of the event loop after so many nodes have started."""
    seen = Seen()

    async def consume() -> None:
        if run.driver == "ainvoke":
            await run.graph.ainvoke(run.program.input(), run.config)
            return
        async for _ in run.graph.astream(run.program.input(), run.config, stream_mode=MODES, subgraphs=True):
            pass

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: seen.noted.append(context))
        task = asyncio.create_task(consume())
        while len(run.setting.log.entered) < nodes and not task.done():
            await asyncio.sleep(0)
        for _ in range(ticks):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # a program may fail by itself; then it fails when it goes on, too
        seen.left = asyncio.all_tasks() - {asyncio.current_task()}
        gc.collect()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(main())
    seen.warned = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning | ResourceWarning)]
    return seen


def go_on(program: Program, run: Run) -> Run:
    """A fresh graph over what the cancelled run stored, run to its end."""
    again = start(program, setting(colour=run.setting.colour), driver=run.driver, saver=run.saver)
    if run.saver.get_tuple(run.config) is None:
        return again.to_end()
    return again.onwards() if again.turn(None) else again


@settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("driver", ["ainvoke", "astream"])
@given(
    program=programs(CALM),
    nodes=st.integers(0, 10),
    ticks=st.integers(0, 20),
    colour=st.sampled_from(["async", "mixed", "sync"]),
    seed=st.integers(0, 9),
)
def test_a_cancelled_run_leaves_nothing_behind_and_goes_on(
    driver: str, program: Program, nodes: int, ticks: int, colour: str, seed: int
) -> None:
    run = start(program, setting(colour=colour, delay=delays(seed)), driver=driver)
    seen = cancel_at(run, nodes, ticks)
    assert seen == Seen()
    assert outcome(go_on(program, run)) == outcome(finished(program))


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def test_siblings_are_cancelled_and_waited_for() -> None:
    ended: list[str] = []
    builder = StateGraph(State)
    started = []
    for name in "abc":

        async def node(state: State, name: str = name) -> State:
            started.append(name)
            try:
                await asyncio.sleep(30)
            finally:
                await asyncio.sleep(0.01)
                ended.append(name)
            return {}

        builder.add_node(name, node).add_edge(START, name)
    graph = builder.compile()

    async def main() -> None:
        run = asyncio.create_task(graph.ainvoke({"log": []}))
        while len(started) < 3:
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert sorted(ended) == ["a", "b", "c"]

    asyncio.run(main())


def test_what_was_finished_before_is_kept() -> None:
    async def quick(state: State) -> State:
        return {"log": ["quick"]}

    async def slow(state: State) -> State:
        started.append(1)
        if not released:
            await asyncio.sleep(30)
        return {"log": ["slow"]}

    started: list[int] = []
    released: list[int] = []
    builder = StateGraph(State).add_node("quick", quick).add_node("slow", slow)
    graph = builder.add_edge(START, "quick").add_edge(START, "slow").compile(InMemorySaver())

    async def main() -> Any:
        run = asyncio.create_task(graph.ainvoke({"log": []}, thread()))
        while not started:
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        state = await graph.aget_state(thread())
        assert (state.next, state.tasks[1].error) == (("slow",), None)
        released.append(1)
        return await graph.ainvoke(None, thread())

    assert asyncio.run(main()) == {"log": ["quick", "slow"]}


def test_a_sync_node_is_waited_for() -> None:
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def blocks(state: State) -> State:
        started.set()
        release.wait(30)
        ended.set()
        return {}

    graph = chain(State, blocks).compile()

    async def main() -> None:
        run = asyncio.create_task(graph.ainvoke({"log": []}))
        await asyncio.to_thread(started.wait, 30)
        run.cancel()
        await asyncio.sleep(0.02)
        assert not run.done()
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert ended.is_set()

    asyncio.run(main())


def test_a_coroutine_that_a_sync_node_runs_on_the_loop_is_cancelled() -> None:
    """A sync node calls a graph with an async node; the thread waits for the loop, the loop for the thread."""
    started: list[int] = []
    ended: list[int] = []

    async def slow(state: State) -> State:
        started.append(1)
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(1)
        return {}

    inner = chain(State, slow).compile()

    def calls(state: State) -> State:
        return inner.invoke({"log": []})  # type: ignore[no-any-return]

    graph = chain(State, calls).compile()

    async def main() -> None:
        run = asyncio.create_task(graph.ainvoke({"log": []}))
        while not started:
            await asyncio.sleep(0.001)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(run), 20)
        assert ended == [1]

    asyncio.run(main())


def test_a_node_that_cancels_itself_fails_the_run(runner: Runner) -> None:
    def cancels(state: State) -> State:
        raise asyncio.CancelledError("mine")

    graph = chain(State, runner.node(cancels)).compile(InMemorySaver())
    with pytest.raises(NodeCancelledError, match="Node 'cancels' raised") as raised:
        runner.invoke(graph, {"log": []}, thread())
    assert isinstance(raised.value.__cause__, asyncio.CancelledError)
    assert "NodeCancelledError" in repr(graph.get_state(thread()).tasks[0].error)


def test_a_node_beside_others_that_cancels_itself_fails_the_run(runner: Runner) -> None:
    def cancels(state: State) -> State:
        raise asyncio.CancelledError

    builder = chain(State, runner.node(cancels))
    builder.add_node("sibling", runner.node(lambda state: {"log": ["sibling"]})).add_edge(START, "sibling")
    with pytest.raises(NodeCancelledError):
        runner.invoke(builder.compile(), {"log": []})
