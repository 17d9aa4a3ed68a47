"""Whatever a person does to a thread, every checkpoint comes back as it was stored: in memory."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from checkpoint.history_machine import ACTIONS, HistoryMachine, walk
from stepgraph.checkpoint.growth.lanes import Lanes
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.step_saver import StepSaver


class MemoryHistoryMachine(HistoryMachine):
    def make_saver(self) -> StepSaver:
        return InMemorySaver()

    def reopen(self, saver: StepSaver) -> StepSaver:
        saver._lanes = Lanes()
        return saver


TestMemoryHistory = MemoryHistoryMachine.TestCase
TestMemoryHistory.settings = settings(
    max_examples=80, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("action", ACTIONS)
def test_a_long_walk(action: str, seed: int) -> None:
    walk(MemoryHistoryMachine(), action, seed)
