"""`stepgraph demo`: a nested approval from start to rewind: it pauses, is answered from a fresh saver, and is taken back.

Rules: everything shown here is done with the public API, as a person's own program would.
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from typing import Any

from stepgraph.cli.exits import DONE, PAUSED, CommandError, Misuse

DATABASE = "stepgraph-demo.db"
GRAPH = "stepgraph.cli.demo_graph:graph"
REQUEST = "buy 10 servers"
EXAMPLES = """\
The threads stay in a SQLite file in the working directory, to be looked at with the other commands.

examples:
  stepgraph demo
  stepgraph demo --yes"""


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "request", metavar="REQUEST", nargs="?", default=REQUEST, help=f"default: {REQUEST!r}"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="approve, without being asked")
    parser.add_argument("--no", "-n", action="store_true", help="reject, without being asked")
    parser.add_argument("--db", metavar="FILE", default=DATABASE, help=f"SQLite file, default: {DATABASE}")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.demo_graph import APPROVED, REJECTED
    from stepgraph.cli.screen import output

    if args.yes and args.no:
        raise Misuse("Say --yes or --no, not both.")
    screen = output()
    thread = _start(args, screen)
    answer = _answer(args, screen, thread)
    if answer is None:
        return PAUSED
    _resume(args, screen, thread, answer)
    _rewind(args, screen, thread, REJECTED if answer == APPROVED else APPROVED)
    _look(args, screen, thread)
    return DONE


def _start(args: Namespace, screen: Any) -> str:
    from stepgraph.cli.demo_graph import graph
    from stepgraph.cli.storage import storage

    with storage(args, create=True) as place:
        thread = _free_thread(place.saver)
        _title(screen, 1, f"A request comes in: {args.request!r}. It is thread {thread} in {place.name}.")
        outcome = _drive(graph.copy({"checkpointer": place.saver}), {"request": args.request}, thread, screen)
        if outcome.status != "paused":
            raise CommandError("The demonstration did not pause, as it should have.")
    screen.say()
    screen.say("The run has stopped. This process holds nothing of it; all of it is in the file.")
    return thread


def _free_thread(saver: Any) -> str:
    number = 1
    while saver.get_tuple({"configurable": {"thread_id": f"approval-{number}"}}) is not None:
        number += 1
    return f"approval-{number}"


def _answer(args: Namespace, screen: Any, thread: str) -> str | None:
    """What the department says: from the command line or the terminal; None if nobody is there."""
    from stepgraph.cli.asking import ask
    from stepgraph.cli.demo_graph import APPROVED, REJECTED

    if args.yes or args.no:
        return APPROVED if args.yes else REJECTED
    line: str | None = ""
    while line is not None:
        line = ask(f"Does the department approve: {args.request}? [y/n] ")
        word = (line or "").strip().lower()
        if word in ("y", "yes", APPROVED):
            return APPROVED
        if word in ("n", "no", REJECTED):
            return REJECTED
    screen.say(
        "Nobody at a terminal has answered, so the thread stays paused. Answer it, from any process, with:"
    )
    for answer in (APPROVED, REJECTED):
        screen.say(f"  stepgraph resume {GRAPH} --thread {thread} --db {shlex.quote(args.db)} {answer}")
    screen.say("Or see all of the demonstration with: stepgraph demo --yes")
    return None


def _resume(args: Namespace, screen: Any, thread: str, answer: str) -> None:
    from stepgraph.types import Command

    _title(screen, 2, f"A fresh saver opens the file, as another process would: the answer is {answer!r}.")
    with _opened(args) as graph:
        outcome = _drive(graph, Command(resume=answer), thread, screen)
        _outcome(screen, outcome.values)


def _rewind(args: Namespace, screen: Any, thread: str, other: str) -> None:
    from stepgraph.types import Command

    _title(
        screen,
        3,
        f"Back to the question, to answer {other!r} instead. What happened before stays in the history.",
    )
    with _opened(args) as graph:
        history = graph.get_state_history({"configurable": {"thread_id": thread}})
        asked = next(state for state in history if state.interrupts)
        at = asked.config["configurable"]["checkpoint_id"]
        outcome = _drive(graph, Command(resume=other), thread, screen, at)
        _outcome(screen, outcome.values)


def _look(args: Namespace, screen: Any, thread: str) -> None:
    from stepgraph.cli.history import all_levels, tree_of

    _title(screen, 4, "All checkpoints of the thread, those of the department below the step that it ran in:")
    with _opened(args) as graph:
        screen.tree(tree_of(thread, all_levels(graph.checkpointer, thread, graph)))
        _title(screen, 5, "The graph:")
        screen.text(graph.get_graph(xray=True).draw_ascii(unicode=screen.unicode))
    screen.say()
    screen.say("Look further:")
    for words in ("show", "history"):
        screen.say(f"  stepgraph {words} {GRAPH} --thread {thread} --db {shlex.quote(args.db)}")
    screen.say(f"  stepgraph diff 1 4 --thread {thread} --db {shlex.quote(args.db)}")
    screen.say("How the graph is written: stepgraph/cli/demo_graph.py")


def _opened(args: Namespace) -> Any:
    """The graph, with a saver that was opened just now."""
    from contextlib import contextmanager

    from stepgraph.cli.demo_graph import build
    from stepgraph.cli.storage import storage

    @contextmanager
    def opening() -> Any:
        with storage(args) as place:
            yield build().copy({"checkpointer": place.saver})

    return opening()


def _drive(graph: Any, given: Any, thread: str, screen: Any, at: str | None = None) -> Any:
    from stepgraph.cli.progress import Progress
    from stepgraph.cli.running import drive

    where = {"thread_id": thread, **({"checkpoint_id": at} if at else {})}
    tell = Progress(screen)
    outcome = drive(graph, given, {"configurable": where}, modes=tell.modes, listen=tell)
    if outcome.error is not None:
        raise outcome.error
    return outcome


def _title(screen: Any, number: int, text: str) -> None:
    from stepgraph.cli.screen import Styled

    if number > 1:
        screen.say()
    screen.say(Styled(f"{number}. {text}", "head"))


def _outcome(screen: Any, values: dict[str, Any]) -> None:
    from stepgraph.cli.screen import Styled

    good = values["final_decision"] == "approved"
    screen.say("outcome: ", Styled(values["final_decision"], "good" if good else "bad"))
    for line in values["log"]:
        screen.say("  ", line)
