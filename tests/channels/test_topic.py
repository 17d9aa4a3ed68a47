"""Topic collects values."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from stepgraph.channels.topic import Topic
from stepgraph.values.commands import Overwrite
from stepgraph.values.missing import MISSING

writes = st.lists(st.integers() | st.lists(st.integers()))


def flat(values):
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


@given(st.lists(writes))
def test_a_topic_holds_the_last_step(steps):
    topic = Topic(int)
    for step in steps:
        topic.update(step)
        assert topic.checkpoint() == flat(step)
        assert topic.is_available() == bool(flat(step))


@given(st.lists(writes))
def test_an_accumulating_topic_holds_all_steps(steps):
    topic = Topic(int, accumulate=True)
    for step in steps:
        assert topic.update(step) == bool(flat(step))
    assert topic.checkpoint() == flat([value for step in steps for value in step])


def test_it_says_whether_it_changed():
    topic = Topic(str)
    assert not topic.update([])
    assert topic.update(["a"])
    assert topic.update([])
    assert not topic.update([])


def test_a_reader_gets_a_list_of_its_own():
    topic = Topic(str, accumulate=True)
    topic.update(["a"])
    topic.get().append("mine")
    assert topic.get() == ["a"]


def test_what_was_stored_is_not_changed_by_later_writes():
    topic = Topic(str, accumulate=True)
    topic.update(["a"])
    stored = topic.checkpoint()
    topic.update(["b"])
    assert stored == ["a"]


def test_tuples_are_values():
    topic = Topic(tuple)
    topic.update([("a", "b")])
    assert topic.get() == [("a", "b")]


def test_an_overwrite_replaces_all_values():
    topic = Topic(str, accumulate=True)
    topic.update(["a"])
    topic.update(["b", Overwrite(["x", "y"])])
    assert topic.get() == ["x", "y"]


def test_the_older_stored_form_is_read():
    assert Topic(str).from_checkpoint(({"seen"}, ["a"])).get() == ["a"]


def test_from_nothing_is_empty():
    assert not Topic(str).from_checkpoint(MISSING).is_available()


def test_types_are_derived():
    assert Topic(str).ValueType == Sequence[str]
    assert Topic(str).UpdateType == str | list[str]


def test_accumulation_makes_a_difference():
    assert Topic(str) != Topic(str, accumulate=True)
    assert Topic(str) == Topic(int)
