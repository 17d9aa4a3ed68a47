"""Threads that LangGraph stored go on here: with the same results, and with nothing done twice.

The golden files were written by `write.py`, with two versions of LangGraph: one that stores the paths of tasks, and one
that does not.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import postgres_server
from checkpoint.imports.checks import check_goes_on
from checkpoint.imports.shapes import SHAPES
from stepgraph.checkpoint.imports.source import Source
from stepgraph.checkpoint.imports.sqlite import SqliteSource
from stepgraph.checkpoint.imports.transfer import import_threads
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.sqlite import SqliteSaver

GOLDEN = Path(__file__).parent / "golden"
DATABASES = sorted(path.stem for path in GOLDEN.glob("*.json"))


@pytest.fixture(scope="module", params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """The name of a database that LangGraph wrote."""
    return str(request.param)


@pytest.fixture(scope="module")
def source(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    """That database."""
    text = (GOLDEN / f"{database}.sql").read_text()
    if database.endswith("postgres"):
        with postgres_server.database() as url:
            import psycopg

            from stepgraph.checkpoint.imports.postgres import PostgresSource

            with psycopg.connect(url) as connection:
                connection.execute(text)
            with closing(PostgresSource(url, "postgres")) as found:
                yield found
        return
    path = tmp_path_factory.mktemp("source") / "threads.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)
    with closing(SqliteSource(str(path))) as found:
        yield found


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "target.db")) as saver:
            yield saver


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_imported_thread_goes_on_as_it_would_have(
    database: str, source: Source, saver: Any, shape: str, asynchronous: bool
) -> None:
    expected = json.loads((GOLDEN / f"{database}.json").read_text()).get(shape)
    if expected is None:
        pytest.skip("this version of LangGraph does not know such programs")
    check_goes_on(source, saver, shape, expected, paths="0.6.11" not in database, asynchronous=asynchronous)


def test_what_is_imported_twice_is_stored_once(source: Source, saver: Any) -> None:
    first = import_threads(source, saver)
    before = [item.pending_writes for item in saver.list(None)]
    again = import_threads(source, saver)
    assert sum(report.stored for report in first) == sum(report.present for report in again) == len(before)
    assert not any(report.stored or report.problems for report in again)
    assert [item.pending_writes for item in saver.list(None)] == before
