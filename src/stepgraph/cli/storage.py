"""Which saver a command works with: `--db`, the graph's own, or the file in the working directory.

Rules: commands that only look never make a file. A saver is open for as long as the command runs.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from stepgraph.cli.arguments import DATABASE, DATABASE_VARIABLE
from stepgraph.cli.exits import CommandError
from stepgraph.cli.loading import Target, load

_URLS = ("postgres://", "postgresql://")


class Storage:
    """An open saver.

    Attributes:
        saver: The saver.
        option: What to add to a command line so that it finds the same threads; may be empty.
        name: Where the threads are, for people.
    """

    def __init__(self, saver: Any, option: list[str], name: str) -> None:
        self.saver = saver
        self.option = option
        self.name = name


@contextmanager
def storage(args: Namespace, target: Target | None = None, *, create: bool = False) -> Iterator[Storage]:
    """Open the saver that the command line means.

    Args:
        args: With `db`.
        target: The graph, whose own saver counts where `--db` is not given.
        create: Make the file if it is not there.

    Raises:
        CommandError: There is no such file, or it is no database.
    """
    own = target.own_saver() if target is not None and not args.db else None
    if own is not None:
        yield Storage(own, [], f"the graph's own {type(own).__name__}")
        return
    name = args.db or os.environ.get(DATABASE_VARIABLE) or DATABASE
    shown = without_password(name)
    with saver_at(name, create=create) as saver:
        yield Storage(saver, ["--db", shown] if args.db else [], shown)


@contextmanager
def saver_at(name: str, *, create: bool) -> Iterator[Any]:
    """Open the saver of a file or a URL.

    Args:
        name: A file, or a URL that begins with `postgres://` or `postgresql://`.
        create: Make the file if it is not there.

    Raises:
        CommandError: There is no such file, or it is no database.
    """
    with _postgres(name, create) if name.startswith(_URLS) else _sqlite(name, create) as saver:
        yield saver


def holds_threads(name: str) -> bool:
    """Whether a saver has stored threads in a file or at a URL; looking changes nothing."""
    if name.startswith(_URLS):
        return _has_tables(name)
    try:
        _look_for_threads(name)
    except CommandError:
        return False
    return True


def without_password(url: str) -> str:
    """A URL that may be shown.

    Example:
        >>> without_password("postgres://ann:secret@host/threads")
        'postgres://ann@host/threads'
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url
    address, mark, settings = rest.partition("?")
    user, at, place = address.rpartition("@")
    kept = "&".join([part for part in settings.split("&") if not part.lower().startswith("password=")])
    return f"{scheme}://{user.partition(':')[0]}{at}{place}{mark if kept else ''}{kept}"


@contextmanager
def open_target(args: Namespace, *, create: bool = False) -> Iterator[tuple[Any, Storage, Target]]:
    """The graph that `args.graph` names, compiled with the saver that the command line means."""
    target = load(args.graph)
    with storage(args, target, create=create) as place:
        yield target.compiled(place.saver), place, target


@contextmanager
def _sqlite(name: str, create: bool) -> Iterator[Any]:
    from sqlite3 import Error

    from stepgraph.checkpoint.sqlite import SqliteSaver

    try:
        if not create and name != ":memory:":
            _look_for_threads(name)
        opened = SqliteSaver.from_conn_string(name)
        saver = opened.__enter__()
    except Error as error:
        raise CommandError(f"{name} cannot be used as a SQLite database: {error}.") from error
    with ExitStack() as stack:
        stack.push(opened)
        try:
            saver.setup()
        except Error as error:
            raise CommandError(f"{name} cannot be used as a SQLite database: {error}.") from error
        yield saver


def _look_for_threads(name: str) -> None:
    """Refuse what is no database of threads, so that looking changes nothing."""
    from sqlite3 import connect

    if not Path(name).is_file():
        raise CommandError(
            f"There is no file {name}, so no threads are stored there.",
            f"Name the file with --db FILE, or by ${DATABASE_VARIABLE}.",
        )
    connection = connect(f"{Path(name).resolve().as_uri()}?mode=ro", uri=True)
    try:
        found = connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name GLOB 'stepgraph_*'"
        ).fetchone()
    finally:
        connection.close()
    if found is None:
        raise CommandError(f"{name} holds no threads.", "Name another file with --db FILE.")


@contextmanager
def _postgres(url: str, create: bool) -> Iterator[Any]:
    shown = without_password(url)
    try:
        from stepgraph.checkpoint.postgres import PostgresSaver
    except ImportError as error:
        raise CommandError(f"--db {shown}: {error}") from error
    with PostgresSaver.from_conn_string(url) as saver:
        try:
            if not create and not _has_tables(url):
                raise CommandError(f"{shown} holds no threads.", "Name another database with --db URL.")
            saver.setup()
        except _database_errors() as error:
            raise CommandError(f"{shown} cannot be used: {str(error).strip()}") from error
        yield saver


def _has_tables(url: str) -> bool:
    """Whether our tables are there, so that looking makes none."""
    from stepgraph.checkpoint.postgres.driver import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute("SELECT to_regclass('stepgraph_checkpoints')").fetchone()
    return found is not None and found[0] is not None


def _database_errors() -> tuple[type[Exception], ...]:
    from stepgraph.checkpoint.postgres.driver import psycopg

    return psycopg.Error, ConnectionError
