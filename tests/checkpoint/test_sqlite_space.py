"""A file gives its space back when threads are deleted, thinned out or swept."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint.test_ttl import LONG
from stepgraph.checkpoint.base import empty_checkpoint
from stepgraph.checkpoint.sqlite import AsyncSqliteSaver, SqliteSaver

THREADS = [str(number) for number in range(10)]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "checkpoints.db")


def fill(path: str, **options: Any) -> int:
    """A megabyte of checkpoints that have nothing in common; the size of the file."""
    with SqliteSaver.from_conn_string(path, **options) as saver:
        for thread in THREADS:
            for step in range(10):
                checkpoint = empty_checkpoint()
                checkpoint["channel_values"] = {"a": os.urandom(10_000)}
                checkpoint["channel_versions"] = {"a": step}
                where = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
                saver.put(where, checkpoint, {"step": step}, {"a": step})
    return os.path.getsize(path)


def sweep(saver: SqliteSaver) -> None:
    """When the time of all threads is over."""
    with saver.cursor() as cursor:
        cursor.execute("UPDATE stepgraph_threads SET expires_at = 0")
    assert saver.sweep_ttl() == len(THREADS)


CHORES: dict[str, tuple[Callable[[SqliteSaver], Any], float]] = {
    "prune": (lambda saver: saver.prune(THREADS), 0.2),
    "prune all": (lambda saver: saver.prune(THREADS, strategy="delete"), 0.1),
    "delete a thread": (lambda saver: [saver.delete_thread(thread) for thread in THREADS[:5]], 0.6),
    "sweep": (sweep, 0.1),
}


@pytest.mark.parametrize("chore", CHORES)
def test_a_file_shrinks_by_what_is_deleted(path: str, chore: str) -> None:
    work, part = CHORES[chore]
    before = fill(path, ttl=LONG if chore == "sweep" else None)
    assert before > 1_000_000
    with SqliteSaver.from_conn_string(path) as saver:
        work(saver)
    assert os.path.getsize(path) < part * before


def test_an_async_saver_makes_a_file_that_gives_back_too(path: str) -> None:
    aiosqlite = pytest.importorskip(
        "aiosqlite", reason="a connection of aiosqlite needs it: stepgraph[sqlite]"
    )

    async def make() -> None:
        async with aiosqlite.connect(path) as connection:
            await AsyncSqliteSaver(connection).setup()

    asyncio.run(make())
    before = fill(path)
    with SqliteSaver.from_conn_string(path) as saver:
        saver.prune(THREADS)
    assert os.path.getsize(path) < 0.2 * before


def made_by_another_program(path: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE others (number INTEGER)")
    connection.close()


def test_a_file_of_another_program_gives_back_after_a_vacuum(path: str) -> None:
    made_by_another_program(path)
    before = fill(path)
    with SqliteSaver.from_conn_string(path) as saver:
        saver.prune(THREADS)
    assert os.path.getsize(path) >= before
    with SqliteSaver.from_conn_string(path) as saver:
        saver.vacuum()
        assert os.path.getsize(path) < 0.2 * before
        assert len(list(saver.list(None))) == len(THREADS)
        saver.prune(THREADS, strategy="delete")
    assert os.path.getsize(path) < 0.1 * before


@pytest.mark.parametrize("kind", ["own", "aiosqlite"])
def test_an_async_saver_vacuums_too(path: str, kind: str) -> None:
    made_by_another_program(path)
    before = fill(path)

    async def work() -> None:
        if kind == "own":
            async with AsyncSqliteSaver.from_conn_string(path) as saver:
                await saver.aprune(THREADS)
                await saver.vacuum()
            return
        aiosqlite = pytest.importorskip("aiosqlite", reason="a connection of aiosqlite needs it")
        async with aiosqlite.connect(path) as connection:
            saver = AsyncSqliteSaver(connection)
            await saver.aprune(THREADS)
            await saver.vacuum()

    asyncio.run(work())
    assert os.path.getsize(path) < 0.2 * before
