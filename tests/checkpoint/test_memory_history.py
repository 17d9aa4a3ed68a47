"""Whatever a person does to a thread, every checkpoint comes back as it was stored: in memory."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize

from checkpoint.history_machine import HistoryMachine
from stepgraph.checkpoint.growth import frames, tracker
from stepgraph.checkpoint.growth.lanes import Lanes
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.step_saver import StepSaver

USUAL: dict[Any, dict[str, int]] = {
    tracker: {
        "SPAN": tracker.SPAN,
        "MERGED_SPAN": tracker.MERGED_SPAN,
        "WORTH_TRACKING": tracker.WORTH_TRACKING,
        "CHEAP": tracker.CHEAP,
    },
    frames: {"KEY_EVERY": frames.KEY_EVERY},
}


def set_limits(span: int, small: int, cheap: int) -> None:
    """Let merged differences, complete records and whole values come sooner than usual."""
    tracker.SPAN, tracker.MERGED_SPAN, tracker.WORTH_TRACKING = span, span + 1, small
    tracker.CHEAP, frames.KEY_EVERY = cheap, span + 1  # type: ignore[misc]


class MemoryHistoryMachine(HistoryMachine):
    @initialize(span=st.sampled_from([2, 3, 4, 32]), cheap=st.sampled_from([300, 3000, 100_000]))
    def limit(self, span: int, cheap: int) -> None:
        set_limits(span, 20, cheap)

    def make_saver(self) -> StepSaver:
        return InMemorySaver()

    def reopen(self, saver: StepSaver) -> StepSaver:
        saver._lanes = Lanes()
        return saver

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            for module, limits in USUAL.items():
                for name, value in limits.items():
                    setattr(module, name, value)


TestMemoryHistory = MemoryHistoryMachine.TestCase
TestMemoryHistory.settings = settings(
    max_examples=150, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
