"""Verdicts are pure: the same failure, attempt, time and chance give the same answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepgraph.errors import GraphDrained, NodeCancelledError, mark_invalid_resume
from stepgraph.func import task
from stepgraph.graph import StateGraph
from stepgraph.pregel.policies import (
    may_be_handled,
    overdue,
    policy_from,
    seconds_before_retry,
    seconds_left,
)
from stepgraph.types import RetryPolicy, TimeoutPolicy


def no_chance() -> float:
    raise AssertionError("nobody asked for jitter")


def test_waits_grow_up_to_the_longest() -> None:
    policy = RetryPolicy(initial_interval=1, backoff_factor=3, max_interval=20, max_attempts=9, jitter=False)
    waits = [seconds_before_retry([policy], ConnectionError(), attempt, no_chance) for attempt in range(1, 6)]
    assert waits == [1, 3, 9, 20, 20]


def test_jitter_adds_what_chance_says() -> None:
    policy = RetryPolicy(initial_interval=1, max_attempts=2)
    assert seconds_before_retry([policy], ConnectionError(), 1, lambda: 0.25) == 1.25


def test_the_last_attempt_is_the_last() -> None:
    policy = RetryPolicy(max_attempts=2, jitter=False)
    assert seconds_before_retry([policy], ConnectionError(), 2, no_chance) is None


def test_a_wait_that_is_too_large_to_compute_is_the_longest() -> None:
    policy = RetryPolicy(max_attempts=10**6, jitter=False, max_interval=7)
    assert seconds_before_retry([policy], ConnectionError(), 10**5, no_chance) == 7


def test_the_first_policy_that_matches_decides() -> None:
    keys = RetryPolicy(initial_interval=1, max_attempts=2, jitter=False, retry_on=KeyError)
    lookups = RetryPolicy(initial_interval=5, max_attempts=9, jitter=False, retry_on=LookupError)
    assert seconds_before_retry([keys, lookups], KeyError(), 1, no_chance) == 1
    assert seconds_before_retry([keys, lookups], KeyError(), 2, no_chance) is None
    assert seconds_before_retry([keys, lookups], IndexError(), 1, no_chance) == 5
    assert seconds_before_retry([keys, lookups], ValueError(), 1, no_chance) is None


@pytest.mark.parametrize(
    "retry_on", [ValueError, (KeyError, ValueError), [ValueError], lambda error: "mend" in str(error)]
)
def test_retry_on_takes_classes_and_functions(retry_on: object) -> None:
    policy = RetryPolicy(jitter=False, retry_on=retry_on)  # type: ignore[arg-type]
    assert seconds_before_retry([policy], ValueError("mend"), 1, no_chance) == 0.5
    assert seconds_before_retry([policy], TypeError("no"), 1, no_chance) is None


@pytest.mark.parametrize("retry_on", [5, "ValueError", [ValueError, "KeyError"], int, None])
def test_a_retry_on_that_is_neither_is_refused(retry_on: object) -> None:
    with pytest.raises(TypeError, match="retry_on must be an Exception class"):
        policy_from(retry=RetryPolicy(retry_on=retry_on))  # type: ignore[arg-type]


def test_what_is_no_failure_is_not_tried_again() -> None:
    everything = [RetryPolicy(retry_on=Exception)]
    assert seconds_before_retry(everything, GraphDrained("x"), 1, no_chance) is None
    assert seconds_before_retry(everything, NodeCancelledError("n"), 1, no_chance) is None
    wrong_answer = ValueError("no")
    mark_invalid_resume(wrong_answer)
    assert seconds_before_retry(everything, wrong_answer, 1, no_chance) is None


def test_a_cancelled_node_is_a_failure_that_can_be_handled() -> None:
    assert may_be_handled(NodeCancelledError("n"))
    assert not may_be_handled(GraphDrained("x"))
    assert not may_be_handled(KeyboardInterrupt())


def test_no_policies_is_no_policy() -> None:
    assert policy_from() is None
    assert policy_from(retry=[]) is None


seconds = st.floats(0.001, 1000)


@given(st.none() | seconds, st.none() | seconds, seconds, seconds)
def test_an_attempt_is_overdue_exactly_when_no_time_is_left(
    run: float | None, idle: float | None, progressed: float, now: float
) -> None:
    limits = TimeoutPolicy.coerce(TimeoutPolicy(run_timeout=run, idle_timeout=idle))
    if limits is None:
        return
    late = overdue(limits, 0.0, min(progressed, now), now)
    left = seconds_left(limits, 0.0, min(progressed, now), now)
    if late is None:
        assert left > 0
    else:
        assert left <= 1e-9
        assert late.elapsed == now


def test_the_limit_of_the_run_comes_before_that_of_idleness() -> None:
    limits = TimeoutPolicy(run_timeout=5.0, idle_timeout=1.0)
    late = overdue(limits, 0.0, 0.0, 6.0)
    assert late is not None
    assert late.kind == "run"
    late = overdue(limits, 0.0, 0.0, 2.0)
    assert late is not None
    assert late.kind == "idle"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"retry_policy": 3}, r"RetryPolicy\(max_attempts=N\)"),
        ({"retry_policy": [RetryPolicy(), 3]}, r"RetryPolicy\(max_attempts=N\)"),
        ({"cache_policy": 3}, r"CachePolicy\(ttl=seconds\)"),
    ],
)
def test_what_is_no_policy_is_refused_where_it_is_given(given: dict[str, Any], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        StateGraph(dict).add_node("work", lambda state: state, **given)
    with pytest.raises(TypeError, match=says):
        StateGraph(dict).set_node_defaults(**given)
    with pytest.raises(TypeError, match=says):
        task(**given)(lambda: None)
