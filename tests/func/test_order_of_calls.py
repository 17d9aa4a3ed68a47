"""Calls in another order than before are refused; calls after an old question that is answered anew run anew."""

from __future__ import annotations

from typing import Any

import pytest

from stepgraph.errors import TaskOrderError
from stepgraph.func import task
from stepgraph.types import Command, interrupt

from .conftest import Ways


def two_step_flow(ways: Ways, calls: list[Any]) -> Any:
    """A flow that makes the calls in `calls`, whatever they are at the time, and then asks."""

    def flow(_: int) -> Any:
        for call in calls:
            yield call()
        return interrupt("?")

    return ways.entrypoint(flow)


def test_calls_in_another_order_are_refused(ways: Ways) -> None:
    @ways.task
    def first() -> int:
        return 1

    @ways.task
    def second() -> int:
        return 2

    calls = [first, second]
    graph, thread = two_step_flow(ways, calls), ways.thread()
    ways.invoke(graph, 1, thread)
    calls.reverse()
    with pytest.raises(
        TaskOrderError, match=r"Call 0 of 'flow' .* is to 'second' now, but 'first' was"
    ) as caught:
        ways.invoke(graph, Command(resume=1), thread)
    assert (caught.value.number, caught.value.task, caught.value.stored) == (0, "second", "first")
    calls.reverse()
    assert ways.invoke(graph, Command(resume=1), thread) == 1


def test_a_call_that_was_put_in_between_is_refused(ways: Ways) -> None:
    @ways.task
    def first() -> int:
        return 1

    @ways.task
    def extra() -> int:
        return 0

    @ways.task
    def second() -> int:
        return 2

    calls = [first, second]
    graph, thread = two_step_flow(ways, calls), ways.thread()
    ways.invoke(graph, 1, thread)
    calls.insert(1, extra)
    with pytest.raises(TaskOrderError, match=r"Call 1 of 'flow' .* is to 'extra' now, but 'second' was"):
        ways.invoke(graph, Command(resume=1), thread)


def test_a_call_that_was_added_at_the_end_runs(ways: Ways) -> None:
    ran: list[str] = []

    @ways.task
    def first() -> None:
        ran.append("first")

    @ways.task
    def extra() -> None:
        ran.append("extra")

    calls = [first]
    graph, thread = two_step_flow(ways, calls), ways.thread()
    ways.invoke(graph, 1, thread)
    calls.append(extra)
    assert ways.invoke(graph, Command(resume=1), thread) == 1
    assert ran == ["first", "extra"]


def test_a_renamed_task_is_found_under_its_old_name(ways: Ways) -> None:
    ran: list[str] = []

    def work() -> None:
        ran.append("work")

    calls = [ways.task(work, name="old")]
    graph, thread = two_step_flow(ways, calls), ways.thread()
    ways.invoke(graph, 1, thread)
    calls[0] = ways.task(work, name="renamed")
    with pytest.raises(TaskOrderError, match="is to 'renamed' now, but 'old' was"):
        ways.invoke(graph, Command(resume=1), thread)
    calls[0] = ways.task(work, name="old")
    assert ways.invoke(graph, Command(resume=1), thread) == 1
    assert ran == ["work"]


# ---- answering an old checkpoint anew


def test_an_old_question_answered_anew_repeats_what_came_after_it(ways: Ways) -> None:
    ran: list[str] = []

    @ways.task
    def shout(word: str) -> str:
        ran.append(word)
        return word + "!"

    def flow(_: int) -> Any:
        before = yield shout("before")
        word = interrupt("which?")
        return [before, (yield shout(word))]

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, 1, thread)
    paused = graph.get_state(thread).config
    assert ways.invoke(graph, Command(resume="a"), thread) == ["before!", "a!"]
    assert ways.invoke(graph, Command(resume="b"), paused) == ["before!", "b!"]
    assert ran == ["before", "a", "b"]


def test_an_old_question_of_a_task_answered_anew(ways: Ways) -> None:
    ran: list[str] = []

    @ways.task
    def shout(word: str) -> str:
        ran.append(word)
        return word + "!"

    def inquire(name: str) -> Any:
        yield shout(name)
        return interrupt(name)

    ask = task(ways.flow(inquire))

    def flow(_: int) -> Any:
        before = yield shout("before")
        word = yield ask("which?")
        return [before, (yield shout(word))]

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, 1, thread)
    paused = graph.get_state(thread).config
    assert ways.invoke(graph, Command(resume="a"), thread) == ["before!", "a!"]
    assert ways.invoke(graph, Command(resume="b"), paused) == ["before!", "b!"]
    assert ran == ["before", "which?", "a", "b"]


def test_a_replay_runs_its_calls_again(ways: Ways) -> None:
    ran: list[int] = []

    @ways.task
    def double(number: int) -> int:
        ran.append(number)
        return number * 2

    def flow(number: int) -> Any:
        return (yield double(number))

    graph, thread = ways.entrypoint(flow), ways.thread()
    ways.invoke(graph, 1, thread)
    begun = next(state for state in graph.get_state_history(thread) if state.next)
    assert ways.invoke(graph, None, begun.config) == 2
    assert ran == [1, 1]
