"""Barriers wait for all names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepgraph.channels.named_barrier_value import NamedBarrierValue, NamedBarrierValueAfterFinish
from stepgraph.errors import InvalidUpdateError

NAMES = {"a", "b", "c"}
both = pytest.mark.parametrize("kind", [NamedBarrierValue, NamedBarrierValueAfterFinish])


@given(st.lists(st.lists(st.sampled_from(sorted(NAMES)))))
def test_it_opens_once_all_names_have_been_written(steps):
    barrier = NamedBarrierValue(str, NAMES)
    seen = set()
    for step in steps:
        assert barrier.update(step) == bool(set(step) - seen)
        seen |= set(step)
        assert barrier.is_available() == (seen == NAMES)


def test_its_value_is_none():
    barrier = NamedBarrierValue(str, {"a"})
    barrier.update(["a"])
    assert barrier.get() is None


def test_it_starts_over_once_consumed():
    barrier = NamedBarrierValue(str, {"a", "b"})
    assert not barrier.consume()
    barrier.update(["a"])
    assert not barrier.consume()
    assert barrier.checkpoint() == {"a"}
    barrier.update(["b"])
    assert barrier.consume()
    assert barrier.checkpoint() == set()
    assert not barrier.is_available()


def test_what_was_stored_is_not_changed_by_consuming():
    barrier = NamedBarrierValue(str, {"a"})
    barrier.update(["a"])
    stored = barrier.checkpoint()
    barrier.consume()
    assert stored == {"a"}


@both
def test_an_unknown_name_is_refused(kind):
    barrier = kind(str, {"a"})
    barrier.key = "x"
    with pytest.raises(InvalidUpdateError, match=r"At key 'x': Value z not in \{'a'\}"):
        barrier.update(["z"])


@both
def test_the_names_make_a_difference(kind):
    assert kind(str, {"a"}) != kind(str, {"b"})
    assert kind(str, {"a"}) == kind(str, {"a"})


@both
def test_types_are_those_given(kind):
    assert kind(str, {"a"}).ValueType is str
    assert kind(str, {"a"}).UpdateType is str


def test_after_finish_it_opens_only_at_the_end():
    barrier = NamedBarrierValueAfterFinish(str, {"a", "b"})
    barrier.update(["a"])
    assert not barrier.finish()
    barrier.update(["b"])
    assert not barrier.is_available()
    assert barrier.checkpoint() == ({"a", "b"}, False)
    assert not barrier.consume()
    assert barrier.finish()
    assert not barrier.finish()
    assert barrier.get() is None
    assert barrier.checkpoint() == ({"a", "b"}, True)
    assert barrier.consume()
    assert barrier.checkpoint() == (set(), False)
