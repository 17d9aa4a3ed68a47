"""Wherever a thread is stored, the same comes out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given

from postgres_server import database

from .checks import assert_same, few, finished
from .classics import CLASSICS
from .programs import Program
from .strategies import Limits, programs

CALM = Limits(parallel_parent_commands=False, conflicts=False)


@few(20)
@given(programs(CALM))
def test_sqlite_stores_the_same_as_memory(program: Program) -> None:
    assert_same(finished(program), finished(program, saver="sqlite"))


@few(20)
@given(programs(CALM))
def test_sqlite_serves_an_asynchronous_run(program: Program) -> None:
    assert_same(finished(program), finished(program, saver="sqlite", driver="astream", colour="async"))


@pytest.mark.parametrize("program", CLASSICS.values(), ids=CLASSICS)
def test_sqlite_stores_the_same_as_memory_for_every_classic(program: Program) -> None:
    assert_same(finished(program), finished(program, saver="sqlite"))
    assert_same(
        finished(program, durability="exit", driver="invoke"),
        finished(program, durability="exit", saver="sqlite", driver="invoke"),
    )


@contextmanager
def postgres() -> Iterator[Any]:
    """A saver on an empty database."""
    with database() as url:
        from stepgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(url) as saver:
            yield saver


@few(10)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@given(program=programs(CALM))
def test_postgres_stores_the_same_as_memory(durability: str, program: Program) -> None:
    with postgres() as saver:
        assert_same(
            finished(program, durability=durability),
            finished(program, durability=durability, saver=saver),
        )


@few(10)
@given(programs(CALM))
def test_postgres_serves_an_asynchronous_run(program: Program) -> None:
    with postgres() as saver:
        assert_same(finished(program), finished(program, saver=saver, driver="astream", colour="async"))


@pytest.mark.parametrize("program", CLASSICS.values(), ids=CLASSICS)
def test_postgres_stores_the_same_as_memory_for_every_classic(program: Program) -> None:
    with postgres() as saver:
        assert_same(finished(program), finished(program, saver=saver))
