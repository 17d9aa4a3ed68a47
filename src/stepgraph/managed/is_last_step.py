"""How many supersteps a run has left before its recursion limit cuts it off."""

from __future__ import annotations

from typing import Annotated

from stepgraph.managed.base import ManagedValue, Scratchpad

__all__ = ("IsLastStep", "RemainingStepsManager")


class IsLastStepManager(ManagedValue[bool]):
    """Whether this step is the last one that the limit allows."""

    @staticmethod
    def get(scratchpad: Scratchpad) -> bool:
        """True in the last step."""
        return scratchpad.step == scratchpad.stop - 1


class RemainingStepsManager(ManagedValue[int]):
    """How many steps the limit allows, this one included."""

    @staticmethod
    def get(scratchpad: Scratchpad) -> int:
        """The number of steps."""
        return scratchpad.stop - scratchpad.step


IsLastStep = Annotated[bool, IsLastStepManager]
"""Annotates a field that is true in the last step before the recursion limit."""

RemainingSteps = Annotated[int, RemainingStepsManager]
"""Annotates a field that counts the steps left before the recursion limit, this one included."""
