"""What holds for every channel class."""

from __future__ import annotations

import operator
import pickle

import pytest

from stepgraph import channels
from stepgraph.channels import (
    AnyValue,
    BaseChannel,
    BinaryOperatorAggregate,
    DeltaChannel,
    EphemeralValue,
    LastValue,
    LastValueAfterFinish,
    NamedBarrierValue,
    NamedBarrierValueAfterFinish,
    Topic,
    UntrackedValue,
)
from stepgraph.errors import EmptyChannelError
from stepgraph.values.missing import MISSING


def extend(value, writes):
    return [*value, *(item for write in writes for item in write)]


MAKERS = {
    AnyValue: lambda: AnyValue(int),
    BinaryOperatorAggregate: lambda: BinaryOperatorAggregate(list, operator.add),
    DeltaChannel: lambda: DeltaChannel(extend),
    EphemeralValue: lambda: EphemeralValue(int),
    LastValue: lambda: LastValue(int),
    LastValueAfterFinish: lambda: LastValueAfterFinish(int),
    NamedBarrierValue: lambda: NamedBarrierValue(str, {"a", "b"}),
    NamedBarrierValueAfterFinish: lambda: NamedBarrierValueAfterFinish(str, {"a", "b"}),
    Topic: lambda: Topic(int),
    UntrackedValue: lambda: UntrackedValue(int),
}
WRITES = {
    BinaryOperatorAggregate: [1],
    DeltaChannel: [1],
    NamedBarrierValue: "a",
    NamedBarrierValueAfterFinish: "a",
}
STORED_NOT = {UntrackedValue}

every = pytest.mark.parametrize("kind", MAKERS, ids=lambda k: k.__name__)


def made(kind, written=False):
    channel = MAKERS[kind]()
    channel.key = "x"
    if written:
        channel.update([WRITES.get(kind, 1)])
    return channel


def state(channel):
    return channel.checkpoint(), channel.is_available(), channel.get() if channel.is_available() else MISSING


def test_every_public_class_is_tested():
    assert set(MAKERS) == {getattr(channels, name) for name in channels.__all__} - {BaseChannel}


@every
def test_a_write_changes_it(kind):
    assert made(kind).update([WRITES.get(kind, 1)]) is True


@every
def test_reading_agrees_with_availability(kind):
    for channel in (made(kind), made(kind, written=True)):
        if channel.is_available():
            channel.get()
        else:
            with pytest.raises(EmptyChannelError, match="Channel 'x' has no value yet"):
                channel.get()


@every
def test_a_copy_has_the_same_state_and_key(kind):
    for channel in (made(kind), made(kind, written=True)):
        copy = channel.copy()
        assert type(copy) is kind
        assert copy.key == "x"
        assert state(copy) == state(channel)


@every
def test_a_copy_changes_independently(kind):
    channel = made(kind, written=True)
    before = repr(state(channel))
    copy = channel.copy()
    copy.update(["b" if "Barrier" in kind.__name__ else WRITES.get(kind, 2)])
    copy.finish()
    copy.consume()
    assert repr(state(channel)) == before


@every
def test_a_stored_channel_comes_back(kind):
    if kind in STORED_NOT:
        return
    channel = made(kind, written=True)
    back = made(kind).from_checkpoint(channel.checkpoint())
    assert state(back) == state(channel)
    assert back.key == "x"


@every
def test_from_nothing_is_a_fresh_start(kind):
    fresh = made(kind, written=True).from_checkpoint(MISSING)
    assert fresh.checkpoint() in (MISSING, [], set(), (set(), False))


@every
def test_channels_of_one_kind_are_equal_and_have_no_hash(kind):
    assert made(kind) == made(kind, written=True)
    assert made(kind) != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(made(kind))


@every
def test_channels_of_different_kinds_differ(kind):
    assert all(made(kind) != made(other) for other in MAKERS if other is not kind)


@every
def test_a_channel_survives_pickling(kind):
    if kind is DeltaChannel or kind is BinaryOperatorAggregate:
        channel = made(kind)
    else:
        channel = made(kind, written=True)
    assert state(pickle.loads(pickle.dumps(channel))) == state(channel)


@every
def test_the_end_of_a_step_changes_only_sensitive_channels(kind):
    if kind.step_sensitive:
        return
    for channel in (made(kind), made(kind, written=True)):
        before = repr(state(channel))
        assert channel.update([]) is False
        assert repr(state(channel)) == before


@every
def test_a_fold_does_what_update_does(kind):
    fold = made(kind).folder()
    if fold is None:
        return
    channel, value = made(kind), made(kind).start()
    for writes in ([WRITES.get(kind, 1)], [WRITES.get(kind, 2)]):
        value = fold(value, writes, {})
        channel.update(writes)
        assert channel.get() == value


def test_which_channels_are_their_value_only():
    with_fold = {kind for kind in MAKERS if made(kind).folder() is not None}
    assert with_fold == {LastValue, BinaryOperatorAggregate, DeltaChannel}


def test_a_subclass_has_no_fold_and_is_sensitive_unless_it_says_so():
    class Mine(LastValue):
        pass

    class Foreign(BaseChannel):
        ValueType = UpdateType = int

        def from_checkpoint(self, checkpoint):
            return self

        def get(self):
            raise EmptyChannelError

        def update(self, values):
            return False

    assert Mine(int).folder() is None
    assert Foreign(int).folder() is None
    assert Foreign(int).step_sensitive
    assert not Foreign(int).is_available()
    assert Foreign(int).checkpoint() is MISSING
    assert (Foreign(int).consume(), Foreign(int).finish(), Foreign(int).start()) == (False, False, MISSING)


def test_an_unknown_channel_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        _ = channels.Nonsense
