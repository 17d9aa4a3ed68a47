"""BinaryOperatorAggregate: where it starts, and how it goes on."""

from __future__ import annotations

import operator
from typing import Any, Optional

import pytest

from stepgraph.channels.binop import BinaryOperatorAggregate
from stepgraph.errors import EmptyChannelError
from stepgraph.values.commands import Overwrite
from stepgraph.values.missing import MISSING


def keep_two(value: list, write: list) -> list:
    return (value + write)[-2:]


def test_it_starts_from_the_empty_value_of_its_type():
    channel = BinaryOperatorAggregate(list, operator.add)
    assert channel.get() == []
    assert channel.start() == []


def test_two_channels_do_not_share_a_start_value():
    channel = BinaryOperatorAggregate(list, operator.add)
    assert channel.start() is not channel.start()
    assert channel.from_checkpoint(MISSING).get() is not channel.get()


def test_a_declared_default_counts_once():
    channel = BinaryOperatorAggregate(list, operator.add, default=lambda: ["base"])
    channel.update([["a"]])
    channel.update([["b"]])
    assert channel.get() == ["base", "a", "b"]
    back = channel.from_checkpoint(channel.checkpoint())
    back.update([["c"]])
    assert back.get() == ["base", "a", "b", "c"]


def test_a_default_of_none_is_no_default():
    assert BinaryOperatorAggregate(list, operator.add, default=lambda: None).get() == []
    assert BinaryOperatorAggregate(Optional[list], operator.add, default=lambda: None).start() is MISSING


def test_a_falsy_default_is_a_default():
    assert BinaryOperatorAggregate(int, max, default=lambda: 0).start() == 0
    assert BinaryOperatorAggregate(Any, operator.add, default=str).start() == ""


def test_an_optional_container_is_empty_until_the_first_write():
    channel = BinaryOperatorAggregate(Optional[list], keep_two)
    with pytest.raises(EmptyChannelError):
        channel.get()
    channel.update([[1, 2, 3]])
    assert channel.get() == [2, 3]


def test_a_type_without_an_empty_value_takes_the_first_write():
    channel = BinaryOperatorAggregate(Any, max)
    assert not channel.is_available()
    channel.update([5])
    assert channel.get() == 5
    channel.update([3])
    assert channel.get() == 5


def test_an_overwrite_as_first_write_is_unwrapped():
    channel = BinaryOperatorAggregate(Any, max)
    channel.update([Overwrite(5)])
    assert channel.get() == 5


def test_an_overwrite_with_none_makes_it_none():
    channel = BinaryOperatorAggregate(Optional[list], operator.add)
    channel.update([Overwrite(None)])
    assert channel.get() is None


def test_a_reducer_that_fails_leaves_the_value():
    channel = BinaryOperatorAggregate(list, operator.add)
    channel.update([[1]])
    with pytest.raises(TypeError):
        channel.update([[2], 3])
    assert channel.get() == [1]


def test_the_operator_makes_a_difference():
    one, two = (lambda a, b: a), (lambda a, b: b)
    assert BinaryOperatorAggregate(list, one) == BinaryOperatorAggregate(list, one)
    assert BinaryOperatorAggregate(list, one) != BinaryOperatorAggregate(list, two)
    assert BinaryOperatorAggregate(list, one) != BinaryOperatorAggregate(list, operator.add)
    assert BinaryOperatorAggregate(list, operator.add) == BinaryOperatorAggregate(int, operator.add)


def test_messages_name_the_key_that_was_set_last():
    channel = BinaryOperatorAggregate(list, operator.add)
    channel.key = "one"
    channel.folder()
    channel.key = "two"
    with pytest.raises(Exception, match="At key 'two'"):
        channel.folder()([], [Overwrite(1), Overwrite(2)], {})
