"""A run is stopped from outside, in every way, and goes on from what is stored."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.harness import ENVIRONMENT, Done, flow, process

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
WORDS = ("run", flow("slow"), "--input", "{}", "--thread", "t")
Start = Callable[..., "Running"]


class Running:
    """A run whose second node waits until it is released."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.folder = folder
        self.environment = {
            **ENVIRONMENT,
            "FLOWS_STARTED": str(folder / "started"),
            "FLOWS_RELEASED": str(folder / "released"),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stepgraph", *WORDS, *more],
            cwd=folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until_it_waits(self) -> None:
        while not (self.folder / "started").exists():
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)

    def until_it_says(self, words: str) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if words in line:
                return
        raise AssertionError(f"it never said {words!r}")

    def release(self) -> None:
        (self.folder / "released").touch()

    def ended(self) -> Done:
        out, err = self.process.communicate(timeout=60)
        return Done(self.process.returncode, out, err)

    def resumed(self) -> Done:
        self.release()
        words = ("resume", flow("slow"), "--thread", "t", "-q")
        return process(self.folder, *words, environment=self.environment)

    def times_waited(self) -> int:
        return len((self.folder / "started").read_text())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    runs: list[Running] = []

    def begin(*more: str) -> Running:
        runs.append(Running(tmp_path, *more))
        runs[-1].until_it_waits()
        return runs[-1]

    yield begin
    for run in runs:
        if run.process.poll() is None:
            run.process.kill()
        run.process.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_first_signal_lets_the_running_node_end(start: Start, number: int, code: int) -> None:
    running = start()
    running.process.send_signal(number)
    running.until_it_says("stopping when the running nodes have ended")
    running.release()
    done = running.ended()
    assert done.code == code
    assert f"stepgraph resume {flow('slow')} --thread t" in done.err
    resumed = running.resumed()
    assert (resumed.code, resumed.data) == (0, {"log": ["first", "waited", "second"]})
    assert running.times_waited() == 1


def test_a_second_ctrl_c_ends_it_at_once_and_only_the_running_node_is_repeated(start: Start) -> None:
    running = start("--durability", "sync")
    running.process.send_signal(signal.SIGINT)
    running.until_it_says("stopping")
    running.process.send_signal(signal.SIGINT)
    assert running.ended().code == 130
    assert running.resumed().data == {"log": ["first", "waited", "second"]}
    assert running.times_waited() == 2


def test_a_killed_run_goes_on_from_its_last_step(start: Start) -> None:
    running = start("--durability", "sync")
    running.process.kill()
    assert running.ended().code == -signal.SIGKILL
    assert running.resumed().data == {"log": ["first", "waited", "second"]}


def test_a_stopped_run_in_json(start: Start) -> None:
    running = start("--json")
    running.process.send_signal(signal.SIGINT)
    running.until_it_says("stopping")
    running.release()
    done = running.ended()
    assert done.code == 130
    assert (done.data["status"], done.data["next"]) == ("stopped", ["second"])
