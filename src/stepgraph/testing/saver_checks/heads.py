"""Checks of the expected head: one writer a thread. A run says which checkpoint it takes for the newest; if it is not,
nothing is stored."""

from __future__ import annotations

from typing import Any

from stepgraph.errors import ThreadBusyError
from stepgraph.testing.saver_checks.trial import Call, Steps, Together, Trial, check, id_of
from stepgraph.values.names import CONFIG_KEY_EXPECTED_HEAD


def _put(t: Trial, head: str | None, value: Any, namespace: str = "") -> Call:
    call = t.put(t.at(namespace, **{CONFIG_KEY_EXPECTED_HEAD: head}), a=value)
    if head is not None:
        call.args[0]["configurable"]["checkpoint_id"] = head
    return call


def the_expected_head_is_accepted(t: Trial) -> Steps:
    """A checkpoint whose expected head is the newest is stored; `None` expects an empty history."""
    first = yield _put(t, None, 1)
    yield _put(t, id_of(first), 2)
    t.same((yield from t.values(t.at(), "The newest checkpoint")), {"a": 2}, "Its values")


def another_head_is_refused(t: Trial) -> Steps:
    """A checkpoint whose expected head is not the newest raises `ThreadBusyError`, and nothing is stored."""
    first = yield _put(t, None, 1)
    yield _put(t, id_of(first), 2)
    for head in (None, id_of(first)):
        what = f"A put that expects the head {head!r}"
        error: Any = yield from t.refused(_put(t, head, "late"), ThreadBusyError, what=what)
        t.same((error.thread_id, error.namespace), (t.thread, ""), "Thread and namespace of the error")
    found = yield t.list(t.at())
    t.same([item.checkpoint["channel_values"]["a"] for item in found], [2, 1], "What is stored")


def each_level_has_a_head_of_its_own(t: Trial) -> Steps:
    """The head that is compared is that of the namespace, not of the thread."""
    root = yield _put(t, None, 1)
    yield _put(t, None, 2, "child")
    yield _put(t, id_of(root), 3)
    t.same((yield from t.values(t.at(), "The newest checkpoint")), {"a": 3}, "Its values")


def of_many_at_once_one_wins(t: Trial) -> Steps:
    """Of several that expect the same head at once, exactly one is stored: comparing and storing are one step."""
    config = yield _put(t, None, "start")
    for turn in range(6):
        calls = [_put(t, id_of(config), f"{turn}-{number}") for number in range(6)]
        done = yield Together(calls)
        winners = [answer for answer in done if not isinstance(answer, Exception)]
        for answer in done:
            if isinstance(answer, Exception) and not isinstance(answer, ThreadBusyError):
                raise answer
        t.same(len(winners), 1, "How many of six checkpoints on one head were stored")
        config = winners[0]
    t.same(len((yield t.list(t.at()))), 7, "The number of checkpoints")


CHECKS = tuple(
    check("expected_head", steps)
    for steps in (
        the_expected_head_is_accepted,
        another_head_is_refused,
        each_level_has_a_head_of_its_own,
        of_many_at_once_one_wins,
    )
)
