"""Trying again: when, how often, and what an attempt that failed leaves behind."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import START, StateGraph
from stepgraph.runtime import Runtime
from stepgraph.types import Command, RetryPolicy, Send, interrupt

from .conftest import HeldClock, Runner, await_until, chain, thread, wait_until


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def often(**settings: Any) -> RetryPolicy:
    return RetryPolicy(**{"jitter": False, "retry_on": ConnectionError, **settings})


def test_a_node_is_tried_again_until_it_succeeds(runner: Runner) -> None:
    seen: list[tuple[int, float | None]] = []

    def flaky(state: State, runtime: Runtime) -> State:
        info = runtime.execution_info
        assert info is not None
        seen.append((info.node_attempt, info.node_first_attempt_time))
        if info.node_attempt < 3:
            raise ConnectionError("down")
        return {"log": ["up"]}

    graph = chain(State, runner.node(flaky), retry_policy=often()).compile()
    assert runner.invoke(graph, {"log": ["in"]}) == {"log": ["in", "up"]}
    assert seen == [(1, 1000.0), (2, 1000.0), (3, 1000.0)]
    assert runner.clock.slept == [0.5, 1.0]


def test_after_the_last_attempt_the_error_itself_is_raised(runner: Runner) -> None:
    errors: list[ConnectionError] = []

    def down(state: State) -> State:
        errors.append(ConnectionError(len(errors)))
        raise errors[-1]

    graph = chain(State, runner.node(down), retry_policy=often(max_attempts=2)).compile()
    with pytest.raises(ConnectionError) as raised:
        runner.invoke(graph, {})
    assert raised.value is errors[-1]
    assert len(errors) == 2
    assert "During task with name 'down'" in raised.value.__notes__[0]


def test_an_error_that_no_policy_matches_is_final(runner: Runner) -> None:
    runs = []

    def broken(state: State) -> State:
        runs.append(1)
        raise ValueError("broken")

    graph = chain(State, runner.node(broken), retry_policy=[often(), often(retry_on=KeyError)]).compile()
    with pytest.raises(ValueError, match="broken"):
        runner.invoke(graph, {})
    assert len(runs) == 1


def test_attempts_count_over_all_policies(runner: Runner) -> None:
    errors = iter([KeyError("k"), ConnectionError("c"), KeyError("k"), ConnectionError("c")])

    def fails(state: State) -> State:
        raise next(errors)

    policies = [often(max_attempts=3, retry_on=KeyError), often(max_attempts=5)]
    graph = chain(State, runner.node(fails), retry_policy=policies).compile()
    with pytest.raises(KeyError):
        runner.invoke(graph, {})


def test_what_a_failed_attempt_wrote_is_thrown_away(runner: Runner) -> None:
    runs = []

    def writes(state: State, config: Any) -> State:
        runs.append(1)
        config["configurable"]["__pregel_send"]([("log", [f"sent {len(runs)}"])])
        if len(runs) < 3:
            raise ConnectionError
        return {"log": ["returned"]}

    graph = chain(State, runner.node(writes), retry_policy=often()).compile()
    assert runner.invoke(graph, {}) == {"log": ["sent 3", "returned"]}


def test_a_branch_that_fails_is_part_of_the_attempt(runner: Runner) -> None:
    runs = []

    def node(state: State) -> State:
        return {"log": ["node"]}

    def path(state: State) -> str:
        runs.append(list(state["log"]))
        if len(runs) == 1:
            raise ConnectionError
        return "end"

    builder = StateGraph(State).add_node("node", runner.node(node), retry_policy=often())
    builder.add_node("end", lambda state: {"log": ["end"]})
    builder.add_edge(START, "node").add_conditional_edges("node", runner.node(path), ["end"])
    assert runner.invoke(builder.compile(), {}) == {"log": ["node", "end"]}
    assert runs == [["node"], ["node"]]


def test_a_graph_inside_starts_afresh(runner: Runner) -> None:
    runs: list[str] = []

    def first(state: State) -> State:
        runs.append("first")
        return {"log": ["first"]}

    def second(state: State) -> State:
        runs.append("second")
        if runs.count("second") == 1:
            raise ConnectionError
        return {"log": ["second"]}

    inner = chain(State, runner.node(first), runner.node(second)).compile()
    builder = StateGraph(State).add_node("inner", inner, retry_policy=often()).add_edge(START, "inner")
    graph = builder.compile(InMemorySaver())
    assert runner.invoke(graph, {"log": []}, thread()) == {"log": ["first", "second"]}
    assert runs == ["first", "second", "first", "second"]


def test_a_pause_is_no_failure(runner: Runner) -> None:
    runs = []

    def asks(state: State) -> State:
        runs.append(1)
        return {"log": [interrupt("who?")]}

    graph = chain(State, runner.node(asks), retry_policy=often(retry_on=Exception)).compile(InMemorySaver())
    assert runner.invoke(graph, {"log": []}, thread())["__interrupt__"][0].value == "who?"
    assert runner.invoke(graph, Command(resume="Ann"), thread()) == {"log": ["Ann"]}
    assert len(runs) == 2


def test_an_answer_is_kept_for_the_next_attempt(runner: Runner) -> None:
    answers: list[str] = []

    def asks(state: State) -> State:
        answers.append(interrupt("who?"))
        if len(answers) == 1:
            raise ConnectionError
        return {"log": answers}

    graph = chain(State, runner.node(asks), retry_policy=often()).compile(InMemorySaver())
    runner.invoke(graph, {"log": []}, thread())
    assert runner.invoke(graph, Command(resume="Ann"), thread()) == {"log": ["Ann", "Ann"]}


def test_a_handover_is_no_failure(runner: Runner) -> None:
    def leaves(state: State) -> Command[Any]:
        return Command(graph=Command.PARENT, update={"log": ["left"]}, goto="after")

    inner = chain(State, runner.node(leaves), retry_policy=often(retry_on=Exception)).compile()
    builder = StateGraph(State).add_node("inner", inner).add_node("after", lambda state: {"log": ["after"]})
    graph = builder.add_edge(START, "inner").compile()
    assert runner.invoke(graph, {"log": []}) == {"log": ["left", "after"]}


def test_a_failure_of_retry_on_is_the_failure(runner: Runner) -> None:
    def broken(state: State) -> State:
        raise ValueError("first")

    def predicate(error: Exception) -> bool:
        raise TypeError("predicate")

    graph = chain(State, runner.node(broken), retry_policy=RetryPolicy(retry_on=predicate)).compile()
    with pytest.raises(TypeError, match="predicate") as raised:
        runner.invoke(graph, {})
    assert isinstance(raised.value.__context__, ValueError)


def test_siblings_are_tried_again_each_for_itself(runner: Runner) -> None:
    runs = dict.fromkeys(range(4), 0)

    def work(state: dict[str, int]) -> State:
        number = state["number"]
        runs[number] += 1
        if runs[number] <= number:
            raise ConnectionError
        return {"log": [number]}

    builder = StateGraph(State).add_node("work", runner.node(work), retry_policy=often(max_attempts=9))
    builder.add_conditional_edges(
        START, lambda state: [Send("work", {"number": n}) for n in range(4)], ["work"]
    )
    graph = builder.compile(InMemorySaver())
    assert runner.invoke(graph, {"log": []}, thread()) == {"log": [0, 1, 2, 3]}
    assert runs == {0: 1, 1: 2, 2: 3, 3: 4}


def test_a_resume_does_not_judge_a_stored_failure_again(runner: Runner) -> None:
    judged: list[str] = []
    broken = [True]

    def fails(state: State) -> State:
        if broken:
            raise ConnectionError("down")
        return {"log": ["up"]}

    def judge(error: Exception) -> bool:
        judged.append(str(error))
        return False

    policy = RetryPolicy(retry_on=judge)
    graph = chain(State, runner.node(fails), retry_policy=policy).compile(InMemorySaver())
    with pytest.raises(ConnectionError):
        runner.invoke(graph, {"log": []}, thread())
    broken.clear()
    assert runner.invoke(graph, None, thread()) == {"log": ["up"]}
    assert judged == ["down"]


def test_retries_make_no_events_of_their_own(runner: Runner) -> None:
    runs = []

    def flaky(state: State) -> State:
        runs.append(1)
        if len(runs) < 3:
            raise ConnectionError
        return {"log": ["up"]}

    graph = chain(State, runner.node(flaky), retry_policy=often()).compile()
    modes = [mode for mode, _ in runner.stream(graph, {"log": []}, stream_mode=["tasks", "updates"])]
    assert modes == ["tasks", "updates", "tasks"]


class Patient(HeldClock):
    """Sleeps until the run is being stopped, as a long wait would be cut short."""

    def sleep(self, seconds: float, stopping: Callable[[], bool]) -> None:
        self.slept.append(seconds)
        wait_until(stopping)

    async def asleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(60)


def test_nobody_waits_for_a_retry_when_a_sibling_has_failed(runner: Runner) -> None:
    clock = runner.clock = Patient()
    broken = [True]

    def flaky(state: State) -> State:
        if broken:
            raise ConnectionError
        return {"log": ["up"]}

    def fails(state: State) -> State:
        wait_until(lambda: clock.slept or not broken)
        return fails_once()

    async def afails(state: State) -> State:
        await await_until(lambda: clock.slept or not broken)
        return fails_once()

    def fails_once() -> State:
        if broken:
            raise ValueError("final")
        return {"log": ["mended"]}

    builder = chain(State, runner.node(flaky), retry_policy=often())
    builder.add_node("fails", afails if runner.nodes == "async nodes" else fails).add_edge(START, "fails")
    graph = builder.compile(InMemorySaver())
    with pytest.raises(ValueError, match="final"):
        runner.invoke(graph, {"log": []}, thread())
    state = graph.get_state(thread())
    assert {task.name: repr(task.error) for task in state.tasks} == {
        "fails": "ValueError('final')",
        "flaky": "None",
    }
    broken.clear()
    assert runner.invoke(graph, None, thread()) == {"log": ["mended", "up"]}
