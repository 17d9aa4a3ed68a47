"""One family of scenarios a file; each lists its rows in `SCENARIOS`, in the order of the table."""

from __future__ import annotations

from benchmarks.kinds import Scenario
from benchmarks.scenarios import callbacks, executors, fans, laws, loops, messages, postgres, storage, wide

ALL: list[Scenario] = [
    *loops.SCENARIOS,
    *fans.SCENARIOS,
    *wide.SCENARIOS,
    *messages.SCENARIOS,
    *callbacks.SCENARIOS,
    *laws.SCENARIOS,
    *executors.SCENARIOS,
    *storage.SCENARIOS,
    *postgres.SCENARIOS,
]
