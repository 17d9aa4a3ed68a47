"""The program that `test_killed.py` kills: a node that fails for good, its handler, a sibling, and a node after them.

Called as `python killed_program.py DATABASE LOG POINT`. Each point it passes is written to the log; at POINT it kills
itself. It starts the thread, or goes on with what is stored of it, and prints the final log of the state as JSON.
"""

from __future__ import annotations

import json
import operator
import os
import signal
import sys
import threading
from typing import Annotated, Any, TypedDict

from stepgraph.errors import NodeError
from stepgraph.graph import START, StateGraph
from stepgraph.types import RetryPolicy

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


class Points:
    """Where the program is; it writes down each point, and dies at one of them."""

    def __init__(self, log: str, deadly: str) -> None:
        self._log = open(log, "a", encoding="utf-8")  # noqa: SIM115 - it stays open until the process dies
        self._deadly = deadly
        self._lock = threading.Lock()
        self._stored = 0

    def at(self, point: str) -> None:
        with self._lock:
            self._log.write(point + "\n")
            self._log.flush()
            if point == self._deadly:
                os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, saver: Any) -> None:
        """Make each transaction of a saver a point."""
        store = saver.store

        def watched(*arguments: Any, **options: Any) -> None:
            self._stored += 1
            number = self._stored
            store(*arguments, **options)
            self.at(f"stored {number}")

        saver.store = watched


def build(points: Points, saver: Any) -> Any:
    def fails(state: State) -> State:
        points.at("node begins")
        raise ValueError("no")

    def judge(error: Exception) -> bool:
        points.at("judged")
        return True

    def handles(state: State, error: NodeError) -> State:
        points.at("handler begins")
        points.at("handler ends")
        return {"log": [f"handled {error.error!r}"]}

    def sibling(state: State) -> State:
        points.at("sibling begins")
        points.at("sibling ends")
        return {"log": ["sibling"]}

    def last(state: State) -> State:
        points.at("last begins")
        return {"log": ["last"]}

    retry = RetryPolicy(initial_interval=0.001, max_attempts=2, jitter=False, retry_on=judge)
    builder = StateGraph(State).add_node("fails", fails, error_handler=handles, retry_policy=retry)
    builder.add_node("sibling", sibling).add_node("last", last)
    builder.add_edge(START, "fails").add_edge(START, "sibling").add_edge("sibling", "last")
    return builder.compile(saver)


def open_saver(database: str) -> Any:
    """A saver on a file or, for a URL, on a server."""
    if database.startswith("postgresql://"):
        from stepgraph.checkpoint.postgres import PostgresSaver

        return PostgresSaver.from_conn_string(database)
    from stepgraph.checkpoint.sqlite import SqliteSaver

    return SqliteSaver.from_conn_string(database)


def main(database: str, log: str, deadly: str) -> None:
    with open_saver(database) as saver:
        points = Points(log, deadly)
        points.watch(saver)
        graph = build(points, saver)
        input: Any = {"log": []} if saver.get_tuple(THREAD) is None else None
        print(json.dumps(graph.invoke(input, THREAD, durability="sync")["log"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
