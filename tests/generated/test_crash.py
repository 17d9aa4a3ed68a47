"""A run that is cut after any save goes on to the state of a run that was never cut, and repeats nothing stored.

The steps of each test: 1. run the program to its end and count the saves, 2. run it again with a saver that dies
after the k-th save, 3. make a fresh graph over what was stored, go on, 4. compare.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .checks import few, finished, setting
from .programs import Program
from .savers import Budget, cut_saver
from .strategies import Limits, programs
from .trace import Run, outcome, start

CALM = Limits(depth=3, parallel_parent_commands=False, conflicts=False, breakpoints=False)

WITHOUT_MEMORY = replace(CALM, persistent=False)


def go_on(program: Program, run: Run) -> Run:
    """A fresh graph over the saver of `run`, as after a restart, run to its end."""
    again = start(
        program,
        setting(colour=run.setting.colour),
        driver=run.driver,
        saver=run.saver,
        durability=run.durability,
    )
    if run.saver.get_tuple(run.config) is None:
        return again.to_end()
    return again.onwards() if again.turn(None) else again


def cut_after(
    program: Program, saves: int, durability: str, kind: str, *, driver: str = "stream", colour: str = "sync"
) -> tuple[Run, Budget]:
    """Run `program` with a saver that dies after `saves` saves."""
    made, budget = setting(colour=colour), Budget()
    saver = cut_saver(made, budget, kind)
    run = start(program, made, saver=saver, durability=durability, driver=driver)
    budget.left = saves
    run.to_end()
    budget.left = None
    return run, budget


def total_saves(program: Program, durability: str, kind: str) -> int:
    """How many saves an uncut run needs."""
    made, budget = setting(), Budget()
    start(program, made, saver=cut_saver(made, budget, kind), durability=durability).to_end()
    return budget.saves


@few(30)
@pytest.mark.parametrize("kind", ["plain", "direct"])
@pytest.mark.parametrize("durability", ["sync", "async"])
@given(program=programs(CALM), data=st.data())
def test_a_cut_run_ends_in_the_state_of_an_uncut_one(
    kind: str, durability: str, program: Program, data: st.DataObject
) -> None:
    saves = data.draw(st.integers(0, total_saves(program, durability, kind)))
    run, budget = cut_after(program, saves, durability, kind)
    finished_before = set(budget.finished)
    again = go_on(program, run)
    assert outcome(again) == outcome(finished(program))
    for name, path in again.setting.log.entered:
        above, _, own = path.rpartition("|")
        assert (above, own.partition(":")[2]) not in finished_before, f"{name} ran again in {path}"


@few(15)
@given(program=programs(CALM), data=st.data())
def test_a_cut_asynchronous_run_goes_on(program: Program, data: st.DataObject) -> None:
    saves = data.draw(st.integers(0, total_saves(program, "async", "plain")))
    run, _ = cut_after(program, saves, "async", "plain", driver="ainvoke", colour="async")
    assert outcome(go_on(program, run)) == outcome(finished(program))


@few(15)
@pytest.mark.parametrize("kind", ["plain", "direct"])
@given(program=programs(WITHOUT_MEMORY), data=st.data())
def test_with_exit_a_cut_leaves_the_root_as_it_was(kind: str, program: Program, data: st.DataObject) -> None:
    saves = data.draw(st.integers(0, total_saves(program, "exit", kind)))
    run, _ = cut_after(program, saves, "exit", kind)
    assert outcome(go_on(program, run)) == outcome(finished(program))
