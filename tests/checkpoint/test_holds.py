"""Holds: leases that keep other runs out, for savers that other processes share."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checkpoint.savers import KINDS, Face, open_saver
from stepgraph.checkpoint.holds import Hold
from stepgraph.errors import ThreadBusyError
from stepgraph.pregel.drivers.recorder import takes_steps


@pytest.fixture(params=[kind for kind in KINDS if kind != "memory"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Face]:
    with open_saver(request.param, tmp_path) as face:
        yield face


def test_the_engine_hands_over_steps(saver: Face) -> None:
    assert takes_steps(saver.saver)


def hold(run: str, thread: str = "1", seconds: float = 60.0) -> Hold:
    return Hold(thread, run, f"token of {run}", seconds)


def lapsed(run: str, thread: str = "1") -> Hold:
    """A hold that was good only until now: that of a process which died."""
    return hold(run, thread, -1.0)


def renew(saver: Face, *holds: Hold) -> list[Hold]:
    """Renewed from another thread, as the engine does it."""
    with ThreadPoolExecutor(1) as pool:
        found: list[Hold] = pool.submit(saver.saver.renew_holds, holds).result(20)
        return found


def test_a_second_lease_is_refused_with_both_runs(saver: Face) -> None:
    assert saver.begin_hold(hold("a")) is None
    with pytest.raises(ThreadBusyError) as refused:
        saver.begin_hold(hold("b"))
    error = refused.value
    assert (error.thread_id, error.run_id, error.other_run_id, error.cause) == ("1", "b", "a", "lease")
    assert "is in use by run a, maybe in another process, so run b did not start" in str(error)


def test_another_thread_is_free(saver: Face) -> None:
    saver.begin_hold(hold("a"))
    assert saver.begin_hold(hold("b", "2")) is None


def test_a_lease_that_was_ended_is_free(saver: Face) -> None:
    saver.begin_hold(hold("a"))
    saver.end_hold(hold("a"))
    assert saver.begin_hold(hold("b")) is None


def test_a_lease_ends_only_by_its_own_token(saver: Face) -> None:
    saver.begin_hold(hold("a"))
    saver.end_hold(hold("b"))
    with pytest.raises(ThreadBusyError):
        saver.begin_hold(hold("b"))


def test_a_lease_of_a_run_that_died_is_taken_over_and_named(saver: Face) -> None:
    saver.begin_hold(lapsed("a"))
    assert saver.begin_hold(hold("b")) == "a"
    with pytest.raises(ThreadBusyError):
        saver.begin_hold(hold("c"))


def test_a_renewed_lease_goes_on(saver: Face) -> None:
    saver.begin_hold(lapsed("a"))
    assert renew(saver, hold("a")) == []
    with pytest.raises(ThreadBusyError):
        saver.begin_hold(hold("b"))


def test_who_lost_a_lease_is_told_when_renewing(saver: Face) -> None:
    saver.begin_hold(lapsed("a"))
    saver.begin_hold(hold("b"))
    saver.begin_hold(hold("c", "2"))
    assert renew(saver, hold("a"), hold("c", "2")) == [hold("a")]
    assert renew(saver, hold("b")) == []


def test_of_many_at_once_one_gets_the_lease(saver: Face) -> None:
    def attempt(number: int) -> str | None:
        try:
            saver.begin_hold(hold(f"run-{number}"))
        except ThreadBusyError:
            return None
        return f"run-{number}"

    with ThreadPoolExecutor(6) as pool:
        winners = [run for run in pool.map(attempt, range(12)) if run]
    assert len(winners) == 1
    with pytest.raises(ThreadBusyError, match=f"by run {winners[0]},"):
        saver.begin_hold(hold("late"))


def test_a_deleted_thread_is_still_held_by_who_works_on_it(saver: Face) -> None:
    saver.begin_hold(hold("a"))
    saver.delete_thread("1")
    with pytest.raises(ThreadBusyError):
        saver.begin_hold(hold("b"))


@pytest.mark.parametrize("thread", ["a' OR '1'='1", "%", '"', "ä 世界"])
def test_names_of_threads_are_never_text_of_a_statement(saver: Face, thread: str) -> None:
    saver.begin_hold(hold("a"))
    other: Any = hold("b", thread)
    assert saver.begin_hold(other) is None
    assert renew(saver, other) == []
    saver.end_hold(other)
    with pytest.raises(ThreadBusyError):
        saver.begin_hold(hold("c"))
