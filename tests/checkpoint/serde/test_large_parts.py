"""Large plain parts: packed one by one where few hold them, and known again by their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint.serde.compare import same
from stepgraph.checkpoint.serde.errors import NotStorableError
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from stepgraph.checkpoint.serde.writer import FEW, KnownData, Packed


@dataclass
class Point:
    """An object with an identity."""

    x: int
    y: list[int]


SERDE = JsonPlusSerializer()


def round_trip(value: Any) -> Any:
    return SERDE.unpack(SERDE.pack(value))


def row(last: Any = 0) -> dict[str, Any]:
    """A part that is large, and whose numbers look like the beginning of bytes."""
    return {**{str(n): [n, "text", 196, 197, 198] for n in range(300)}, "last": last}


LAST = st.one_of(
    st.none(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.binary().map(bytearray),
    st.lists(st.binary().map(bytearray), max_size=2),
    st.sets(st.integers()),
    st.dictionaries(st.integers(), st.binary()),
)
ROWS = st.lists(LAST.map(row) | LAST, min_size=1, max_size=4)


@given(st.one_of(ROWS, st.dictionaries(st.text(), LAST.map(row) | LAST, max_size=4)))
def test_they_come_back_with_type_and_value(value: Any) -> None:
    assert same(round_trip(value), value)


@pytest.mark.parametrize("size", [1, 15, 16, FEW, FEW + 1])
def test_any_number_of_them_makes_one_document(size: int) -> None:
    rows = [row(n) for n in range(size)]
    assert round_trip(rows) == rows
    table = {f"key {n}": row(n) for n in range(size)}
    assert round_trip(table) == table


@pytest.mark.parametrize("first", [b"changed", 5])
def test_bytes_that_become_a_bytearray_in_place_are_noticed(first: Any) -> None:
    value = row(first)
    for held in (value, [value], {"key": value}):
        assert round_trip(held) == held
    value["last"] = bytearray(b"changed")
    for held in (value, [value], {"key": value}):
        assert same(round_trip(held), held)


def test_an_object_that_occurs_in_several_of_them_is_stored_once() -> None:
    shared = Point(1, [2])
    one, other = round_trip([row(shared), row(shared)])
    assert one["last"] == shared
    assert one["last"] is other["last"]


def test_a_large_part_that_contains_itself_is_refused() -> None:
    value = row()
    value["last"] = value
    with pytest.raises(NotStorableError, match="contains itself"):
        SERDE.pack([value])
    rows: list[Any] = [row()]
    rows.append(rows)
    with pytest.raises(NotStorableError, match="contains itself"):
        SERDE.pack(rows)


def test_known_data_stays_within_its_bound() -> None:
    known = KnownData(bound=10_000, largest=5_000)
    data = [bytes([n]) * 4_000 for n in range(5)]
    for part in data:
        known.add(part)
        assert part in known
    assert sum(part in known for part in data) <= 2
    known.add(b"small")
    known.add(b"x" * 6_000)
    assert b"small" not in known
    assert b"x" * 6_000 not in known


def test_parts_that_several_values_share_are_packed_once_and_come_back() -> None:
    shared, object_ = row(1), Point(1, [2])
    packed: Packed = {}
    values = [[shared, row(2)], {"a": shared, "b": shared}, shared, [row(object_), row(object_)]]
    again = [SERDE.unpack(SERDE.pack(value, packed)) for value in values]
    assert again == values
    assert again[3][0]["last"] is again[3][1]["last"]
    assert packed[id(shared)][0] is shared
    assert [SERDE.pack(value) for value in values] == [SERDE.pack(value, packed) for value in values]
