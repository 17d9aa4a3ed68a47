"""Processes that run generated programs and can be killed: a small server process forks one for each run, in milliseconds.

The server (`python -m generated.forks`) imports everything once, has one thread and opens nothing, so its forks are safe.
It reads one pickled order a line and answers one line: the process id for an order to run, the exit status (negative for a
signal) for an order to wait. A forked process notes in a file which nodes enter, and when a call of the graph ends.
"""

from __future__ import annotations

import base64
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .build import CallLog, Setting
from .programs import Program
from .trace import Run, start

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Order:
    """What a process is to run, and where it notes what it does."""

    program: Program
    place: str
    thread: str
    durability: str
    driver: str
    notes: str


@contextmanager
def opened(place: str) -> Iterator[Any]:
    """A saver over a PostgreSQL URL or a SQLite file."""
    if place.startswith("postgres"):
        from stepgraph.checkpoint.postgres import PostgresSaver as Saver
    else:
        from stepgraph.checkpoint.sqlite import SqliteSaver as Saver  # type: ignore[assignment]
    with Saver.from_conn_string(place) as saver:
        saver.setup()
        yield saver


class Notes(CallLog):
    """A log of calls that survives the process: one line an event, written at once."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def enter(self, name: str, path: str) -> None:
        self.note(f"enter {name} {path}")

    def leave(self, name: str, path: str) -> None:
        self.note(f"leave {name} {path}")

    def note(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())


class NotedRun(Run):
    """A run that notes the end of each call of the graph."""

    def turn(self, payload: Any, config: dict[str, Any] | None = None) -> bool:
        done = super().turn(payload, config)
        self.setting.log.note("turn")  # type: ignore[attr-defined]
        return done


def colour_of(driver: str) -> str:
    return "mixed" if driver.startswith("a") else "sync"


def run_of(order: Order, saver: Any, log: CallLog | None = None) -> Run:
    """The run that an order describes, over a saver."""
    setting = Setting(colour=colour_of(order.driver), **({} if log is None else {"log": log}))
    run = start(order.program, setting, saver=saver, durability=order.durability, driver=order.driver)
    run.thread = order.thread
    return run


def work(order: Order) -> None:
    """What a forked process does."""
    with opened(order.place) as saver:
        run = run_of(order, saver, Notes(order.notes))
        run.__class__ = NotedRun
        run.to_end()


class Forks:
    """The server process, as the tests see it."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(TESTS), *sys.path])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "generated.forks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    def run(self, order: Order) -> int:
        """Start a process; its id."""
        return self._ask(("run", order))

    def wait(self, process: int) -> int:
        """Wait for the end of a process; its exit status."""
        return self._ask(("wait", process))

    def _ask(self, request: Any) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(base64.b64encode(pickle.dumps(request)).decode(), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()


def serve() -> None:
    """Fork and reap as asked, until the input ends."""
    with opened(":memory:"):
        pass
    for line in sys.stdin:
        what, given = pickle.loads(base64.b64decode(line))
        answer = _fork(given) if what == "run" else os.waitstatus_to_exitcode(os.waitpid(given, 0)[1])
        print(answer, flush=True)


def _fork(order: Order) -> int:
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        work(order)
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    from generated.forks import serve as serve_as_imported

    serve_as_imported()
