"""Managed values: fields that the engine computes, and that nodes can read but not write."""

from __future__ import annotations

from stepgraph.managed.is_last_step import IsLastStep, RemainingSteps

__all__ = ("IsLastStep", "RemainingSteps")
