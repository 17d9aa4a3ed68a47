"""Whoever drives a program, the same comes out: states, events, checkpoints, errors."""

from __future__ import annotations

import pytest
from hypothesis import given

from .checks import assert_children_first, assert_same, few, finished
from .programs import Program
from .strategies import Limits, programs
from .trace import outcome

CALM = Limits(parallel_parent_commands=False)


@given(programs(CALM))
def test_async_gives_the_same_as_sync(program: Program) -> None:
    assert_same(finished(program), finished(program, driver="astream", colour="async"))


@given(programs(CALM))
def test_async_runs_a_mix_of_sync_and_async_nodes(program: Program) -> None:
    assert_same(finished(program), finished(program, driver="astream", colour="mixed"))


@given(programs(CALM))
def test_sync_runs_a_mix_of_sync_and_async_nodes(program: Program) -> None:
    assert_same(finished(program), finished(program, colour="mixed"))


@given(programs(CALM))
def test_invoke_stores_the_same_as_stream(program: Program) -> None:
    streamed, invoked = finished(program), finished(program, driver="invoke")
    assert outcome(streamed) == outcome(invoked)
    assert len(streamed.turns) == len(invoked.turns)
    assert list(streamed.setting.log.left) != [] or list(invoked.setting.log.left) == []
    assert sorted(name for name, _ in streamed.setting.log.left) == sorted(
        name for name, _ in invoked.setting.log.left
    )


@given(programs(CALM))
def test_a_child_tells_everything_before_its_task_ends(program: Program) -> None:
    assert_children_first(finished(program))


@few(15)
@pytest.mark.parametrize("durability", ["sync", "exit"])
@given(program=programs(CALM))
def test_durability_changes_no_result(durability: str, program: Program) -> None:
    usual, other = finished(program), finished(program, durability=durability)
    assert outcome(usual) == outcome(other)
    assert sorted(usual.setting.log.left) != [] or sorted(other.setting.log.left) == []


@given(programs(CALM))
def test_answering_one_question_at_a_time_ends_in_the_same_state(program: Program) -> None:
    assert outcome(finished(program)) == outcome(finished(program, one_by_one=True))


@given(programs(Limits(parallel_parent_commands=False, pauses=False, persistent=False)))
def test_without_a_saver_the_result_is_the_same(program: Program) -> None:
    stored, free = finished(program, driver="invoke"), finished(program, driver="invoke", saver=None)
    assert stored.turns[-1].error == free.turns[-1].error
    assert stored.turns[-1].result == free.turns[-1].result
