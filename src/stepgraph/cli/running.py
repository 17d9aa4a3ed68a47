"""Driving a graph from the command line, and how it came out.

A first Ctrl-C (or SIGTERM) asks for an orderly stop: running nodes end, their step is stored, and the run stops. A second
one ends the process at once, as a crash would. Either way the thread can go on from what is stored.

Rules: everything that a run ends with, also a failure, is an `Outcome`; whoever called decides what to print.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import Any

from stepgraph.cli.arguments import read_object
from stepgraph.cli.exits import DONE, FAILED, PAUSED, STOPPED, TERMINATED
from stepgraph.cli.reporting import Question, questions_of
from stepgraph.cli.screen import Styled, notes
from stepgraph.values.names import INTERRUPT

CODES = {"done": DONE, "failed": FAILED, "paused": PAUSED, "stopped": STOPPED, "terminated": TERMINATED}

Listener = Callable[[Mapping[str, Any]], None]


class Outcome:
    """How a run came out.

    Attributes:
        status: `done`, `paused`, `failed`, `stopped` (Ctrl-C) or `terminated` (SIGTERM).
        values: The output, as far as it came.
        questions: The questions that wait for an answer, each with the path of nodes to it.
        next: The nodes that are due.
        error: What it failed with.
    """

    def __init__(self) -> None:
        self.status = "done"
        self.values: Any = None
        self.questions: tuple[Question, ...] = ()
        self.next: tuple[str, ...] = ()
        self.checkpoint: str | None = None
        self.error: BaseException | None = None

    @property
    def code(self) -> int:
        """The exit code."""
        return CODES[self.status]


class Stop:
    """What a person or the system asked for while a run was at work."""

    def __init__(self) -> None:
        from stepgraph.runtime import RunControl

        self.control = RunControl()
        self.status: str | None = None

    def ask(self, number: int, frame: Any) -> None:
        """Handle a signal: the first one stops in order, a second one ends the process, whatever a node does."""
        if self.status is not None:
            os._exit(CODES[self.status])
        self.status = "terminated" if number == signal.SIGTERM else "stopped"
        self.control.request_drain(signal.Signals(number).name)
        notes().say(
            Styled("stopping", "alert"), " when the running nodes have ended; Ctrl-C again stops at once"
        )

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Handle signals for as long as the block lasts; only the main thread may."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self.ask) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before):
                signal.signal(number, handler)


def run_options(args: Namespace) -> dict[str, Any]:
    """What `stream()` is called with, beside input and config."""
    options: dict[str, Any] = {
        "durability": args.durability,
        "context": read_object(args.context, "--context"),
    }
    for name in ("interrupt_before", "interrupt_after"):
        nodes = getattr(args, name)
        if nodes:
            options[name] = "*" if "*" in nodes else nodes
    return options


def drive(
    graph: Any,
    given: Any,
    config: Mapping[str, Any],
    *,
    modes: tuple[str, ...] = (),
    options: Mapping[str, Any] | None = None,
    listen: Listener | None = None,
    quiet_stdout: bool = False,
) -> Outcome:
    """Run a graph to where it ends, pauses, fails or is stopped.

    Args:
        graph: The compiled graph.
        given: The input, a `Command`, or None to go on.
        config: The thread and more.
        modes: Stream modes that `listen` wants.
        options: More for `stream()`.
        listen: Called with every part, of every level.
        quiet_stdout: Send what nodes print to standard error, so that standard output holds JSON only.
    """
    outcome, stop = Outcome(), Stop()
    with stop.watching(), _printing_aside(quiet_stdout):
        try:
            parts = graph.stream(
                given,
                config,
                stream_mode=list(dict.fromkeys((*modes, "values", "updates"))),
                subgraphs=True,
                version="v2",
                control=stop.control,
                **(options or {}),
            )
            for part in parts:
                _note(outcome, graph, part)
                if listen is not None and part["type"] in modes:
                    listen(part)
        except KeyboardInterrupt:
            outcome.status = "stopped"
        except BaseException as error:
            _failed(outcome, stop, error)
    _look(outcome, graph, config)
    return outcome


@contextmanager
def _printing_aside(aside: bool) -> Iterator[None]:
    if not aside:
        yield
        return
    with redirect_stdout(sys.stderr):
        yield


def _note(outcome: Outcome, graph: Any, part: Mapping[str, Any]) -> None:
    if part["ns"]:
        return
    if part["type"] == "values":
        outcome.values = _output(graph, part["data"])
    elif part["type"] == "updates" and INTERRUPT in part["data"]:
        outcome.status = "paused"
        outcome.questions += tuple(Question((), asked) for asked in part["data"][INTERRUPT])


def _output(graph: Any, values: Any) -> Any:
    shown = graph.output_channels
    if isinstance(values, dict) and not isinstance(shown, str):
        return {name: value for name, value in values.items() if name in shown}
    return values


def _failed(outcome: Outcome, stop: Stop, error: BaseException) -> None:
    from stepgraph.errors import GraphDrained

    if isinstance(error, GraphDrained):
        outcome.status = stop.status or "stopped"
    elif isinstance(error, Exception):
        outcome.status, outcome.error = "failed", error
    else:
        raise error


def _look(outcome: Outcome, graph: Any, config: Mapping[str, Any]) -> None:
    """Read off the thread what is due and where it stands."""
    if graph.checkpointer is None or isinstance(graph.checkpointer, bool):
        return
    where = {k: v for k, v in config["configurable"].items() if k != "checkpoint_id"}
    state = graph.get_state({**config, "configurable": where})
    outcome.next = tuple(state.next)
    outcome.checkpoint = state.config["configurable"].get("checkpoint_id")
    if outcome.status == "paused":
        nested = graph.get_state({**config, "configurable": where}, subgraphs=True)
        outcome.questions = tuple(questions_of(nested))
