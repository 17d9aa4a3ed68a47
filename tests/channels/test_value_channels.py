"""LastValue, AnyValue, EphemeralValue, UntrackedValue, LastValueAfterFinish."""

from __future__ import annotations

import pytest

from stepgraph.channels.any_value import AnyValue
from stepgraph.channels.ephemeral_value import EphemeralValue
from stepgraph.channels.last_value import LastValue, LastValueAfterFinish
from stepgraph.channels.untracked_value import UntrackedValue
from stepgraph.errors import InvalidUpdateError
from stepgraph.values.commands import Overwrite
from stepgraph.values.missing import MISSING


def test_a_last_value_is_replaced():
    channel = LastValue(int)
    assert channel.update([1])
    assert channel.update([None])
    assert channel.get() is None
    assert channel.is_available()


def test_a_last_value_refuses_two_writes_and_keeps_what_it_has():
    channel = LastValue(int, "x")
    channel.update([1])
    with pytest.raises(
        InvalidUpdateError, match=r"At key 'x': Can receive only one value per step\. Use an Annotated"
    ):
        channel.update([2, 3])
    assert channel.get() == 1


@pytest.mark.parametrize(
    "channel",
    [LastValue(int), AnyValue(int), EphemeralValue(int), UntrackedValue(int)],
    ids=lambda c: type(c).__name__,
)
def test_an_overwrite_is_just_the_value(channel):
    channel.update([Overwrite(5)])
    assert channel.get() == 5
    channel.update([1, {"__overwrite__": 6}])
    assert channel.get() == 6


def test_the_input_channel_passes_an_overwrite_on():
    channel = EphemeralValue(dict)
    channel.key = "__start__"
    channel.update([Overwrite([1])])
    assert channel.get() == Overwrite([1])


def test_any_value_takes_the_last_of_several():
    channel = AnyValue(int)
    assert channel.update([2, 3])
    assert channel.get() == 3


@pytest.mark.parametrize("channel", [AnyValue(int), EphemeralValue(int)], ids=lambda c: type(c).__name__)
def test_a_step_without_a_write_empties_it(channel):
    assert not channel.update([])
    channel.update([1])
    assert channel.update([])
    assert not channel.is_available()
    assert channel.checkpoint() is MISSING
    assert not channel.update([])


@pytest.mark.parametrize("kind", [EphemeralValue, UntrackedValue])
def test_a_guard_refuses_a_second_write(kind):
    channel = kind(int)
    channel.key = "x"
    message = (
        rf"At key 'x': {kind.__name__}\(guard=True\) can receive only one value per step. Use guard=False"
    )
    with pytest.raises(InvalidUpdateError, match=message):
        channel.update([1, 2])
    assert not channel.is_available()


@pytest.mark.parametrize("kind", [EphemeralValue, UntrackedValue])
def test_without_a_guard_the_last_write_wins(kind):
    channel = kind(int, guard=False)
    channel.update([1, 2])
    assert channel.get() == 2


@pytest.mark.parametrize("kind", [EphemeralValue, UntrackedValue])
def test_a_guard_makes_a_difference(kind):
    assert kind(int) != kind(int, guard=False)
    assert kind(int) == kind(str)


def test_an_untracked_value_is_never_stored():
    channel = UntrackedValue(int)
    channel.update([1])
    assert channel.checkpoint() is MISSING
    assert channel.copy().get() == 1
    assert not channel.from_checkpoint(5).is_available()


def test_a_value_after_finish_is_shown_once_at_the_end():
    channel = LastValueAfterFinish(int)
    assert channel.update([1, 2])
    assert not channel.is_available()
    assert channel.checkpoint() == (2, False)
    assert not channel.consume()
    assert channel.finish()
    assert not channel.finish()
    assert channel.get() == 2
    assert channel.checkpoint() == (2, True)
    assert channel.consume()
    assert not channel.is_available()
    assert channel.checkpoint() is MISSING


def test_a_write_hides_a_shown_value_again():
    channel = LastValueAfterFinish(int)
    channel.update([1])
    channel.finish()
    channel.update([2])
    assert not channel.is_available()


def test_nothing_to_show_is_not_shown():
    assert not LastValueAfterFinish(int).finish()


def test_types_are_those_given():
    for kind in (LastValue, AnyValue, EphemeralValue, UntrackedValue, LastValueAfterFinish):
        assert kind(int).ValueType is int
        assert kind(int).UpdateType is int
