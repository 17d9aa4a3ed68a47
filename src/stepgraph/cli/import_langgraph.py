"""`stepgraph import-langgraph`: copy threads that LangGraph's own savers stored, so that they go on here."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from stepgraph.cli.arguments import add_json
from stepgraph.cli.exits import DONE, FAILED, CommandError, Misuse

if TYPE_CHECKING:
    from stepgraph.checkpoint.imports.source import Source
    from stepgraph.checkpoint.imports.transfer import ThreadReport
    from stepgraph.checkpoint.serde.ciphers import AesCipher

EXAMPLES = """\
The source is only read. What is in the target already stays as it is, so it can be run again. What cannot be taken over is
named, everything else is copied, and the exit code is 1.

examples:
  stepgraph import-langgraph --from sqlite:checkpoints.sqlite --to sqlite:stepgraph.db --dry-run
  stepgraph import-langgraph --from sqlite:checkpoints.sqlite --to sqlite:stepgraph.db
  stepgraph import-langgraph --from postgres://host/app --to postgres://host/app --thread order-17"""

_PLACES = "sqlite:FILE or postgres:URL"


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--from", dest="source", metavar="PLACE", required=True, help=f"where they are: {_PLACES}"
    )
    parser.add_argument(
        "--to", dest="target", metavar="PLACE", required=True, help=f"where they go: {_PLACES}"
    )
    parser.add_argument(
        "--thread",
        "-t",
        metavar="ID",
        action="append",
        help="a thread; may be given several times; all by default",
    )
    parser.add_argument("--dry-run", action="store_true", help="read everything, store nothing")
    parser.add_argument(
        "--aes-key-env",
        metavar="NAME",
        help="the environment variable with the key, where values are encrypted; they are stored encrypted with it again",
    )
    add_json(parser)


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.checkpoint.imports.transfer import import_threads

    cipher = _cipher(args.aes_key_env)
    with closing(_source(args.source, cipher)) as source, _target(args, cipher) as saver:
        reports = import_threads(
            source,
            saver,
            args.thread,
            cipher=cipher,
            dry_run=args.dry_run,
            told=None if args.json else _tell,
        )
    _sum_up(args, reports)
    return FAILED if any(report.problems for report in reports) else DONE


def _place(text: str, option: str) -> tuple[str, str]:
    """The kind of storage and its file or URL."""
    kind, _, rest = text.partition(":")
    if kind == "sqlite" and rest:
        return "sqlite", rest
    url = text if rest.startswith("//") else rest
    if kind in ("postgres", "postgresql") and url.startswith(("postgres://", "postgresql://")):
        return "postgres", url
    raise Misuse(f"{option} {text!r} names no place; give {_PLACES}.")


def _cipher(variable: str | None) -> AesCipher | None:
    if variable is None:
        return None
    from stepgraph.checkpoint.serde.ciphers import AesCipher, key_from_environment

    try:
        return AesCipher(key_from_environment(variable))
    except ValueError as error:
        raise Misuse(f"--aes-key-env: {error}") from error


def _source(text: str, cipher: AesCipher | None) -> Source:
    kind, name = _place(text, "--from")
    try:
        if kind == "sqlite":
            from stepgraph.checkpoint.imports.sqlite import SqliteSource

            return SqliteSource(name, cipher)
        from stepgraph.checkpoint.imports.postgres import PostgresSource
        from stepgraph.cli.storage import without_password

        return PostgresSource(name, without_password(name), cipher)
    except ValueError as error:
        raise CommandError(f"{error}", "Name another with --from.") from error


@contextmanager
def _target(args: Namespace, cipher: AesCipher | None) -> Iterator[Any]:
    """The saver that takes the threads; one in memory for a dry run into a place that is not there yet."""
    from stepgraph.cli.storage import holds_threads, saver_at

    _, name = _place(args.target, "--to")
    if args.dry_run and not holds_threads(name):
        from stepgraph.checkpoint.memory import InMemorySaver

        yield InMemorySaver()
        return
    with saver_at(name, create=True) as saver:
        if cipher is None:
            yield saver
        else:
            from stepgraph.checkpoint.serde.encrypted import EncryptedSerializer

            yield saver._with_serde(EncryptedSerializer(cipher))


def counted(number: int, thing: str) -> str:
    """A number of things, in words.

    Example:
        >>> counted(1, "thread"), counted(2, "thread")
        ('1 thread', '2 threads')
    """
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _tell(report: ThreadReport) -> None:
    from stepgraph.cli.screen import Styled, notes, output

    words = f"  {counted(report.stored, 'checkpoint')}"
    words += f", {report.present} were there" if report.present else ""
    if report.stored or not report.problems:
        output().say(Styled(report.thread_id, "name"), words)
    for problem in report.problems:
        notes().say(Styled("not taken over: ", "alert"), str(problem))


def _sum_up(args: Namespace, reports: list[ThreadReport]) -> None:
    from stepgraph.cli.screen import Styled, output
    from stepgraph.cli.values import dumps

    stored = sum(report.stored for report in reports)
    problems = [problem for report in reports for problem in report.problems]
    if args.json:
        threads = [
            {
                "thread_id": report.thread_id,
                "stored": report.stored,
                "present": report.present,
                "problems": [
                    {
                        "checkpoint_ns": problem.namespace,
                        "checkpoint_id": problem.checkpoint_id,
                        "reason": problem.reason,
                    }
                    for problem in report.problems
                ],
            }
            for report in reports
        ]
        print(
            dumps(
                {
                    "dry_run": args.dry_run,
                    "checkpoints": stored,
                    "problems": len(problems),
                    "threads": threads,
                }
            )
        )
        return
    verdict = "would be imported" if args.dry_run else "imported"
    words = f"  {counted(stored, 'checkpoint')} of {counted(len(reports), 'thread')}"
    more = f"; {counted(len(problems), 'thing')} could not be taken over" if problems else ""
    output().say(Styled(verdict, "bad" if problems else "good"), words, more)
