"""Killed at random moments, again and again, a run comes to the end of one that nobody killed.

The steps: 1. a process runs the thread, 2. it is killed at a random moment, 3. what is stored is read, 4. another process
goes on, and so forth until one comes to its end. In `sync` no task runs again whose result was stored.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from postgres_server import database, wait_until_alone

from . import killed_run

TESTS = Path(__file__).parents[1]
KILLS = 8


@contextmanager
def _file(path: Path) -> Iterator[str]:
    yield str(path / "threads.db")


@contextmanager
def _server(path: Path) -> Iterator[str]:
    with database() as url:
        yield url


PLACES: Any = {"sqlite": _file, "postgres": _server}


def begun(log: Path) -> list[str]:
    """The tasks that began, in order, again if they began again."""
    lines = log.read_text().split("\n") if log.exists() else []
    return [line.removeprefix("begins ") for line in lines if line.startswith("begins ")]


def finished(place: str) -> set[str]:
    """The tasks whose results are stored, at all levels."""
    done: set[str] = set()
    with killed_run.open_saver(place) as saver:
        for found in saver.list({"configurable": {"thread_id": "1"}}):
            done.update(found.checkpoint["channel_values"].get("log", ()))
            for _, channel, value in found.pending_writes:
                if channel == "log":
                    done.update(value)
    return done


def run(place: str, log: Path, durability: str, after: float | None) -> str | None:
    """Run the program; what it printed, or `None` where it was killed so many seconds after it was ready."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    worker = subprocess.Popen(
        [sys.executable, "-m", "checkpoint.killed_run", place, str(log), durability],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )
    assert worker.stdout is not None
    with worker.stdout:
        assert worker.stdout.readline() == "ready\n"
        if after is not None:
            time.sleep(after)
            worker.kill()
        printed = worker.stdout.read()
    code = worker.wait(120)
    if place.startswith("postgresql://"):
        wait_until_alone(place)
    assert code == 0 or after is not None
    return printed or None


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("kind", PLACES)
def test_a_run_that_is_killed_at_random_comes_to_its_end(kind: str, durability: str, tmp_path: Path) -> None:
    moments = random.Random(f"{kind} {durability}")
    log = tmp_path / "log"
    with PLACES[kind](tmp_path) as place:
        printed = None
        for kill in range(KILLS + 1):
            before, known = len(begun(log)), finished(place)
            after = moments.uniform(0, 0.08) if kill < KILLS else None
            printed = run(place, log, durability, after)
            if durability == "sync":
                assert not known & set(begun(log)[before:]), "a finished task ran again"
            if printed is not None:
                break
        assert printed is not None
        assert json.loads(printed) == killed_run.expected()
        assert finished(place) == set(killed_run.expected())
