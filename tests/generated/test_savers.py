"""Wherever a thread is stored, the same comes out."""

from __future__ import annotations

import pytest
from hypothesis import given

from .checks import assert_same, few, finished
from .classics import CLASSICS
from .programs import Program
from .strategies import Limits, programs

CALM = Limits(parallel_parent_commands=False, conflicts=False)


@few(20)
@given(programs(CALM))
def test_sqlite_stores_the_same_as_memory(program: Program) -> None:
    assert_same(finished(program), finished(program, saver="sqlite"))


@few(20)
@given(programs(CALM))
def test_sqlite_serves_an_asynchronous_run(program: Program) -> None:
    assert_same(finished(program), finished(program, saver="sqlite", driver="astream", colour="async"))


@pytest.mark.parametrize("program", CLASSICS.values(), ids=CLASSICS)
def test_sqlite_stores_the_same_as_memory_for_every_classic(program: Program) -> None:
    assert_same(finished(program), finished(program, saver="sqlite"))
    assert_same(
        finished(program, durability="exit", driver="invoke"),
        finished(program, durability="exit", saver="sqlite", driver="invoke"),
    )
