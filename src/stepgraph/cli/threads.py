"""`stepgraph threads`: which threads are stored, how far they came, and which wait."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from stepgraph.cli.arguments import add_database, add_json
from stepgraph.cli.exits import DONE

EXAMPLES = """\
examples:
  stepgraph threads --db threads.db
  stepgraph threads --db threads.db --waiting --json"""


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_database(parser)
    parser.add_argument("--waiting", action="store_true", help="only threads in which a question waits")
    add_json(parser)


class Summary:
    """What a list shows of one thread."""

    def __init__(self, thread: str) -> None:
        self.thread = thread
        self.checkpoints = 0
        self.levels: set[str] = set()
        self.newest: Any = None

    def add(self, seen: Any) -> None:
        """Count one checkpoint; they come newest first."""
        self.checkpoints += 1
        self.levels.add(seen.namespace)
        if not seen.namespace and self.newest is None:
            self.newest = seen


def summaries(saver: Any) -> list[Summary]:
    """All threads, the one that moved last first."""
    from stepgraph.cli.checkpoints import seen_of_stored

    found: dict[str, Summary] = {}
    for item in saver.list(None):
        thread = item.config["configurable"]["thread_id"]
        found.setdefault(thread, Summary(thread)).add(seen_of_stored(item))
    return list(found.values())


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.screen import Styled, notes, output
    from stepgraph.cli.storage import storage
    from stepgraph.cli.values import dumps

    with storage(args) as place:
        found = [item for item in summaries(place.saver) if not args.waiting or _waits(item)]
        if args.json:
            print(dumps([_json(item) for item in found]))
            return DONE
        if not found:
            notes().say(f"No threads{' that wait' if args.waiting else ''} in {place.name}.")
            return DONE
        rows = []
        for item in found:
            newest = item.newest
            state = _state(newest)
            step = "" if newest is None else str(newest.step)
            when = "" if newest is None else newest.created_at[:19].replace("T", " ")
            counts = (str(item.checkpoints), str(len(item.levels)))
            rows.append((Styled(item.thread, "name"), step, *counts, when, state))
        output().table(("thread", "step", "checkpoints", "levels", "last (UTC)", "state"), rows)
    return DONE


def _waits(item: Summary) -> bool:
    return item.newest is not None and bool(item.newest.asks)


def _state(newest: Any) -> Any:
    from stepgraph.cli.screen import Styled

    if newest is not None and newest.asks:
        return Styled("asks", "alert")
    return Styled("failed", "bad") if newest is not None and newest.errors else ""


def _json(item: Summary) -> dict[str, Any]:
    newest = item.newest
    return {
        "thread_id": item.thread,
        "checkpoints": item.checkpoints,
        "levels": sorted(item.levels),
        "step": newest and newest.step,
        "checkpoint_id": newest and newest.id,
        "created_at": newest and newest.created_at,
        "interrupts": [{"id": ask.id, "value": ask.value} for ask in newest.asks] if newest else [],
        "errors": list(newest.errors) if newest else [],
    }
