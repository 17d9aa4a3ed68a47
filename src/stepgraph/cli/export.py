"""`stepgraph export`: checkpoints as lines of JSON, oldest first, for other programs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Any, TextIO

from stepgraph.cli.arguments import add_database, add_graph, add_json, add_thread
from stepgraph.cli.exits import DONE, CommandError

EXAMPLES = """\
Each line is one checkpoint with its values, versions, metadata and pending writes. Values that JSON does not know become
lists, objects of their fields, or text, so an export is for reading and not for loading again.

examples:
  stepgraph export --db threads.db --thread article-1 -o article-1.jsonl
  stepgraph export app.py:graph --db threads.db | jq .values"""


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_graph(parser, optional=True)
    add_thread(parser, required=False)
    add_database(parser)
    parser.add_argument("--output", "-o", metavar="FILE", help="write there and not to standard output")
    add_json(parser)


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.checkpoints import require_thread
    from stepgraph.cli.loading import load
    from stepgraph.cli.screen import notes
    from stepgraph.cli.storage import storage

    target = load(args.graph) if args.graph else None
    with storage(args, target) as place:
        if args.thread is not None:
            require_thread(place.saver, args.thread, place.name)
        where = None if args.thread is None else {"configurable": {"thread_id": args.thread}}
        found = [item.config for item in place.saver.list(where)][::-1]
        if not args.output:
            _write(place.saver, found, sys.stdout)
            return DONE
        try:
            with open(args.output, "w", encoding="utf-8") as file:
                _write(place.saver, found, file)
        except OSError as error:
            raise CommandError(f"Cannot write {args.output}: {error}") from error
        notes().say(f"{len(found)} checkpoints in {args.output}")
    return DONE


def _write(saver: Any, configs: list[Any], file: TextIO) -> None:
    from stepgraph.cli.values import dumps

    for config in configs:
        found = saver.get_tuple(config)
        if found is not None:
            print(dumps(line_of(found)), file=file)


def line_of(found: Any) -> dict[str, Any]:
    """All that is stored of one checkpoint."""
    from stepgraph.cli.checkpoints import fields

    where, checkpoint = found.config["configurable"], found.checkpoint
    parent = (found.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    return {
        "thread_id": where["thread_id"],
        "checkpoint_ns": where.get("checkpoint_ns") or "",
        "checkpoint_id": where["checkpoint_id"],
        "parent_checkpoint_id": parent,
        "ts": checkpoint.get("ts"),
        "metadata": {key: value for key, value in found.metadata.items() if not key.startswith("__")},
        "values": fields(checkpoint["channel_values"]),
        "channel_versions": checkpoint["channel_versions"],
        "versions_seen": checkpoint["versions_seen"],
        "updated_channels": checkpoint.get("updated_channels"),
        "pending_writes": [
            {"task_id": task, "channel": channel, "value": value}
            for task, channel, value in found.pending_writes or ()
        ],
    }
