"""Time limits: an attempt that takes too long fails on time, and nothing of it counts afterwards."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.config import get_stream_writer
from stepgraph.errors import NodeTimeoutError
from stepgraph.graph import START, StateGraph
from stepgraph.pregel.drivers.guard import Guard
from stepgraph.runtime import Runtime
from stepgraph.types import Command, RetryPolicy, Send, TimeoutPolicy, interrupt

from .conftest import Runner, await_until, chain, thread, wait_until

SOON = 0.05
LATE = 30.0


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


class Held:
    """Work that ends when the test lets it end; in an event loop it ends by cancellation only."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.release = threading.Event()
        self.ended: list[str] = []

    def node(self, after: Any = None) -> Any:
        """A node that waits, then calls `after`."""

        def waits(state: State) -> State:
            self.release.wait(LATE)
            try:
                return (after or self.result)()  # type: ignore[no-any-return]
            finally:
                self.ended.append("returned")

        async def awaits(state: State) -> State:
            try:
                await asyncio.sleep(LATE)
            finally:
                self.ended.append("cancelled")
            return self.result()

        return waits if self.runner.nodes == "sync nodes" else awaits

    def result(self) -> State:
        return {"log": ["late"]}


@pytest.fixture
def held(runner: Runner) -> Iterator[Held]:
    work = Held(runner)
    yield work
    work.release.set()


def test_a_node_that_takes_too_long_fails(runner: Runner, held: Held) -> None:
    graph = StateGraph(State).add_node("slow", held.node(), timeout=SOON).add_edge(START, "slow").compile()
    with pytest.raises(NodeTimeoutError, match=r"Node 'slow' exceeded its run timeout of 0\.050s") as raised:
        runner.invoke(graph, {"log": []})
    error = raised.value
    assert (error.node, error.kind, error.run_timeout, error.idle_timeout) == ("slow", "run", SOON, None)
    assert error.elapsed >= SOON
    assert held.ended == ([] if runner.nodes == "sync nodes" else ["cancelled"])


def test_a_node_that_is_in_time_is_not_disturbed(runner: Runner) -> None:
    def quick(state: State, runtime: Runtime) -> State:
        return {"log": ["quick", runtime.execution_info.node_attempt]}  # type: ignore[union-attr]

    graph = chain(State, runner.node(quick), timeout=LATE).compile(InMemorySaver())
    assert runner.invoke(graph, {"log": []}, thread()) == {"log": ["quick", 1]}


def test_an_error_in_time_is_the_error(runner: Runner) -> None:
    def fails(state: State) -> State:
        raise ValueError("no")

    graph = chain(State, runner.node(fails), timeout=LATE).compile(InMemorySaver())
    with pytest.raises(ValueError, match="no"):
        runner.invoke(graph, {"log": []}, thread())


def test_the_limit_is_for_one_attempt(runner: Runner, held: Held) -> None:
    runs = []
    slow = held.node()

    def quick(state: State) -> State:
        return {"log": ["quick"]}

    def sync_node(state: State) -> State:
        runs.append(1)
        return slow(state) if len(runs) < 3 else quick(state)  # type: ignore[no-any-return]

    async def async_node(state: State) -> State:
        runs.append(1)
        return await slow(state) if len(runs) < 3 else quick(state)

    node = sync_node if runner.nodes == "sync nodes" else async_node
    retry = RetryPolicy(retry_on=NodeTimeoutError)
    builder = (
        StateGraph(State).add_node("node", node, timeout=SOON, retry_policy=retry).add_edge(START, "node")
    )
    graph = builder.compile(InMemorySaver())
    assert runner.invoke(graph, {"log": []}, thread()) == {"log": ["quick"]}
    assert len(runs) == 3


def test_what_a_thread_does_after_its_limit_is_ignored() -> None:
    runner = Runner("sync", "sync nodes")
    held = Held(runner)
    events: list[Any] = []
    raised: list[BaseException] = []

    def speaks() -> State:
        try:
            get_stream_writer()("late")
        except BaseException as error:
            raised.append(error)
        return {"log": ["late"]}

    builder = StateGraph(State).add_node(
        "slow", held.node(speaks), timeout=SOON, error_handler=lambda state: None
    )
    builder.add_edge(START, "slow")
    graph = builder.compile(InMemorySaver())
    events += runner.stream(graph, {"log": []}, thread(), stream_mode=["custom", "values"])
    held.release.set()
    wait_until(lambda: held.ended)
    assert len(raised) == 1
    assert events == [("values", {"log": []})]
    assert graph.get_state(thread()).values == {"log": []}


def test_a_graph_in_a_late_thread_stores_nothing_more() -> None:
    runner = Runner("sync", "sync nodes")
    held = Held(runner)
    later: list[str] = []
    saver = InMemorySaver()

    def never(state: State) -> State:
        later.append("ran")
        return {}

    inner = StateGraph(State).add_node("slow", held.node()).add_node("never", never)
    inner.add_edge(START, "slow").add_edge("slow", "never")
    builder = StateGraph(State).add_node("inner", inner.compile(), timeout=SOON).add_edge(START, "inner")
    with pytest.raises(NodeTimeoutError):
        builder.compile(saver).invoke({"log": []}, thread())
    before = [found.checkpoint["id"] for found in saver.list(thread())]  # type: ignore[arg-type]
    held.release.set()
    wait_until(lambda: held.ended and not [t for t in threading.enumerate() if "stepgraph-worker" in t.name])
    assert [found.checkpoint["id"] for found in saver.list(thread())] == before  # type: ignore[arg-type]
    assert later == []


def test_a_graph_inside_may_be_late(runner: Runner, held: Held) -> None:
    inner = StateGraph(State).add_node("slow", held.node()).add_edge(START, "slow").compile()
    builder = StateGraph(State).add_node("inner", inner, timeout=SOON).add_edge(START, "inner")
    with pytest.raises(NodeTimeoutError, match="'inner'"):
        runner.invoke(builder.compile(InMemorySaver()), {"log": []}, thread())


def test_the_limit_of_an_inner_node_does_not_end_the_outer_one(runner: Runner, held: Held) -> None:
    inner = StateGraph(State).add_node(
        "slow", held.node(), timeout=SOON, error_handler=lambda state: {"log": ["in time"]}
    )
    inner.add_edge(START, "slow")
    builder = StateGraph(State).add_node("inner", inner.compile(), timeout=LATE).add_edge(START, "inner")
    assert runner.invoke(builder.compile(), {"log": []}) == {"log": ["in time"]}


def test_the_outer_limit_ends_an_inner_one(runner: Runner, held: Held) -> None:
    inner = StateGraph(State).add_node("slow", held.node(), timeout=LATE).add_edge(START, "slow")
    builder = StateGraph(State).add_node("inner", inner.compile(), timeout=SOON).add_edge(START, "inner")
    with pytest.raises(NodeTimeoutError, match="'inner'"):
        runner.invoke(builder.compile(InMemorySaver()), {"log": []}, thread())


def test_siblings_keep_their_results(runner: Runner, held: Held) -> None:
    builder = StateGraph(State).add_node("slow", held.node(), timeout=SOON).add_edge(START, "slow")
    builder.add_node("quick", runner.node(lambda state: {"log": ["quick"]})).add_edge(START, "quick")
    graph = builder.compile(InMemorySaver())
    with pytest.raises(NodeTimeoutError):
        runner.invoke(graph, {"log": []}, thread())
    state = graph.get_state(thread())
    assert (state.values, state.next) == ({"log": ["quick"]}, ("slow",))


def test_a_pause_in_time_is_a_pause(runner: Runner) -> None:
    def asks(state: State) -> State:
        return {"log": [interrupt("who?")]}

    graph = chain(State, runner.node(asks), timeout=LATE).compile(InMemorySaver())
    assert runner.invoke(graph, {"log": []}, thread())["__interrupt__"][0].value == "who?"
    assert runner.invoke(graph, Command(resume="Ann"), thread()) == {"log": ["Ann"]}


def test_a_pause_inside_a_limited_graph_resumes(runner: Runner) -> None:
    def asks(state: State) -> State:
        return {"log": [interrupt("who?")]}

    inner = chain(State, runner.node(asks)).compile()
    builder = StateGraph(State).add_node("inner", inner, timeout=LATE).add_edge(START, "inner")
    graph = builder.compile(InMemorySaver())
    runner.invoke(graph, {"log": []}, thread())
    assert runner.invoke(graph, Command(resume="Ann"), thread()) == {"log": ["Ann"]}


def test_a_send_has_a_limit_of_its_own(runner: Runner, held: Held) -> None:
    def to_slow(timeout: float) -> Any:
        return lambda state: [Send("slow", {"log": []}, timeout=timeout)]

    builder = StateGraph(State).add_node("slow", held.node(), timeout=LATE)
    builder.add_conditional_edges(START, to_slow(SOON), ["slow"])
    with pytest.raises(NodeTimeoutError, match=r"0\.050s"):
        runner.invoke(builder.compile(), {"log": []})
    builder = StateGraph(State).add_node("slow", runner.node(lambda state: {"log": ["done"]}), timeout=1e-9)
    builder.add_conditional_edges(START, to_slow(LATE), ["slow"])
    assert runner.invoke(builder.compile(), {"log": []}) == {"log": ["done"]}


def idle(seconds: float, refresh_on: Any = "auto") -> TimeoutPolicy:
    return TimeoutPolicy(idle_timeout=seconds, refresh_on=refresh_on)


def test_a_node_without_progress_fails(runner: Runner, held: Held) -> None:
    builder = StateGraph(State).add_node("slow", held.node(), timeout=idle(SOON)).add_edge(START, "slow")
    with pytest.raises(NodeTimeoutError, match="without making progress") as raised:
        runner.invoke(builder.compile(), {"log": []})
    assert (raised.value.kind, raised.value.idle_timeout) == ("idle", SOON)


def steady(runner: Runner, sign: Any) -> Any:
    """A node that works four times as long as its idle limit, and gives a sign of life all along."""

    def waits(state: State, runtime: Runtime, config: Any) -> State:
        for _ in range(20):
            threading.Event().wait(SOON / 5)
            sign(runtime, config)
        return {"log": ["done"]}

    async def awaits(state: State, runtime: Runtime, config: Any) -> State:
        for _ in range(20):
            await asyncio.sleep(SOON / 5)
            sign(runtime, config)
        return {"log": ["done"]}

    return waits if runner.nodes == "sync nodes" else awaits


def writes(runtime: Runtime, config: Any) -> None:
    runtime.stream_writer("a part")


def beats(runtime: Runtime, config: Any) -> None:
    runtime.heartbeat()


def sends(runtime: Runtime, config: Any) -> None:
    config["configurable"]["__pregel_send"]([])


# The limit is a second although the signs come every hundredth: a machine that is busy must not make these tests fail.
PATIENT = 1.0


@pytest.mark.parametrize("sign", [writes, beats, sends])
def test_any_sign_of_life_is_progress(runner: Runner, sign: Any) -> None:
    builder = (
        StateGraph(State)
        .add_node("node", steady(runner, sign), timeout=idle(PATIENT))
        .add_edge(START, "node")
    )
    assert runner.invoke(builder.compile(), {"log": []}) == {"log": ["done"]}


def test_with_heartbeats_only_heartbeats_are_progress(runner: Runner) -> None:
    def guarded(sign: Any, seconds: float) -> Any:
        builder = StateGraph(State).add_node("node", steady(runner, sign), timeout=idle(seconds, "heartbeat"))
        return builder.add_edge(START, "node").compile()

    assert runner.invoke(guarded(beats, PATIENT), {"log": []}) == {"log": ["done"]}
    with pytest.raises(NodeTimeoutError):
        runner.invoke(guarded(writes, SOON), {"log": []})


def test_every_step_of_a_graph_inside_is_progress(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    signs: list[bool] = []
    progress = Guard.progress

    def noting(self: Guard, automatic: bool) -> None:
        signs.append(automatic)
        progress(self, automatic)

    monkeypatch.setattr(Guard, "progress", noting)
    inner = StateGraph(State)
    for name in "abc":
        inner.add_node(name, runner.node(lambda state: {"log": ["step"]}))
    inner.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    builder = (
        StateGraph(State).add_node("inner", inner.compile(), timeout=idle(LATE)).add_edge(START, "inner")
    )
    assert runner.invoke(builder.compile(), {"log": []}) == {"log": ["step"] * 3}
    assert len(signs) >= 6
    assert all(signs)


def test_a_heartbeat_inside_counts_outside(runner: Runner) -> None:
    inner = StateGraph(State).add_node("node", steady(runner, beats)).add_edge(START, "node").compile()
    builder = (
        StateGraph(State)
        .add_node("inner", inner, timeout=idle(PATIENT, "heartbeat"))
        .add_edge(START, "inner")
    )
    assert runner.invoke(builder.compile(), {"log": []}) == {"log": ["done"]}


def test_a_node_that_will_not_be_cancelled_is_late_all_the_same() -> None:
    async def stubborn(state: State) -> State:
        try:
            await asyncio.sleep(LATE)
        except asyncio.CancelledError:
            return {"log": ["late"]}
        return {"log": ["never"]}

    graph = chain(State, stubborn, timeout=SOON).compile()
    for runner in (Runner("sync", "async nodes"), Runner("async", "async nodes")):
        with pytest.raises(NodeTimeoutError):
            runner.invoke(graph, {"log": []})


def test_cancelling_a_run_cancels_an_attempt_with_a_limit() -> None:
    ended: list[str] = []
    started = asyncio.Event()

    async def slow(state: State) -> State:
        started.set()
        try:
            await asyncio.sleep(LATE)
        finally:
            ended.append("cancelled")
        return {}

    graph = chain(State, slow, timeout=LATE).compile()

    async def main() -> None:
        run = asyncio.create_task(graph.ainvoke({"log": []}))
        await started.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    assert ended == ["cancelled"]


def test_a_sync_node_inside_does_not_hold_up_an_outer_limit() -> None:
    """The outer node is a graph and so cancelled as a coroutine; its inner node's thread cannot be."""
    release = threading.Event()
    ended: list[int] = []

    def blocks(state: State) -> State:
        release.wait(LATE)
        ended.append(1)
        return {}

    inner = StateGraph(State).add_node("blocks", blocks).add_node("beside", lambda state: {})
    inner.add_edge(START, "blocks").add_edge(START, "beside")
    builder = StateGraph(State).add_node("inner", inner.compile(), timeout=SOON).add_edge(START, "inner")
    graph = builder.compile(InMemorySaver())

    async def main() -> None:
        with pytest.raises(NodeTimeoutError):
            await graph.ainvoke({"log": []}, thread())
        assert ended == []
        release.set()
        await await_until(lambda: ended)

    asyncio.run(main())


@pytest.mark.parametrize("timeout", [0, -1, "x"])
def test_a_limit_that_is_none_is_refused(timeout: Any) -> None:
    with pytest.raises(ValueError):
        StateGraph(State).add_node("node", lambda state: state, timeout=timeout)
