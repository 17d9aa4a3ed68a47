"""Killed with SIGKILL at any moment, a run goes on in another process to the end of a run that nobody killed.

The steps of each test: 1. a process runs a program on a file or a server, 2. it is killed after so many events and a random
moment more, 3. another process (this one) goes on from what is stored, 4. compare the end, and what ran again.

What each durability promises: `sync` loses no step that was acknowledged by the start of the next one; `async` repeats at
most what waited to be stored; `exit` leaves the thread as it was before the call that was killed. No task whose result is
stored runs again.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postgres_server import database

from .checks import few, finished
from .forks import Forks, Order, colour_of, opened, run_of
from .programs import Program
from .savers import UNFINISHED
from .strategies import Limits, programs
from .trace import Run, outcome

CALM = Limits(
    depth=3,
    parallel_parent_commands=False,
    conflicts=False,
    breakpoints=False,
    persistent=False,
    below_false=False,
)
QUEUED = 16
"""Steps that may wait to be stored, with durability `async`."""
MOST_PARALLEL = 12

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs fork and /proc")


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    server = Forks()
    yield server
    server.close()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path_factory.mktemp("killed") / "threads.db")
        return
    with database() as url:
        yield url


class Killed:
    """A process that was killed: what it had noted, and what it had stored."""

    def __init__(self, forks: Forks, order: Order, events: int, pause: float) -> None:
        self.order = order
        self.process = forks.run(order)
        self._kill(events, pause)
        self.status = forks.wait(self.process)
        self.lines = self._lines()

    def _kill(self, events: int, pause: float) -> None:
        until = time.monotonic() + 60
        while len(self._lines()) < events and time.monotonic() < until and self._runs():
            time.sleep(0.0005)
        time.sleep(pause)
        os.kill(self.process, signal.SIGKILL)

    def _runs(self) -> bool:
        with open(f"/proc/{self.process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"

    def _lines(self) -> list[str]:
        notes = Path(self.order.notes)
        return notes.read_text().splitlines() if notes.exists() else []

    @property
    def turns(self) -> int:
        return self.lines.count("turn")

    def entered(self, level: int | None = None) -> list[str]:
        """The ids of tasks whose nodes entered, in order; at one level of nesting, or at all."""
        paths = [line.split(" ")[2].split("|") for line in self.lines if line.startswith("enter")]
        return [path[-1].partition(":")[2] for path in paths if level is None or len(path) == level]


def stored_tasks(run: Run) -> set[str]:
    """The ids of all tasks whose results are stored, on all levels."""
    return {
        task
        for found in run.saver.list({"configurable": {"thread_id": run.thread}})
        for task, channel, _ in found.pending_writes or ()
        if channel not in UNFINISHED and not channel.startswith("__error")
    }


def go_on(run: Run) -> Run:
    if run.saver.get_tuple(run.config) is None:
        return run.to_end()
    return run.onwards() if run.turn(None) else run


def example(durability: str, driver: str) -> Any:
    """The same body for each durability: kill, look, go on, compare."""

    @few(30)
    @given(
        program=programs(CALM), events=st.integers(0, 40), pause=st.sampled_from([0.0, 0.0005, 0.002, 0.005])
    )
    def test(
        forks: Forks, place: str, tmp_path_factory: Any, program: Program, events: int, pause: float
    ) -> None:
        folder = tmp_path_factory.mktemp("notes")
        order = Order(program, place, f"{folder}", durability, driver, str(folder / "notes"))
        killed = Killed(forks, order, events, pause)
        with opened(place) as saver:
            run = run_of(order, saver)
            kept = stored_tasks(run)
            PROMISES[durability](killed, run)
            again = go_on(run)
            assert outcome(again) == outcome(finished(program, colour=colour_of(driver)))
            ran_again = {path.rpartition("|")[2].partition(":")[2] for _, path in again.setting.log.entered}
            assert not ran_again & kept, "a task ran again although its result was stored"

    return test


def known_tasks(run: Run) -> set[str]:
    """The ids of the tasks that the root's stored checkpoints were about to run."""
    return {task.id for snapshot in run.graph.get_state_history(run.config) for task in snapshot.tasks}


def loses_no_step(killed: Killed, run: Run) -> None:
    """With `sync`, the checkpoint that a task starts from is stored before it starts."""
    assert set(killed.entered(1)) <= known_tasks(run)


def repeats_what_waited(killed: Killed, run: Run) -> None:
    """With `async`, of the tasks that began only those of queued steps, and of the step under way, may be unknown."""
    unknown = set(killed.entered(1)) - known_tasks(run)
    assert len(unknown) <= (QUEUED + 2) * MOST_PARALLEL


def changes_nothing(killed: Killed, run: Run) -> None:
    """With `exit`, a call stores one checkpoint of the root when it ends (none if it moved nothing), nothing before."""
    stored = list(run.saver.list(run.config))
    roots = [found for found in stored if not found.config["configurable"]["checkpoint_ns"]]
    assert len(roots) <= killed.turns + 1


PROMISES = {"sync": loses_no_step, "async": repeats_what_waited, "exit": changes_nothing}

test_sync_loses_no_step = example("sync", "stream")
test_async_repeats_what_waited = example("async", "stream")
test_exit_changes_nothing = example("exit", "stream")
test_sync_loses_no_step_of_an_asynchronous_run = example("sync", "ainvoke")
test_async_repeats_what_waited_of_an_asynchronous_run = example("async", "ainvoke")
