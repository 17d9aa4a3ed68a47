"""`stepgraph diff`: what changed between two checkpoints of a thread, field by field."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any, NamedTuple

from stepgraph.cli.arguments import add_database, add_json, add_namespace, add_thread
from stepgraph.cli.exits import DONE, Misuse

EXAMPLES = """\
Checkpoints are named by id, by a part of one that no other has, or by step. Without the second one, a checkpoint is
compared with the one that it came after.

examples:
  stepgraph diff 1 4 --thread article-1 --db threads.db
  stepgraph diff 4 --thread article-1
  stepgraph diff app.py:graph 1 4 --thread article-1        (values of the program's own classes)"""


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "named",
        metavar="[GRAPH] [FROM] TO",
        nargs="+",
        help="one or two checkpoints; before them, if wanted, the graph",
    )
    add_thread(parser)
    add_database(parser)
    add_namespace(parser)
    add_json(parser)


class Change(NamedTuple):
    """One difference: where, and what was and is there; `MISSING` stands for nothing."""

    path: str
    before: Any
    after: Any


MISSING = object()


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.checkpoints import checkpoint_of, namespace_of, require_thread
    from stepgraph.cli.loading import load
    from stepgraph.cli.screen import output
    from stepgraph.cli.storage import storage
    from stepgraph.cli.values import dumps

    spec = args.named.pop(0) if ":" in args.named[0] else None
    if len(args.named) not in (1, 2):
        raise Misuse("Name one or two checkpoints.", "See: stepgraph diff --help")
    target = load(spec) if spec is not None else None
    with storage(args, target) as place:
        require_thread(place.saver, args.thread, place.name)
        namespace = namespace_of(place.saver, args.thread, args.ns)
        after = checkpoint_of(place.saver, args.thread, namespace, args.named[-1])
        if len(args.named) == 2:
            before = checkpoint_of(place.saver, args.thread, namespace, args.named[0])
        else:
            before = place.saver.get_tuple(after.parent_config) if after.parent_config else None
        changes = list(differences(_values(before), _values(after)))
        if args.json:
            print(dumps({"from": _id(before), "to": _id(after), "changes": list(map(_json, changes))}))
        else:
            _print(output(), before, after, changes)
    return DONE


def _values(found: Any) -> Any:
    from stepgraph.cli.checkpoints import fields
    from stepgraph.cli.values import jsonable

    return jsonable(fields(found.checkpoint["channel_values"])) if found is not None else {}


def differences(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """What changed between two values in terms of JSON; inside dicts and lists only what is not the same.

    Example:
        >>> for change in differences({"log": ["a"], "n": 1}, {"log": ["a", "b"], "n": 1}):
        ...     print(change.path, change.before is MISSING, change.after)
        log[1] True b
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            inner = f"{path}.{key}" if path else str(key)
            yield from differences(before.get(key, MISSING), after.get(key, MISSING), inner)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(before, after, path)
    elif before is MISSING or after is MISSING or not _same(before, after):
        yield Change(path, before, after)


def _of_lists(before: list[Any], after: list[Any], path: str) -> Iterator[Change]:
    """Items are told apart by place from the front; what was only added or removed at one place is found as such."""
    front = _common(before, after)
    back = _common(before[front:][::-1], after[front:][::-1])
    old, new = before[front : len(before) - back], after[front : len(after) - back]
    for place in range(max(len(old), len(new))):
        first = old[place] if place < len(old) else MISSING
        second = new[place] if place < len(new) else MISSING
        yield from differences(first, second, f"{path}[{front + place}]")


def _common(first: list[Any], second: list[Any]) -> int:
    count = 0
    for one, other in zip(first, second):
        if not _same(one, other):
            break
        count += 1
    return count


def _same(one: Any, other: Any) -> bool:
    """Equal, and not only alike: 1 is not True."""
    from stepgraph.cli.values import dumps

    return type(one) is type(other) and (one == other) and dumps(one) == dumps(other)


def _id(found: Any) -> str | None:
    return found.config["configurable"]["checkpoint_id"] if found is not None else None


def _json(change: Change) -> dict[str, Any]:
    shown: dict[str, Any] = {"path": change.path}
    if change.before is not MISSING:
        shown["from"] = change.before
    if change.after is not MISSING:
        shown["to"] = change.after
    return shown


def _print(screen: Any, before: Any, after: Any, changes: list[Change]) -> None:
    from stepgraph.cli.screen import Styled
    from stepgraph.cli.values import brief

    def label(found: Any) -> str:
        return "nothing" if found is None else f"step {found.metadata.get('step')} {_id(found)}"

    screen.say(Styled("from  ", "quiet"), label(before))
    screen.say(Styled("to    ", "quiet"), label(after))
    if not changes:
        screen.say("no field differs")
    for path, old, new in changes:
        if old is not MISSING:
            screen.say(Styled(f"- {path} = {brief(_quoted(old), 100)}", "bad"))
        if new is not MISSING:
            screen.say(Styled(f"+ {path} = {brief(_quoted(new), 100)}", "good"))


def _quoted(value: Any) -> str:
    from stepgraph.cli.values import dumps

    return dumps(value)
