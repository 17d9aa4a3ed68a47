"""The conformance kit: our savers pass it, and for every check there is a saver that fails it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from postgres_server import database
from stepgraph.checkpoint.base import BaseCheckpointSaver
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.sqlite import AsyncSqliteSaver, SqliteSaver
from stepgraph.errors import ThreadBusyError
from stepgraph.testing import asaver_conformance, saver_conformance
from stepgraph.testing.capabilities import ALL
from stepgraph.testing.saver_checks import CHECKS

from .wrong_savers import WRONG

EVERYTHING = (*ALL, "sync", "async")
NAMES = [one.name for one in CHECKS]


@asynccontextmanager
async def on_aiosqlite(database: str) -> Any:
    aiosqlite = pytest.importorskip(
        "aiosqlite", reason="a connection of aiosqlite needs it: stepgraph[sqlite]"
    )
    async with aiosqlite.connect(database) as connection:
        yield AsyncSqliteSaver(connection)


MAKERS: dict[str, Callable[[str], Any]] = {
    "memory": lambda path: InMemorySaver(),
    "sqlite": SqliteSaver.from_conn_string,
    "sqlite-memory": lambda path: SqliteSaver.from_conn_string(":memory:"),
    "async-sqlite": AsyncSqliteSaver.from_conn_string,
    "aiosqlite": on_aiosqlite,
}


@asynccontextmanager
async def on_postgres(asynchronous: bool) -> Any:
    with database() as url:
        if asynchronous:
            from stepgraph.checkpoint.postgres.aio import AsyncPostgresSaver

            async with AsyncPostgresSaver.from_conn_string(url) as saver:
                yield saver
        else:
            from stepgraph.checkpoint.postgres import PostgresSaver

            with PostgresSaver.from_conn_string(url) as saver:
                yield saver


MAKERS["postgres"] = lambda path: on_postgres(False)
MAKERS["async-postgres"] = lambda path: on_postgres(True)


@pytest.mark.parametrize("kind", MAKERS)
def test_our_savers_do_all_of_it(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "checkpoints.db")
    report = saver_conformance(lambda: MAKERS[kind](path), require=EVERYTHING)
    report.assert_ok()
    assert {result.outcome for result in report.results} == {"passed"}
    assert len(report.results) == 2 * len(CHECKS)


@pytest.mark.parametrize("name", NAMES)
def test_every_check_can_fail(name: str) -> None:
    report = saver_conformance(WRONG[name], only=[name])
    assert {(result.half, result.outcome) for result in report.results} == {
        ("sync", "failed"),
        ("async", "failed"),
    }, str(report)
    kinds = (AssertionError, ThreadBusyError)
    assert all(isinstance(result.error, kinds) for result in report.results), str(report)


def test_every_wrong_saver_is_wrong_in_something_that_is_checked() -> None:
    assert sorted(WRONG) == sorted(NAMES)


def test_every_check_says_what_it_requires() -> None:
    assert [one.name for one in CHECKS if len(one.requirement) < 30] == []
    assert len(set(NAMES)) == len(NAMES)


class OnlyTheLeast(BaseCheckpointSaver[str]):
    """A saver of somebody else: the synchronous half, and nothing that a saver need not have."""

    inner = InMemorySaver()

    def get_tuple(self, config: Any) -> Any:
        return self.inner.get_tuple(config)

    def list(self, config: Any, **options: Any) -> Any:
        return self.inner.list(config, **options)

    def put(self, config: Any, *args: Any) -> Any:
        known = {k: v for k, v in config["configurable"].items() if not k.startswith("__")}
        return self.inner.put({"configurable": known}, *args)

    def put_writes(self, config: Any, *args: Any) -> None:
        self.inner.put_writes(config, *args)


def test_what_a_saver_lacks_is_left_out() -> None:
    report = saver_conformance(OnlyTheLeast)
    report.assert_ok()
    skipped = {one.needs for one in CHECKS if (one.name, "skipped") in outcomes(report)}
    assert skipped == set(ALL) - {"base", "channel_history"}


def outcomes(report: Any) -> set[tuple[str, str]]:
    return {(result.name, result.outcome) for result in report.results}


def test_what_is_required_may_not_be_lacking() -> None:
    report = saver_conformance(OnlyTheLeast, require=["prune"], only=["work_goes_on_after_pruning"])
    assert [str(result) for result in report.failed] == [
        "failed  sync  work_goes_on_after_pruning: the saver has no prune",
        "failed  async work_goes_on_after_pruning: the saver has no prune",
    ]


class OnlyAsync(BaseCheckpointSaver[str]):
    """A saver of somebody else that has only the asynchronous half."""

    inner = InMemorySaver()

    async def aget_tuple(self, config: Any) -> Any:
        return self.inner.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> Any:
        for found in self.inner.list(config, **options):
            yield found

    async def aput(self, config: Any, *args: Any) -> Any:
        return self.inner.put(config, *args)

    async def aput_writes(self, config: Any, *args: Any) -> None:
        self.inner.put_writes(config, *args)


def test_a_half_that_a_saver_lacks_is_left_out() -> None:
    report = saver_conformance(OnlyAsync)
    report.assert_ok()
    assert {result.outcome for result in report.results if result.half == "sync"} == {"skipped"}
    assert ("a_checkpoint_comes_back", "passed") in outcomes(report)


def test_a_half_that_is_required_may_not_be_lacking() -> None:
    report = saver_conformance(OnlyAsync, require=["sync"], only=["writes_come_back"])
    assert [result.detail for result in report.failed] == [
        "the saver does not define put, put_writes, get_tuple and list"
    ]


def test_a_saver_of_somebody_else_that_compares_heads_is_checked_for_it() -> None:
    report = saver_conformance(OnlyAsync, only=["of_many_at_once_one_wins"])
    assert ("of_many_at_once_one_wins", "passed") in outcomes(report)


def test_something_that_is_no_saver_fails() -> None:
    report = saver_conformance(BaseCheckpointSaver)
    assert not report.ok
    with pytest.raises(AssertionError, match="does not define put, put_writes, get_tuple and list"):
        report.assert_ok()


def test_a_failure_says_what_is_required_and_what_happened() -> None:
    report = saver_conformance(WRONG["parents_are_named"], only=["parents_are_named", "writes_come_back"])
    assert not report.ok
    assert str(report).splitlines()[:2] == [
        "KnowsNoParents: 2 passed, 2 failed, 0 skipped",
        str(report.results[0]),
    ]
    with pytest.raises(
        AssertionError, match=r"(?s)`parent_config` names.*The parent of the second"
    ) as failure:
        report.assert_ok()
    assert failure.value.__cause__ is report.failed[0].error


def test_an_error_of_the_saver_is_a_failure_that_says_where() -> None:
    class Raises(InMemorySaver):
        def put(self, *args: Any) -> Any:
            raise OSError("disk full")

    report = saver_conformance(Raises, only=["parents_are_named"])
    assert [type(result.error) for result in report.failed] == [OSError, OSError]
    assert "OSError: disk full" in report.failed[0].detail
    assert "test_saver_conformance.py" in report.failed[0].detail


@pytest.mark.parametrize("option", ["require", "skip", "only"])
def test_an_unknown_name_is_refused(option: str) -> None:
    options: Any = {option: ["flying"]}
    with pytest.raises(ValueError, match=r"There is no (check|capability) 'flying'"):
        saver_conformance(InMemorySaver, **options)


def test_checks_may_be_skipped_by_name() -> None:
    depend_on_parents = [
        "parents_are_named",
        "a_copy_has_everything",
        "a_list_is_newest_first",
        "histories_of_channels_are_followed",
    ]
    report = saver_conformance(WRONG["parents_are_named"], skip=depend_on_parents)
    report.assert_ok()
    assert "parents_are_named" not in {result.name for result in report.results}


def test_it_may_be_awaited_in_the_event_loop_of_the_saver() -> None:
    async def work() -> None:
        async with on_aiosqlite(":memory:") as saver:
            report = await asaver_conformance(lambda: saver, require=EVERYTHING)
            report.assert_ok()

    asyncio.run(work())


def test_the_synchronous_way_works_in_a_running_event_loop_too() -> None:
    async def work() -> bool:
        return saver_conformance(InMemorySaver, only=["parents_are_named"]).ok

    assert asyncio.run(work())
