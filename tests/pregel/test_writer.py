"""The ordered writer: what cannot be stored any more, because something before it failed, is handed back."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from stepgraph.pregel.drivers.writer import OrderedWriter


def test_jobs_behind_a_failure_are_dropped_whether_they_wait_or_come_later() -> None:
    dropped: list[Any] = []
    at_work, go_on = threading.Event(), threading.Event()

    def perform(batch: Sequence[Any]) -> None:
        at_work.set()
        go_on.wait(20)
        raise OSError("full")

    writer = OrderedWriter(perform, dropped.extend)
    writer.submit("first", 1)
    at_work.wait(20)
    writer.submit("waits", 1)
    go_on.set()
    with pytest.raises(OSError, match="full"):
        writer.wait(everything=True)
    writer.submit("later", 1)
    assert dropped == ["waits", "later"]


def test_jobs_leave_in_order_and_none_is_dropped() -> None:
    done: list[Any] = []
    dropped: list[Any] = []
    writer = OrderedWriter(done.extend, dropped.extend)
    for number in range(100):
        writer.submit(number, 1)
    writer.wait(everything=True)
    assert (done, dropped) == (list(range(100)), [])
