"""Threads that LangGraph stored go on here: with the same results, and with nothing done twice.

The golden files were written by `write.py`, with two versions of LangGraph: one that stores the paths of tasks, and one
that does not.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import postgres_server
from checkpoint.imports.checks import check_goes_on
from checkpoint.imports.shapes import SHAPES, Library
from checkpoint.imports.write import BEGUN, config_of, go_on, look
from stepgraph.checkpoint.imports.source import Found, Source
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


@pytest.mark.parametrize("shape", BEGUN)
def test_threads_of_an_older_form_go_on_as_those_of_today(shape: str, saver: Any, tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((GOLDEN / "langgraph-0.2.76-begun.sql").read_text())
    expected = json.loads((GOLDEN / "langgraph-1.2.24-sqlite.json").read_text())[shape]
    with closing(SqliteSource(str(path))) as source:
        (report,) = import_threads(source, saver, [shape])
    assert not report.problems
    lib = Library("stepgraph")
    graph = SHAPES[shape].build(lib, saver)
    seen = look(graph, config_of(shape))
    for key in ("values", "next", "history"):
        assert seen[key] == expected["stored"][key]
    asked = sorted(question for _, question in expected["stored"]["questions"])
    assert sorted(question for _, question in seen["questions"]) == asked
    went = go_on(lib, graph, SHAPES[shape], config_of(shape))
    assert went == {key: expected[key] for key in went}


class SendsInWritesOnly(SqliteSource):
    """As old databases of Postgres are: what is sent stands only in what the step before wrote."""

    def content(self, thread_id: str, found: Found) -> Mapping[str, Any]:
        return {**super().content(thread_id, found), "pending_sends": []}


def test_sends_that_stand_in_writes_only_are_found(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((GOLDEN / "langgraph-0.2.76-begun.sql").read_text())
    saver = InMemorySaver()
    with closing(SendsInWritesOnly(str(path))) as source:
        import_threads(source, saver, ["sends"])
    lib = Library("stepgraph")
    graph = SHAPES["sends"].build(lib, saver)
    (answer,) = [step(lib, graph, config_of("sends")) for step in SHAPES["sends"].go_on]
    assert answer == {"log": ["in", "0:0", "1:1?", "2:2", "3:3?", "4:4", "end"]}
    assert sorted(lib.did) == ["end", "work 1", "work 3"]


def test_what_is_imported_twice_is_stored_once(source: Source, saver: Any) -> None:
    first = import_threads(source, saver)
    before = [item.pending_writes for item in saver.list(None)]
    again = import_threads(source, saver)
    assert sum(report.stored for report in first) == sum(report.present for report in again) == len(before)
    assert not any(report.stored or report.problems for report in again)
    assert [item.pending_writes for item in saver.list(None)] == before
