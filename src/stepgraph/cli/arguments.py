"""Arguments that several commands take, and how their texts are read.

Rules: an argument has one name and one meaning in all commands. A text that cannot be read is a `Misuse` that shows the
text and where it breaks.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any, Final

from stepgraph.cli.exits import Misuse

DATABASE: Final = "stepgraph.db"
DATABASE_VARIABLE: Final = "STEPGRAPH_DB"
MODES: Final = ("values", "updates", "custom", "messages", "checkpoints", "tasks", "debug")


def add_graph(parser: ArgumentParser, *, optional: bool = False) -> None:
    """`GRAPH`: which graph."""
    use = "; without it, what is stored is shown, but not what is due" if optional else ""
    parser.add_argument(
        "graph",
        metavar="GRAPH",
        nargs="?" if optional else None,
        help="MODULE:NAME or FILE.py:NAME: a compiled graph, a StateGraph, an entrypoint, or a function that returns one"
        + use,
    )


def add_thread(parser: ArgumentParser, *, required: bool = True) -> None:
    """`--thread`: which thread."""
    parser.add_argument("--thread", "-t", metavar="ID", required=required, help="the thread")


def add_database(parser: ArgumentParser) -> None:
    """`--db`: where threads are stored."""
    parser.add_argument(
        "--db",
        metavar="PLACE",
        help=f"SQLite file or postgresql:// URL with the threads; by default the graph's own saver, else ${DATABASE_VARIABLE}, else {DATABASE}",
    )


def add_place(parser: ArgumentParser, *, at: str) -> None:
    """`--ns` and `--at`: which level of nesting, which checkpoint."""
    add_namespace(parser)
    parser.add_argument(
        "--at",
        metavar="CHECKPOINT",
        help=f"{at}: an id, a part of one that no other has, or the number of a step",
    )


def add_namespace(parser: ArgumentParser) -> None:
    """`--ns`: which level of nesting."""
    parser.add_argument(
        "--ns",
        metavar="NAMESPACE",
        default="",
        help="a nested graph: its namespace, or the path of node names to it (parent|child), which means its latest run",
    )


def add_json(parser: ArgumentParser) -> None:
    """`--json` and `--traceback`."""
    parser.add_argument("--json", action="store_true", help="answer in JSON, for programs")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")


def add_running(parser: ArgumentParser) -> None:
    """How a run is done and what is told of it."""
    group = parser.add_argument_group("the run")
    group.add_argument(
        "--stream",
        metavar="MODE",
        action="append",
        choices=MODES,
        help=f"print parts of this mode while it runs ({', '.join(MODES)}); may be given several times",
    )
    group.add_argument(
        "--subgraphs", action="store_true", help="with --stream: the parts of nested graphs too"
    )
    group.add_argument("--quiet", "-q", action="store_true", help="do not tell which nodes run")
    group.add_argument(
        "--durability", choices=("sync", "async", "exit"), help="when steps are stored (default: async)"
    )
    group.add_argument("--context", metavar="JSON", help="what nodes find in runtime.context; or @FILE, or -")
    group.add_argument("--config", metavar="JSON", help="more config for the run; or @FILE, or -")
    group.add_argument("--recursion-limit", metavar="N", type=positive, help="most supersteps of the run")
    group.add_argument(
        "--interrupt-before", metavar="NODE", action="append", help="stop before it ('*': each)"
    )
    group.add_argument("--interrupt-after", metavar="NODE", action="append", help="stop after it ('*': each)")


def positive(text: str) -> int:
    """A whole number above zero."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def read_json(text: str, option: str) -> Any:
    """The value of an option that takes `JSON`, `@FILE`, or `-` for standard input.

    Raises:
        Misuse: The file cannot be read, or the text is no JSON.
    """
    from json import JSONDecodeError, loads

    source = text
    if text == "-":
        source = sys.stdin.read()
    elif text.startswith("@"):
        try:
            with open(text[1:], encoding="utf-8") as file:
                source = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise Misuse(f"{option} {text}: cannot read the file: {error}") from error
    try:
        return loads(source)
    except JSONDecodeError as error:
        place = source.splitlines()[error.lineno - 1] if source.strip() else ""
        raise Misuse(
            f"{option} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}: {place[:80]!r}",
            f'Quote it for the shell, as in {option} \'{{"key": "value"}}\', or put it into a file: {option} @FILE',
        ) from error


def read_object(text: str | None, option: str) -> dict[str, Any] | None:
    """Like `read_json`, for an option that takes an object.

    Raises:
        Misuse: It is no object.
    """
    if text is None:
        return None
    value = read_json(text, option)
    if not isinstance(value, dict):
        raise Misuse(f"{option} must be a JSON object, got {type(value).__name__}: {text[:80]!r}")
    return value


def read_answer(text: str) -> Any:
    """An answer to a question: JSON where it is JSON, else the text itself.

    Example:
        >>> read_answer("yes"), read_answer("true"), read_answer('{"ok": 1}'), read_answer('"true"')
        ('yes', True, {'ok': 1}, 'true')
    """
    from json import loads

    try:
        return loads(text, parse_constant=_no_constant)
    except ValueError:
        return text


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def config_for(args: Namespace, thread: str | None) -> dict[str, Any]:
    """The config of a run: what `--config` says, with the thread and the limit of the command line.

    Raises:
        Misuse: `--config` is no object, or names another thread.
    """
    config: dict[str, Any] = dict(read_object(args.config, "--config") or {})
    configurable = dict(config.get("configurable") or {})
    named = configurable.get("thread_id")
    if thread is not None and named is not None and named != thread:
        raise Misuse(f"--thread {thread} and the thread_id {named!r} of --config are not the same; give one.")
    if thread is not None:
        configurable["thread_id"] = thread
    config["configurable"] = configurable
    if args.recursion_limit is not None:
        config["recursion_limit"] = args.recursion_limit
    return config
