"""DeltaChannel: a batch reducer, and readers of what others stored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepgraph.channels.delta import DeltaChannel
from stepgraph.checkpoint.serde.types import _DeltaSnapshot
from stepgraph.values.commands import Overwrite
from stepgraph.values.missing import MISSING


def extend(value, writes):
    return [*value, *(item for write in writes for item in write)]


steps = st.lists(st.lists(st.lists(st.integers()), min_size=1))


@given(steps)
def test_each_step_is_one_call_of_the_reducer(batches):
    calls = []

    def reducer(value, writes):
        calls.append(list(writes))
        return extend(value, writes)

    channel = DeltaChannel(reducer, list)
    for batch in batches:
        channel.update(batch)
    assert calls == batches


@given(steps)
def test_replaying_stored_writes_gives_the_same_value(batches):
    stepped, replayed = DeltaChannel(extend), DeltaChannel(extend)
    for batch in batches:
        stepped.update(batch)
    replayed.replay_writes([("task", "x", write) for batch in batches for write in batch])
    assert replayed.checkpoint() == stepped.checkpoint()


def test_an_overwrite_among_stored_writes_starts_over():
    channel = DeltaChannel(extend)
    channel.update([[1]])
    channel.replay_writes([("t", "x", [1]), ("t", "x", Overwrite([2])), ("t", "x", [4])])
    assert channel.get() == [2, 4]


def test_replaying_nothing_changes_nothing():
    channel = DeltaChannel(extend)
    channel.replay_writes([])
    assert not channel.is_available()


def test_a_snapshot_that_others_stored_is_read():
    assert DeltaChannel(extend).from_checkpoint(_DeltaSnapshot([1])).get() == [1]


def test_its_checkpoint_is_its_value():
    channel = DeltaChannel(extend)
    channel.update([[1], [2]])
    assert channel.checkpoint() == [1, 2]
    assert channel.from_checkpoint([1, 2]).get() == [1, 2]


def test_it_starts_from_the_empty_value_of_its_type():
    assert DeltaChannel(extend).start() == []
    assert DeltaChannel(extend, dict).from_checkpoint(MISSING).get() == {}


def test_a_type_without_an_empty_value_starts_from_none():
    channel = DeltaChannel(lambda value, writes: (value, writes), object)
    channel.update([1])
    assert channel.get() == (None, [1])


def test_an_optional_container_starts_empty():
    channel = DeltaChannel(extend, list | None)
    channel.update([[1]])
    assert channel.get() == [1]


def test_the_snapshot_frequency_must_be_positive():
    with pytest.raises(ValueError, match="snapshot_frequency must be a positive int, got 0"):
        DeltaChannel(extend, snapshot_frequency=0)


def test_reducer_and_frequency_make_a_difference():
    assert DeltaChannel(extend) == DeltaChannel(extend)
    assert DeltaChannel(extend) != DeltaChannel(extend, snapshot_frequency=3)
    assert DeltaChannel(extend) != DeltaChannel(lambda value, writes: value)
