"""What goes wrong outside: a full disk, a file that others hold locked, that may not be written, or that is no database."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepgraph.checkpoint.sqlite import AsyncSqliteSaver, SqliteSaver
from stepgraph.graph import START, StateGraph
from stepgraph.store.sqlite import SqliteStore

from . import full_disk

CONFIG: Any = {"configurable": {"thread_id": "1"}}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit for the size of files")
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("method", ["invoke", "ainvoke"])
def test_a_full_disk_is_a_clear_error_and_the_thread_goes_on_where_it_was(
    tmp_path: Path, method: str, durability: str
) -> None:
    command = [sys.executable, full_disk.__file__, str(tmp_path / "threads.db"), method, durability]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["error"] == "OperationalError"
    assert any("Make room and run again" in note for note in seen["notes"])
    assert seen["kept"] == list(range(len(seen["kept"])))
    assert len(seen["kept"]) < full_disk.STEPS
    assert seen["end"] == list(range(full_disk.STEPS))


def declared() -> StateGraph[Any]:
    return StateGraph(full_disk.State).add_node("write", full_disk.write).add_edge(START, "write")


def sync_run(path: str, prepare: Callable[[Any], None] = lambda connection: None) -> Any:
    with SqliteSaver.from_conn_string(path) as saver:
        saver.setup()
        prepare(saver.conn)
        return declared().compile(saver).invoke({"log": []}, CONFIG)


def async_run(path: str, prepare: Callable[[Any], None] = lambda connection: None) -> Any:
    async def main() -> Any:
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            await saver.setup()
            prepare(saver.conn)
            return await declared().compile(saver).ainvoke({"log": []}, CONFIG)

    return asyncio.run(main())


both = pytest.mark.parametrize("run", [sync_run, async_run])


def hurried(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA busy_timeout = 10")


@both
def test_a_file_that_others_hold_locked_is_a_clear_error_and_later_all_is_well(
    tmp_path: Path, run: Any
) -> None:
    path = str(tmp_path / "threads.db")
    run(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked") as raised:
        run(path, hurried)
    assert "Another connection held the file locked" in raised.value.__notes__[0]
    assert path in raised.value.__notes__[0]
    other.execute("ROLLBACK")
    other.close()
    assert full_disk.numbers(run(path, hurried)["log"]) == [0, 1]


@both
def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "threads.db"
    path.write_bytes(b"this is a text, long enough to be taken for the head of a file " * 20)
    with pytest.raises(sqlite3.DatabaseError) as raised:
        run(str(path))
    assert "is no SQLite database" in raised.value.__notes__[0]


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(sqlite3.OperationalError), SqliteSaver.from_conn_string("/nowhere/at/all/threads.db"):
        pass


def test_a_store_explains_a_locked_file_too(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    with SqliteStore.from_conn_string(path) as store:
        store.setup()
        store.put(("a",), "1", {"n": 1})
        store.conn.execute("PRAGMA busy_timeout = 10")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked") as raised:
            store.put(("a",), "1", {"n": 2})
        assert "held the file locked" in raised.value.__notes__[0]
        other.close()
        store.put(("a",), "1", {"n": 3})
        found = store.get(("a",), "1")
        assert found is not None
        assert found.value == {"n": 3}
