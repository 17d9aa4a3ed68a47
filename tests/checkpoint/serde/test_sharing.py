"""An object that occurs many times is stored once and comes back as one object."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint.serde.compare import round_trip, same
from checkpoint.serde.samples import Item, Person
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from stepgraph.types import Send


def size(value: Any) -> int:
    return len(JsonPlusSerializer().pack(value))


@pytest.mark.parametrize("make", [lambda: {"text": "x" * 500}, lambda: ["y" * 500], lambda: "z" * 500])
def test_list_that_repeats_a_plain_object_stores_it_once(make: Any) -> None:
    shared = make()
    value = [shared] * 200
    assert size(value) < 1000
    back = round_trip(value)
    assert back == value
    assert all(item is back[0] for item in back)


def test_repeats_below_a_top_level_dict_and_in_a_tuple_are_stored_once() -> None:
    shared = {"text": "x" * 500}
    assert size({"a": [shared] * 100}) < 1000
    assert size((shared,) * 100) < 1000
    assert size([0, [shared] * 100]) < 1000
    assert round_trip({"a": [shared] * 100}) == {"a": [shared] * 100}
    assert round_trip((shared,) * 100) == (shared,) * 100


@pytest.mark.parametrize("shared", [Item("a" * 500), Person(name="a" * 500), np.zeros(500)])
def test_objects_are_shared_at_any_depth(shared: Any) -> None:
    value = {"list": [shared, {"deep": (shared,)}], "item": Item("b", [shared])}
    assert size(value) < size(shared) + 300
    back = round_trip(value)
    first = back["list"][0]
    assert back["list"][1]["deep"][0] is first
    assert back["item"].tags[0] is first


def test_equal_objects_that_are_not_the_same_stay_apart() -> None:
    first, second = round_trip([Item("a"), Item("a")])
    assert first == second
    assert first is not second


def test_sends_that_carry_the_same_object_store_it_once() -> None:
    document = {"text": "x" * 50_000}
    for make in (
        lambda number: Send("n", document),
        lambda number: Send("n", {"document": document, "number": number}),
        lambda number: Send("n", {"text": document["text"], "number": number}),
    ):
        sends = [make(number) for number in range(200)]
        assert size(sends) < 60_000
        assert round_trip(sends) == sends


def test_dag_of_objects_is_stored_without_blowing_up() -> None:
    node = Item("leaf")
    for level in range(100):
        node = Item(str(level), [node, node])
    back = round_trip(node)
    assert back.tags[0] is back.tags[1]
    assert back.tags[0].name == "98"


objects = st.deferred(
    lambda: st.builds(Item, st.just("n"), st.lists(st.integers(0, 3) | objects, max_size=3))
)


@given(st.lists(objects, min_size=1, max_size=5), st.lists(st.integers(0, 4), max_size=30), st.booleans())
def test_which_objects_are_the_same_is_kept(pool: list[Item], picks: list[int], odd_keys: bool) -> None:
    chosen = [pool[pick % len(pool)] for pick in picks]
    value: Any = {1: chosen, (2,): [*chosen]} if odd_keys else {"a": chosen, "b": [bytearray(b"x"), *chosen]}
    back = round_trip(value)
    assert same(back, value)
    firsts, seconds = list(back.values())
    for first, second in zip(firsts, seconds[-len(firsts) :] if firsts else []):
        assert first is second
    assert [firsts.index(item) for item in firsts] == [chosen.index(item) for item in chosen]


def test_small_values_are_not_marked() -> None:
    assert JsonPlusSerializer().pack([1] * 100) == b"\xdc\x00\x64" + b"\x01" * 100
