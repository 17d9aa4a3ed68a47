"""The same with the LangGraph that is installed: it writes the database now, and goes on with its own copy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from checkpoint.imports.checks import check_goes_on
from checkpoint.imports.shapes import SHAPES
from checkpoint.imports.write import write_sqlite
from stepgraph.checkpoint.imports.sqlite import SqliteSource
from stepgraph.checkpoint.memory import InMemorySaver

pytest.importorskip(
    "langgraph.checkpoint.sqlite", reason="langgraph is not installed: nothing to compare with"
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SqliteSource, dict[str, Any]]]:
    """A database that LangGraph has just written, and what it made of it."""
    lines, expected = write_sqlite()
    path: Path = tmp_path_factory.mktemp("source") / "threads.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("\n".join(lines))
    with closing(SqliteSource(str(path))) as source:
        yield source, expected


@pytest.mark.parametrize("shape", SHAPES)
def test_what_langgraph_stored_goes_on_as_it_would_have(
    written: tuple[SqliteSource, dict[str, Any]], shape: str
) -> None:
    source, expected = written
    check_goes_on(source, InMemorySaver(), shape, expected[shape])
