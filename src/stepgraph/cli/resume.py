"""`stepgraph resume`: answer the question that a thread waits at, or go on after a stop."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from stepgraph.cli.arguments import (
    add_database,
    add_graph,
    add_json,
    add_running,
    add_thread,
    read_answer,
)
from stepgraph.cli.exits import PAUSED, CommandError, Misuse

EXAMPLES = """\
A VALUE that is JSON is taken as JSON (true, 3, {"ok": true}), anything else as text. Without a VALUE a person at a
terminal is asked; a thread that waits for no answer just goes on.

examples:
  stepgraph resume app.py:graph --thread article-1 --db threads.db yes
  stepgraph resume app.py:graph --thread t --id 0f1e...9a approved --id 77ab...01 '{"amount": 3}'
  stepgraph resume app.py:graph --thread t --at 1 no        (answer the question of step 1 anew)"""


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_graph(parser)
    parser.add_argument("value", metavar="VALUE", nargs="?", help="the answer to the question that waits")
    parser.add_argument(
        "--id",
        nargs=2,
        metavar=("ID", "VALUE"),
        action="append",
        help="the answer to one of several questions",
    )
    parser.add_argument("--text", action="store_true", help="take each VALUE as text, also where it is JSON")
    add_thread(parser)
    add_database(parser)
    parser.add_argument(
        "--at", metavar="CHECKPOINT", help="go on from an older checkpoint: its id, or its step"
    )
    add_json(parser)
    add_running(parser)


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.checkpoints import checkpoint_of, require_thread
    from stepgraph.cli.run import perform
    from stepgraph.cli.storage import open_target

    if args.value is not None and args.id:
        raise Misuse("Give one VALUE, or answers by --id; not both.")
    with open_target(args) as (graph, place, _):
        require_thread(place.saver, args.thread, place.name)
        where: dict[str, Any] = {"thread_id": args.thread}
        if args.at is not None:
            found = checkpoint_of(place.saver, args.thread, "", args.at)
            where["checkpoint_id"] = found.config["configurable"]["checkpoint_id"]
        state = graph.get_state({"configurable": where}, subgraphs=True)
        given = _given(args, state)
        if given is _UNANSWERED:
            return PAUSED
        return perform(args, graph, given, args.thread, place, where.get("checkpoint_id"))


_UNANSWERED = object()


def _given(args: Namespace, state: Any) -> Any:
    """What the run gets: the answers, or None where nothing is asked."""
    from stepgraph.cli.reporting import questions_of

    questions = tuple(questions_of(state))
    if not state.next:
        raise CommandError(
            f"Thread {args.thread!r} has come to its end there; nothing waits.",
            "Start it again with `stepgraph run`, or go on from an older checkpoint with --at.",
        )
    answers = _answers(args)
    if args.value is None and not answers:
        if not questions:
            return None
        answers = _ask(args, questions)
        if not answers:
            return _UNANSWERED
    return _command(args, answers, questions)


def _answers(args: Namespace) -> dict[str, Any]:
    read = str if args.text else read_answer
    return {name: read(value) for name, value in args.id or ()}


def _command(args: Namespace, answers: dict[str, Any], questions: tuple[Any, ...]) -> Any:
    from stepgraph.types import Command

    pending = [question.asked.id for question in questions]
    if answers:
        unknown = [name for name in answers if name not in pending]
        if unknown:
            raise CommandError(f"No question with id {unknown[0]} waits.", f"These wait: {_listed(pending)}")
        return Command(resume=answers)
    if len(pending) > 1:
        raise CommandError(
            f"{len(pending)} questions wait, so one VALUE is not enough: say which with --id ID VALUE.",
            f"These wait: {_listed(pending)}",
        )
    return Command(resume=args.value if args.text else read_answer(args.value))


def _listed(ids: list[str]) -> str:
    return ", ".join(ids) or "none"


def _ask(args: Namespace, questions: tuple[Any, ...]) -> dict[str, Any]:
    """Ask the person at the terminal; empty if nobody is there."""
    from stepgraph.cli.asking import ask
    from stepgraph.cli.reporting import question_json, show_questions
    from stepgraph.cli.screen import notes, output
    from stepgraph.cli.values import dumps

    if args.json:
        result = {
            "type": "result",
            "status": "paused",
            "thread_id": args.thread,
            "interrupts": [question_json(question) for question in questions],
        }
        print(dumps(result), flush=True)
        return {}
    answers: dict[str, Any] = {}
    for question in questions:
        show_questions(output(), (question,))
        line = ask("answer: ")
        if line is not None:
            answers[question.asked.id] = line if args.text else read_answer(line)
    if not answers:
        notes().say("The thread waits for an answer: give it as VALUE, or as --id ID VALUE.")
    return answers
