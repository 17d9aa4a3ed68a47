"""Managed values: computed from where the run is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import get_args

import pytest

from stepgraph.managed import IsLastStep, RemainingSteps
from stepgraph.managed.base import ManagedValue, is_managed_value
from stepgraph.managed.is_last_step import IsLastStepManager, RemainingStepsManager


@pytest.mark.parametrize(
    ("step", "last", "remaining"), [(0, False, 5), (3, False, 2), (4, True, 1), (5, False, 0)]
)
def test_steps_are_counted_to_the_limit(step, last, remaining):
    scratchpad = SimpleNamespace(step=step, stop=5)
    assert IsLastStepManager.get(scratchpad) is last
    assert RemainingStepsManager.get(scratchpad) == remaining


def test_the_annotations_carry_their_managers():
    assert get_args(IsLastStep) == (bool, IsLastStepManager)
    assert get_args(RemainingSteps) == (int, RemainingStepsManager)


def test_only_classes_of_managed_values_are_such():
    assert is_managed_value(IsLastStepManager)
    assert not is_managed_value(IsLastStepManager())
    assert not is_managed_value(int)
    assert not is_managed_value("IsLastStep")


def test_a_managed_value_must_say_how_it_is_computed():
    class Incomplete(ManagedValue[int]):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Incomplete()
