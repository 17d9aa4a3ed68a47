"""In whatever order parallel tasks end, the state, the checkpoints and the events are the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from .checks import assert_same, delays, few, finished
from .programs import Program
from .strategies import Limits, programs

WIDE = Limits(depth=2, parallel_parent_commands=False)


@few(25)
@given(programs(WIDE), st.integers(0, 1000))
def test_any_order_of_threads(program: Program, seed: int) -> None:
    assert_same(finished(program), finished(program, delay=delays(seed)))


@few(25)
@given(programs(WIDE), st.integers(0, 1000))
def test_any_order_of_coroutines(program: Program, seed: int) -> None:
    first = finished(program, driver="astream", colour="async")
    assert_same(first, finished(program, driver="astream", colour="async", delay=delays(seed)))


@few(15)
@given(programs(Limits(depth=2, pauses=False)), st.integers(0, 1000))
def test_parallel_parent_commands_lose_nothing(program: Program, seed: int) -> None:
    assert_same(finished(program), finished(program, delay=delays(seed)), parts=False)
