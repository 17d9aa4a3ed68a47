"""Whatever a person does to a thread, every checkpoint comes back as it was stored: in a PostgreSQL database."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, settings

from checkpoint.history_machine import ACTIONS, HistoryMachine, walk
from postgres_server import database
from stepgraph.checkpoint.step_saver import StepSaver


class PostgresHistoryMachine(HistoryMachine):
    def make_saver(self) -> StepSaver:
        self.open = ExitStack()
        self.url = self.open.enter_context(database())
        return self.open_saver()

    def open_saver(self) -> StepSaver:
        from stepgraph.checkpoint.postgres import PostgresSaver

        return self.open.enter_context(PostgresSaver.from_conn_string(self.url))

    def reopen(self, saver: StepSaver) -> StepSaver:
        return self.open_saver()

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            if hasattr(self, "open"):
                self.open.close()


TestPostgresHistory = PostgresHistoryMachine.TestCase
TestPostgresHistory.settings = settings(
    max_examples=20, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_long_walk(action: str) -> None:
    walk(PostgresHistoryMachine(), action, 0, length=25)
