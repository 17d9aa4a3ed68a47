"""`stepgraph run`: start a graph on a thread."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from stepgraph.cli.arguments import (
    add_database,
    add_graph,
    add_json,
    add_running,
    add_thread,
    config_for,
    read_json,
)

EXAMPLES = """\
examples:
  stepgraph run app.py:graph --input '{"topic": "rivers"}' --thread article-1 --db threads.db
  stepgraph run package.module:graph --input @input.json --json
  stepgraph run app.py:graph --input '{"topic": "rivers"}' --stream updates --subgraphs"""


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_graph(parser)
    parser.add_argument(
        "--input", "-i", metavar="JSON", required=True, help="the input; or @FILE, or - for stdin"
    )
    add_thread(parser, required=False)
    add_database(parser)
    parser.add_argument("--no-save", action="store_true", help="store nothing; the run cannot be resumed")
    add_json(parser)
    add_running(parser)


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.exits import Misuse
    from stepgraph.cli.loading import load
    from stepgraph.cli.storage import storage

    given = read_json(args.input, "--input")
    if args.no_save:
        if args.db or args.thread:
            raise Misuse("--no-save stores nothing, so it takes neither --thread nor --db.")
        return perform(args, load(args.graph).compiled(None), given, None, None)
    thread = args.thread or fresh_thread()
    target = load(args.graph)
    with storage(args, target, create=True) as place:
        return perform(args, target.compiled(place.saver), given, thread, place)


def fresh_thread() -> str:
    """A name for a thread that has none: short, and not used before."""
    from os import urandom

    return urandom(6).hex()


def perform(
    args: Namespace, graph: Any, given: Any, thread: str | None, place: Any, at: str | None = None
) -> int:
    """Drive the graph, tell what happens, report how it came out.

    Args:
        args: With the arguments of `add_running` and `add_json`.
        graph: The compiled graph.
        given: The input, a `Command`, or None to go on.
        thread: The thread, if it is stored.
        place: Where it is stored.
        at: The checkpoint to go on from; the newest by default.
    """
    from stepgraph.cli.progress import Progress
    from stepgraph.cli.reporting import Report, print_part
    from stepgraph.cli.running import drive, run_options
    from stepgraph.cli.screen import notes

    config = config_for(args, thread)
    if at is not None:
        config["configurable"]["checkpoint_id"] = at
    asked, stdout = tuple(args.stream or ()), sys.stdout
    tell = None if args.quiet or args.json or asked else Progress(notes())

    def listen(part: Any) -> None:
        if tell is not None:
            tell(part)
        if part["type"] in asked and (args.subgraphs or not part["ns"]):
            print_part(part, stdout, as_json=args.json)

    modes = asked if tell is None else (*asked, *tell.modes)
    outcome = drive(
        graph, given, config, modes=modes, options=run_options(args), listen=listen, quiet_stdout=args.json
    )
    report = Report(args.graph, thread or "", place, traceback=args.traceback)
    if args.json:
        report.for_programs(outcome)
    else:
        report.for_people(outcome)
    return outcome.code
