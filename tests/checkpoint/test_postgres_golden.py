"""A PostgreSQL database that an earlier version wrote is read, and its threads go on.

`golden/postgres-N.sql` is a database of form N: what made its tables, and its rows. It is written once, by running this
file as a program (`python -m checkpoint.test_postgres_golden URL`, in `tests/`, on an empty database), and never changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint import test_golden
from checkpoint.test_golden import DIRECTORY, PLACED, a_placed_history
from stepgraph.checkpoint.growth import tracker
from stepgraph.checkpoint.placed import expanded

psycopg = pytest.importorskip("psycopg")
pytest.importorskip("psycopg_pool")

from stepgraph.checkpoint.postgres import PostgresSaver  # noqa: E402
from stepgraph.checkpoint.postgres.schema import MIGRATIONS  # noqa: E402

FIRST = 2
"""The oldest form of which there is a file."""
TABLES = ("stepgraph_checkpoints", "stepgraph_writes", "stepgraph_threads", "stepgraph_deletions")


def golden(number: int) -> Path:
    return DIRECTORY / f"postgres-{number}.sql"


@pytest.fixture(params=range(FIRST, len(MIGRATIONS) + 1))
def saver(request: pytest.FixtureRequest, postgres_url: str) -> Iterator[PostgresSaver]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(golden(request.param).read_text(encoding="utf-8"))
    with PostgresSaver.from_conn_string(postgres_url) as opened:
        yield opened


def test_every_checkpoint_comes_back(saver: Any) -> None:
    test_golden.test_every_checkpoint_comes_back(saver)


def test_the_whole_history_is_listed(saver: Any) -> None:
    test_golden.test_the_whole_history_is_listed(saver)


def test_pending_writes_come_back(saver: Any) -> None:
    test_golden.test_pending_writes_come_back(saver)


def test_a_thread_of_an_earlier_version_goes_on(saver: Any) -> None:
    test_golden.test_a_thread_of_an_earlier_version_goes_on(saver)


def test_writes_that_are_stored_without_ids_of_tasks_come_back(saver: Any) -> None:
    listed = list(saver.list(PLACED))[::-1]
    following = list(a_placed_history())[1:]
    assert len(listed) == 5
    for found, (_, values, placed) in zip(listed, following):
        own, pairs = found.checkpoint["id"], list(values.items())
        tasks = sorted([t for p in placed for t in expanded(p, own, "outer:1", pairs)], key=lambda t: t[1])
        assert found.pending_writes == [(task_id, *pair) for task_id, _, wrote in tasks for pair in wrote]


def test_a_released_migration_is_never_changed() -> None:
    """What made the tables of a file begins with what makes them today."""
    for number in range(FIRST, len(MIGRATIONS) + 1):
        made = golden(number).read_text(encoding="utf-8")
        for statements in MIGRATIONS[:number]:
            for statement in statements:
                assert statement in made


def main(url: str) -> None:
    """Write the file of the newest form."""
    from psycopg import sql

    with PostgresSaver.from_conn_string(url) as saver:
        tracker.SPAN, tracker.MERGED_SPAN = 4, 3  # type: ignore[misc]
        test_golden.write(saver)  # type: ignore[arg-type]
        test_golden.write_placed(saver)  # type: ignore[arg-type]
    lines = [
        "CREATE TABLE stepgraph_checkpoint_migrations"
        " (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())",
        *[statement for statements in MIGRATIONS for statement in statements],
    ]
    with psycopg.connect(url) as connection:
        for table in ("stepgraph_checkpoint_migrations", *TABLES):
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():  # type: ignore[arg-type]
                values = [psycopg.types.json.Jsonb(v) if type(v) is dict else v for v in row]
                literals = sql.SQL(", ").join([sql.Literal(value) for value in values])
                lines.append(f"INSERT INTO {table} VALUES ({literals.as_string(connection)})")
    golden(len(MIGRATIONS)).write_text(";\n".join(lines) + ";\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
