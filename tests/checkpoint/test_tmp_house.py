"""Threads are pruned, copied and deleted while runs are at work on them: all that is left can be read, and a run ends or is
told why it could not.
"""

from __future__ import annotations

import operator
import random
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from checkpoint.savers import open_saver
from stepgraph.errors import ThreadBusyError
from stepgraph.graph import END, START, StateGraph
from stepgraph.warnings import LostEditWarning

THREADS = ("1", "2", "3")


class State(TypedDict, total=False):
    run: str
    log: Annotated[list[dict[str, Any]], operator.add]
    table: Annotated[dict[str, Any], operator.or_]


@pytest.fixture(params=["memory"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with open_saver(request.param, tmp_path) as face:
        yield face.saver


def build(saver: Any) -> Any:
    """A child that goes around twice, between two parallel nodes and a last one."""

    def note(name: str) -> Any:
        def work(state: State) -> State:
            entry = {"run": state["run"], "node": name, "text": "entry " * 20}
            return {"log": [entry], "table": {f"{state['run']} {name}": [name] * 20}}

        return work

    child = StateGraph(State).add_node("inner", note("inner")).add_edge(START, "inner").compile()
    builder = StateGraph(State, output_schema=State)
    builder.add_node("left", note("left")).add_node("right", note("right")).add_node("last", note("last"))
    builder.add_node("child", lambda state: {"table": child.invoke({"run": state["run"]})["table"]})
    builder.add_edge(START, "left").add_edge(START, "right").add_edge(["left", "right"], "child")
    return builder.add_edge("child", "last").add_edge("last", END).compile(saver)


class Work:
    """What runs and the housekeeper do, and what came of it."""

    def __init__(self, saver: Any, seed: int) -> None:
        self.saver = saver
        self.graph = build(saver)
        self.random = random.Random(seed)
        self.at_work = threading.Event()
        self.done: list[str] = []
        self.runs: list[str] = []
        self.refused: list[tuple[str, ThreadBusyError]] = []

    def run(self, thread: str) -> None:
        for number in range(12):
            run = f"{thread}-{number}"
            self.runs.append(run)
            config = {"configurable": {"thread_id": thread}, "run_id": run}
            durability: Any = ("sync", "async", "exit")[number % 3]
            try:
                self.graph.invoke({"run": run}, config, durability=durability)
            except ThreadBusyError as error:
                self.refused.append((thread, error))
            else:
                self.done.append(run)

    def keep_house(self) -> None:
        while not self.at_work.is_set():
            self.one_chore()
            self.read_everything()

    def one_chore(self) -> None:
        draw, thread = self.random, self.random.choice(THREADS)
        chore = draw.randrange(7)
        if chore == 0:
            self.saver.prune([thread])
        elif chore == 1:
            self.saver.prune(THREADS, older_than=0.001)
        elif chore == 2:
            self.saver.prune([thread], namespaces=[""])
        elif chore == 3 and self.runs:
            self.saver.delete_for_runs([draw.choice(self.runs)])
        elif chore == 4 and draw.random() < 0.3:
            self.saver.delete_thread(thread)
        elif chore == 5:
            self.saver.delete_thread("copy")
            self.saver.copy_thread(thread, "copy")
        elif chore == 6 and draw.random() < 0.3:
            self.saver.prune([thread], strategy="delete", older_than=0.05)

    def read_everything(self) -> None:
        """Every checkpoint there is can be read, and its log is that of whole entries."""
        for found in self.saver.list(None):
            for entry in found.checkpoint["channel_values"].get("log", []):
                assert entry["text"] == "entry " * 20
            assert all(len(write) == 3 for write in found.pending_writes or ())


@pytest.mark.parametrize("seed", range(100, 260))
def test_house_is_kept_while_runs_are_at_work(saver: Any, seed: int) -> None:
    work = Work(saver, seed)
    with warnings.catch_warnings(), ThreadPoolExecutor(len(THREADS) + 1) as pool:
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LostEditWarning)
        housekeeper = pool.submit(work.keep_house)
        try:
            for finished in [pool.submit(work.run, thread) for thread in THREADS]:
                finished.result(120)
        finally:
            work.at_work.set()
        housekeeper.result(120)
        for thread, error in work.refused:
            assert error.thread_id == thread
            assert "run again" in str(error).lower()
        work.read_everything()
        for thread in THREADS:
            config: Any = {"configurable": {"thread_id": thread}}
            result = work.graph.invoke({"run": "after"}, config)
            nodes = [entry["node"] for entry in result["log"] if entry["run"] == "after"]
            assert nodes == ["left", "right", "last"]
            assert "after inner" in result["table"]
        work.read_everything()
