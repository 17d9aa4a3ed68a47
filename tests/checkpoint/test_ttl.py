"""Threads with a time to live. `SHORT` is over when `over()` returns, `LONG` not within a test."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest

from checkpoint.savers import KINDS, Face, open_saver
from stepgraph.checkpoint.base import empty_checkpoint
from stepgraph.checkpoint.memory import InMemorySaver

SHORT = timedelta(microseconds=1)
LONG = timedelta(hours=1)


@pytest.fixture(params=KINDS)
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Face]:
    with open_saver(request.param, tmp_path) as face:
        yield face


def at(thread: str = "1", namespace: str = "") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}


def put(
    saver: Face, thread: str = "1", namespace: str = "", value: Any = 1, ttl: Any = None
) -> dict[str, Any]:
    """A checkpoint that is put while threads live so long."""
    saver.saver.set_ttl(ttl)
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"], checkpoint["channel_versions"] = {"a": value}, {"a": 1}
    stored: dict[str, Any] = saver.put(at(thread, namespace), checkpoint, {"step": 0}, {"a": 1})
    over()
    return stored


def over() -> None:
    """Let the clocks tick once: SQLite's has milliseconds."""
    sleep(0.002)


def values(saver: Face, thread: str = "1") -> list[Any]:
    return [found.checkpoint["channel_values"]["a"] for found in saver.list(at(thread))]


def test_a_thread_lives_until_its_time_is_over(saver: Face) -> None:
    put(saver, ttl=LONG)
    assert saver.get_tuple(at()).checkpoint["channel_values"] == {"a": 1}
    assert values(saver) == [1]
    assert saver.sweep_ttl() == 0


def test_an_expired_thread_reads_as_if_it_had_never_been(saver: Face) -> None:
    root, child = put(saver, ttl=SHORT), put(saver, namespace="child", ttl=SHORT)
    put(saver, "2", ttl=LONG)
    for config in (root, child, at(), at(namespace="child")):
        assert saver.get_tuple(config) is None
    assert list(saver.list({"configurable": {"thread_id": "1"}})) == []
    assert [found.config["configurable"]["thread_id"] for found in saver.list(None)] == ["2"]


def test_a_sweep_deletes_what_has_expired_at_every_level(saver: Face) -> None:
    for thread in ("1", "2"):
        for namespace in ("", "child", "child|deep"):
            put(saver, thread, namespace, ttl=SHORT)
    kept = put(saver, "3", ttl=LONG)
    assert saver.sweep_ttl() == 2
    assert saver.sweep_ttl() == 0
    saver.saver.set_ttl(None)
    assert [found.config for found in saver.list(None)] == [kept]


def test_a_saver_without_time_to_live_shows_everything_that_is_there(saver: Face) -> None:
    put(saver, ttl=SHORT)
    saver.saver.set_ttl(None)
    assert values(saver) == [1]


def test_threads_that_were_written_without_a_time_to_live_have_none(saver: Face) -> None:
    put(saver, ttl=None)
    saver.saver.set_ttl(SHORT)
    assert values(saver) == [1]
    assert saver.sweep_ttl() == 0


def test_each_write_says_anew_how_long(saver: Face) -> None:
    put(saver, value=1, ttl=LONG)
    put(saver, value=2, ttl=SHORT)
    assert values(saver) == []


def test_a_thread_that_expired_begins_anew(saver: Face) -> None:
    put(saver, value="old", ttl=SHORT)
    put(saver, value="new", ttl=LONG)
    assert values(saver) == ["new"]
    saver.saver.set_ttl(None)
    assert values(saver) == ["new"]


def test_a_copy_lives_for_its_own_time(saver: Face) -> None:
    put(saver, ttl=LONG)
    saver.saver.set_ttl(SHORT)
    saver.copy_thread("1", "2")
    over()
    assert (values(saver, "1"), values(saver, "2")) == ([1], [])


def test_of_an_expired_thread_nothing_is_copied(saver: Face) -> None:
    put(saver, ttl=SHORT)
    saver.saver.set_ttl(LONG)
    saver.copy_thread("1", "2")
    assert values(saver, "2") == []


def test_an_expired_thread_may_be_copied_over(saver: Face) -> None:
    put(saver, "2", value="old", ttl=SHORT)
    put(saver, "1", value="new", ttl=LONG)
    saver.copy_thread("1", "2")
    assert values(saver, "2") == ["new"]


def test_a_deleted_thread_has_no_time_left_to_live(saver: Face) -> None:
    put(saver, ttl=SHORT)
    saver.delete_thread("1")
    put(saver, ttl=None)
    saver.saver.set_ttl(LONG)
    assert values(saver) == [1]


class Noting(InMemorySaver):
    """A saver that tells when it was swept."""

    swept: Event

    def sweep_ttl(self) -> int:
        count = super().sweep_ttl()
        if count:
            self.swept.set()
        return count


def noting(ttl: Any) -> Noting:
    saver = Noting(ttl=ttl)
    saver.swept = Event()
    return saver


def test_a_sweeper_works_in_the_background_until_it_is_stopped() -> None:
    saver = noting({"default_ttl": SHORT.total_seconds() / 60, "sweep_interval_minutes": 0.0001})
    done = saver.start_ttl_sweeper()
    assert saver.start_ttl_sweeper() is done
    for _ in range(2):
        put_one(saver)
        assert saver.swept.wait(20)
        saver.swept.clear()
    assert saver.stop_ttl_sweeper(20)
    assert done.result(20) is None
    assert saver.storage == {}


def put_one(saver: Any) -> None:
    saver.put(at(), empty_checkpoint(), {"step": 0}, {})


def test_a_sweeper_without_a_time_to_live_has_nothing_to_do() -> None:
    saver = noting(None)
    assert saver.start_ttl_sweeper().done()
    assert saver.stop_ttl_sweeper()


def test_a_sweeper_keeps_no_saver_alive() -> None:
    saver = noting(LONG)
    done: Future[None] = saver.start_ttl_sweeper(0.0001)
    gone = weakref.ref(saver)
    del saver
    gc.collect()
    assert done.result(20) is None
    gc.collect()
    assert gone() is None


def test_a_sweep_that_fails_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Noting):
        failures = 0

        def sweep_ttl(self) -> int:
            if self.failures == 0:
                self.failures += 1
                raise OSError("locked")
            self.swept.set()
            return 0

    saver = Failing(ttl=LONG)
    saver.swept = Event()
    saver.start_ttl_sweeper(0.0001)
    assert saver.swept.wait(20)
    assert saver.stop_ttl_sweeper(20)
    assert "Removing what is expired from a Failing failed" in caplog.text


@pytest.mark.parametrize("ttl", [0, -1, timedelta(0), {"default_ttl": 0}, {"sweep_interval_minutes": -1}])
def test_a_time_must_be_above_zero(ttl: Any) -> None:
    with pytest.raises(ValueError, match="must be more than 0 minutes"):
        InMemorySaver(ttl=ttl)


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(ValueError, match="ttl has no setting 'refresh'; it knows 'default_ttl' and"):
        InMemorySaver(ttl={"refresh": True})  # type: ignore[typeddict-unknown-key]


def test_minutes_time_spans_and_settings_say_the_same() -> None:
    assert {InMemorySaver(ttl=ttl).ttl for ttl in (90, timedelta(minutes=90), {"default_ttl": 90})} == {
        5400.0
    }
