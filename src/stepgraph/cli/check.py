"""`stepgraph check`: find mistakes in a graph before it runs. Nothing of the graph is run."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any, Final

from stepgraph.cli.arguments import add_graph, add_json
from stepgraph.cli.exits import DONE, FAILED

EXAMPLES = """\
examples:
  stepgraph check app.py:graph
  stepgraph check app.py:graph --strict        (fails on warnings too)
  stepgraph check app.py:graph --json"""

_STYLES: Final = {"error": "bad", "warning": "alert", "hint": "quiet"}


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_graph(parser)
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings as for errors")
    parser.add_argument("--no-hints", action="store_true", help="tell only errors and warnings")
    add_json(parser)


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.loading import load

    found = load(args.graph).compiled(None).check()
    if args.no_hints:
        found = [finding for finding in found if finding.severity != "hint"]
    failing = {"error", "warning"} if args.strict else {"error"}
    if args.json:
        _print_json(found)
    else:
        _print(found)
    return FAILED if any(finding.severity in failing for finding in found) else DONE


def _print_json(found: list[Any]) -> None:
    from stepgraph.cli.values import dumps

    print(dumps([{name: getattr(finding, name) for name in finding.record_fields} for finding in found]))


def _near(place: str) -> str:
    """A place as seen from the current folder, where it is inside."""
    from os import getcwd, sep

    return place.removeprefix(getcwd() + sep)


def _print(found: list[Any]) -> None:
    from stepgraph.cli.screen import Styled, notes, output

    screen = output()
    for finding in found:
        level = f" in {finding.at}" if finding.at else ""
        place = f"  {_near(finding.place)}" if finding.place else ""
        screen.say(
            Styled(f"{finding.severity} {finding.code}", _STYLES[finding.severity]),
            level,
            Styled(place, "quiet"),
        )
        for text in (finding.problem, finding.why, finding.mend):
            screen.say("  ", text)
    counts = [
        f"{count} {severity}{'' if count == 1 else 's'}"
        for severity in _STYLES
        if (count := sum(finding.severity == severity for finding in found))
    ]
    notes().say(", ".join(counts) if counts else Styled("nothing found", "good"))
