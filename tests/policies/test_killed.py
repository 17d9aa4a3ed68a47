"""Killed anywhere between a failure and what its handler makes of it, a run goes on in another process.

The steps: 1. run a program in a process that kills itself at a point, 2. look at what it had stored, 3. run it again in
another process, 4. what was stored has not run again, and the result is that of a run that nobody killed.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from postgres_server import wait_until_alone

from . import killed_program

PROGRAM = Path(killed_program.__file__)
FINISHED = ["handled ValueError('no')", "sibling", "last"]
CODE_POINTS = [
    "node begins",
    "judged",
    "handler begins",
    "handler ends",
    "sibling begins",
    "sibling ends",
    "last begins",
]
STORED_POINTS = [f"stored {number}" for number in range(1, 8)]


def run(database: str, log: Path, deadly: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), database, str(log), deadly],
        capture_output=True,
        text=True,
        timeout=120,
    )


def stored(database: str) -> tuple[int, set[str]]:
    """The step of the newest checkpoint, and which outcomes of its tasks are stored."""
    with killed_program.open_saver(database) as saver:
        found: Any = saver.get_tuple(killed_program.THREAD)
    if found is None:
        return -2, set()
    kinds = {
        "failure" if channel == "__error_source_node__" else value[0].split()[0]
        for _, channel, value in found.pending_writes
        if channel in ("__error_source_node__", "log") and value
    }
    return found.metadata["step"], kinds


@pytest.mark.parametrize("deadly", [*CODE_POINTS, *STORED_POINTS])
def test_a_killed_run_goes_on_where_it_was(deadly: str, tmp_path: Path) -> None:
    check_a_killed_run(str(tmp_path / "threads.db"), deadly, tmp_path)


@pytest.mark.parametrize("deadly", [*CODE_POINTS[::2], *STORED_POINTS[::2]])
def test_a_killed_run_goes_on_where_it_was_on_a_server(
    deadly: str, postgres_url: str, tmp_path: Path
) -> None:
    check_a_killed_run(postgres_url, deadly, tmp_path)


def check_a_killed_run(database: str, deadly: str, tmp_path: Path) -> None:
    killed = run(database, tmp_path / "first", deadly)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    if database.startswith("postgresql://"):
        wait_until_alone(database)
    step, kinds = stored(database)
    again = run(database, tmp_path / "second", "nowhere")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == FINISHED
    points = (tmp_path / "second").read_text().split("\n")
    if step == 0 and "failure" in kinds:
        assert "node begins" not in points
        assert "judged" not in points
    if step == 0 and "handled" in kinds:
        assert "handler begins" not in points
    if step == 0 and "sibling" in kinds:
        assert "sibling begins" not in points
    if step > 0:
        assert not {"node begins", "judged", "handler begins", "sibling begins"} & set(points)


def test_what_a_point_leaves_is_what_its_name_says(tmp_path: Path) -> None:
    """The failure is stored before its handler begins; the handler's result is not stored before it has ended."""
    database = str(tmp_path / "threads.db")
    run(database, tmp_path / "first", "handler begins")
    assert "failure" in stored(database)[1]
    assert "handled" not in stored(database)[1]
