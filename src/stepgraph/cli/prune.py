"""`stepgraph prune`: delete old checkpoints, or whole threads."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from stepgraph.cli.arguments import add_database, add_json
from stepgraph.cli.exits import DONE, CommandError, Misuse

EXAMPLES = """\
examples:
  stepgraph prune --thread article-1 --db threads.db         (keeps the newest checkpoint of each level)
  stepgraph prune --all --older-than 30d --yes
  stepgraph prune --thread article-1 --delete --yes          (the whole thread)
  stepgraph prune --expired --yes                            (threads whose time to live is over)"""

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--thread", "-t", metavar="ID", action="append", help="a thread; may be given several times"
    )
    parser.add_argument("--all", action="store_true", help="all threads")
    parser.add_argument(
        "--expired", action="store_true", help="delete the threads whose time to live (ttl) is over"
    )
    add_database(parser)
    parser.add_argument(
        "--delete", action="store_true", help="delete the threads, not only what is old in them"
    )
    parser.add_argument(
        "--older-than",
        metavar="AGE",
        type=age,
        help="only checkpoints older than this: 90s, 15m, 12h, 30d, 4w",
    )
    parser.add_argument(
        "--namespace",
        metavar="NS",
        action="append",
        help="only this level ('' is the root); may be given several times",
    )
    parser.add_argument(
        "--vacuum",
        action="store_true",
        help="write a SQLite file anew without the space of what was deleted; files of stepgraph do without",
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    add_json(parser)


def age(text: str) -> float:
    """Seconds of an age such as `30d`.

    Example:
        >>> age("2h")
        7200.0
    """
    unit = _SECONDS.get(text[-1:])
    try:
        count = float(text[:-1])
    except ValueError:
        unit = None
    if unit is None or count < 0:
        raise ArgumentTypeError(f"{text!r} is no age; give a number and a unit, as in 30d (s, m, h, d, w)")
    return count * unit


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.screen import Styled, output
    from stepgraph.cli.storage import storage
    from stepgraph.cli.values import dumps

    if args.all + bool(args.thread) + args.expired != 1:
        raise Misuse("Say which threads: --thread ID (several times, if wanted), --all, or --expired.")
    if args.expired and (args.delete or args.older_than is not None or args.namespace):
        raise Misuse("--expired deletes whole threads: leave out --delete, --older-than and --namespace.")
    with storage(args) as place:
        before = _counts(place.saver)
        unknown = [thread for thread in args.thread or () if thread not in before]
        if unknown:
            raise CommandError(
                f"Thread {unknown[0]!r} is not stored in {place.name}; nothing was deleted.",
                "List what is there with: stepgraph threads",
            )
        threads = args.thread or list(before)
        if not (args.yes or _agreed(args, threads, place.name)):
            raise CommandError("Nothing was deleted.", "Say --yes to delete without being asked.")
        _delete(args, place.saver, threads)
        after = _counts(place.saver)
        gone = {thread: before[thread] - after.get(thread, 0) for thread in threads}
        if args.json:
            print(dumps({"deleted": gone, "checkpoints": sum(gone.values())}))
        else:
            words = f"  {sum(gone.values())} checkpoints in {place.name}"
            output().say(Styled("deleted", "good"), words)
    return DONE


def _delete(args: Namespace, saver: Any, threads: list[str]) -> None:
    if args.expired:
        saver.sweep_ttl()
    else:
        options: dict[str, Any] = {"strategy": "delete" if args.delete else "keep_latest"}
        if args.older_than is not None:
            from datetime import timedelta

            options["older_than"] = timedelta(seconds=args.older_than)
        if args.namespace:
            options["namespaces"] = args.namespace
        saver.prune(threads, **options)
    if args.vacuum and hasattr(saver, "vacuum"):
        saver.vacuum()


def _counts(saver: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in saver.list(None):
        thread = item.config["configurable"]["thread_id"]
        counts[thread] = counts.get(thread, 0) + 1
    return counts


def _agreed(args: Namespace, threads: list[str], place: str) -> bool:
    from stepgraph.cli.asking import ask

    if args.json:
        return False
    if args.expired:
        return _is_yes(ask(f"Delete the threads in {place} whose time to live is over? [y/N] "))
    named = ", ".join(threads[:5]) + (", ..." if len(threads) > 5 else "")
    what = "all of" if args.delete else "old checkpoints of"
    return _is_yes(ask(f"Delete {what} {len(threads)} threads ({named}) in {place}? [y/N] "))


def _is_yes(line: str | None) -> bool:
    return line is not None and line.strip().lower() in ("y", "yes")
