"""Whatever a person does to a thread, every checkpoint comes back as it was stored: in a SQLite file."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from checkpoint.history_machine import ACTIONS, HistoryMachine, walk
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.checkpoint.sqlite.connections import connect
from stepgraph.checkpoint.step_saver import StepSaver


class SqliteHistoryMachine(HistoryMachine):
    def make_saver(self) -> StepSaver:
        self.directory = tempfile.mkdtemp()
        return self.open_saver()

    def open_saver(self) -> SqliteSaver:
        saver = SqliteSaver(connect(str(Path(self.directory) / "history.db")))
        saver._connections.owned = True
        saver._connections._synchronize = lambda level: (
            None
        )  # the test is about content, not about a loss of power
        saver.conn.execute("PRAGMA synchronous = OFF")
        return saver

    def reopen(self, saver: StepSaver) -> StepSaver:
        assert isinstance(saver, SqliteSaver)
        saver._connections.close()
        return self.open_saver()

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            if hasattr(self, "saver"):
                self.saver._connections.close()
                shutil.rmtree(self.directory)


TestSqliteHistory = SqliteHistoryMachine.TestCase
TestSqliteHistory.settings = settings(
    max_examples=40, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_long_walk(action: str) -> None:
    walk(SqliteHistoryMachine(), action, 0, length=25)
