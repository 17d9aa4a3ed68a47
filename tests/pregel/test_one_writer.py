"""Two processes that run one thread at random never interleave, lose or duplicate a step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from postgres_server import database

from .two_writers import STEPS, THREAD, open_saver

TESTS = Path(__file__).parents[1]


@contextmanager
def _sqlite(path: Path) -> Iterator[str]:
    yield str(path / "checkpoints.db")


@contextmanager
def _postgres(path: Path) -> Iterator[str]:
    with database() as url:
        yield url


PLACES: Any = {"sqlite": (_sqlite, 1000), "postgres": (_postgres, 300)}
"""Where the thread is, and how often it is run in all."""


def run_together(kind: str, place: str, concurrency: str, runs: int) -> dict[str, str]:
    """What became of each run of two processes."""
    command = [sys.executable, "-m", "pregel.two_writers", kind, place, concurrency]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    workers = [
        subprocess.Popen(
            [*command, name, str(runs // 2)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for name in ("one", "two")
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    outcomes: dict[str, str] = {}
    for worker in workers:
        printed, _ = worker.communicate(timeout=500)
        assert worker.returncode == 0
        outcomes.update(json.loads(printed))
    return outcomes


def history(kind: str, place: str) -> tuple[list[str], list[Any]]:
    """The log at the end, and step, id and parent of every checkpoint, oldest first."""
    with open_saver(kind, place) as saver:
        log = saver.get_tuple(THREAD).checkpoint["channel_values"]["log"]
        steps = [
            (
                found.metadata["step"],
                found.checkpoint["id"],
                found.parent_config and found.parent_config["configurable"]["checkpoint_id"],
            )
            for found in saver.list({"configurable": {"thread_id": "shared", "checkpoint_ns": ""}})
        ]
    return log, steps[::-1]


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("concurrency", ["detect", "reject"])
def test_two_processes_on_one_thread(kind: str, concurrency: str, tmp_path: Path) -> None:
    opened, runs = PLACES[kind]
    with opened(tmp_path) as place:
        outcomes = run_together(kind, place, concurrency, runs)
        log, steps = history(kind, place)
    assert len(outcomes) == runs
    assert set(outcomes.values()) <= {"done", "lease" if concurrency == "reject" else "run"}
    blocks = [
        (run, [entry.split()[1] for entry in found]) for run, found in groupby(log, lambda e: e.split()[0])
    ]
    assert len({run for run, _ in blocks}) == len(blocks), "the steps of two runs are mixed"
    for run, entries in blocks:
        assert tuple(entries) == STEPS[: len(entries)], f"run {run} lost or repeated a step"
        whole = concurrency == "reject" or outcomes[run] == "done"
        assert not whole or len(entries) == len(STEPS), f"run {run} ended, and not all of it is there"
    stored = {run for run, _ in blocks}
    assert {run for run, outcome in outcomes.items() if outcome == "done"} <= stored
    if concurrency == "reject":
        assert {run for run, outcome in outcomes.items() if outcome == "done"} == stored
    assert [parent for _, _, parent in steps] == [None, *(own for _, own, _ in steps[:-1])]
    numbers = [step for step, _, _ in steps]
    assert numbers == sorted(set(numbers)), "a step is there twice"
