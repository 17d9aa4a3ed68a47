"""Builtin and library types come back with the same type and value."""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint.serde.compare import round_trip, same
from checkpoint.serde.samples import plain_samples
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

texts = st.text(st.characters(), max_size=8)
zones = st.sampled_from(
    [dt.UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("UTC"), dt.timezone(dt.timedelta(hours=5), "X")]
)
hashables = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | texts
    | st.binary(max_size=8)
    | st.complex_numbers(allow_nan=False)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.dates()
    | st.datetimes(timezones=st.none() | zones, allow_imaginary=False)
    | st.times()
    | st.timedeltas()
    | st.uuids()
    | st.ip_addresses()
    | st.builds(range, st.integers(-9, 9), st.integers(-9, 9)),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
values = st.recursive(
    hashables | st.floats() | st.binary(max_size=4).map(bytearray) | st.sampled_from([..., NotImplemented]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(texts, inner, max_size=4)
        | st.dictionaries(hashables, inner, max_size=3)
        | st.sets(hashables, max_size=3)
        | st.lists(inner, max_size=3).map(deque)
        | st.lists(inner, max_size=3).map(lambda items: deque(items, 5))
        | st.dictionaries(hashables, inner, max_size=3).map(OrderedDict)
        | st.dictionaries(hashables, inner, max_size=3).map(lambda items: defaultdict(list, items))
        | st.dictionaries(hashables, st.integers(), max_size=3).map(Counter)
    ),
    max_leaves=12,
)


@given(values)
def test_any_builtin_value_comes_back(value: Any) -> None:
    assert same(round_trip(value), value)


@pytest.mark.parametrize("name", plain_samples())
def test_sample_comes_back(name: str) -> None:
    value = plain_samples()[name]
    assert same(round_trip(value), value)


@given(st.integers())
def test_integers_of_any_size_come_back(value: int) -> None:
    assert round_trip([value, {"a": value}]) == [value, {"a": value}]


@given(st.datetimes(timezones=st.none() | zones, allow_imaginary=True), st.sampled_from([0, 1]))
def test_datetimes_keep_zone_and_fold(value: dt.datetime, fold: int) -> None:
    value = value.replace(fold=fold)
    back = round_trip(value)
    assert back.replace(tzinfo=None) == value.replace(tzinfo=None)
    assert (back.fold, repr(back.tzinfo)) == (fold, repr(value.tzinfo))


def test_named_zone_stays_a_named_zone() -> None:
    back = round_trip(dt.datetime(2024, 7, 1, tzinfo=ZoneInfo("Europe/Berlin")))
    assert back.tzinfo is ZoneInfo("Europe/Berlin")


def test_defaultdict_keeps_its_factory() -> None:
    back = round_trip(defaultdict(int, {"a": 1}))
    assert back["missing"] == 0


def test_deque_keeps_its_bound() -> None:
    back = round_trip(deque([1, 2, 3], maxlen=3))
    back.append(4)
    assert list(back) == [2, 3, 4]


def test_order_of_dicts_is_kept() -> None:
    assert list(round_trip({"b": 1, "a": 2})) == ["b", "a"]
    assert list(round_trip({2: 1, 1: 2, "x": 3})) == [2, 1, "x"]


def test_keys_of_equal_text_and_number_stay_apart() -> None:
    assert round_trip({1: "number", "1": "text"}) == {1: "number", "1": "text"}


@pytest.mark.parametrize("value", [bytearray(b"a" * 300), bytearray(b"a" * 70_000), bytearray(b"")])
def test_bytearray_does_not_become_bytes(value: bytearray) -> None:
    back = round_trip({"list": [{"deep": value}], "bytes": bytes(value)})
    assert type(back["list"][0]["deep"]) is bytearray
    assert type(back["bytes"]) is bytes
    assert back["list"][0]["deep"] == value


def test_memoryview_keeps_format_and_shape() -> None:
    value = memoryview(b"abcdefgh").cast("I", [2, 1])
    back = round_trip([value])[0]
    assert (back.format, back.shape, back.tobytes()) == ("I", (2, 1), b"abcdefgh")


def test_text_with_surrogates_comes_back() -> None:
    value = {"a\ud800": ["\udfff", "fine"], "b": ("\ud800",)}
    assert round_trip(value) == value


def test_deeply_nested_containers_come_back() -> None:
    value: Any = "leaf"
    for level in range(600):
        value = [value] if level % 2 else {"k": value}
    back = round_trip(value)
    depth = 0
    while not isinstance(back, str):
        back = back[0] if isinstance(back, list) else back["k"]
        depth += 1
    assert (back, depth) == ("leaf", 600)


@pytest.mark.parametrize(
    "path", [Path("a") / "b", Path("/"), PurePosixPath("é\udc80"), PureWindowsPath("C:\\x")]
)
def test_paths_keep_their_kind(path: Any) -> None:
    assert same(round_trip(path), path)


def test_pattern_keeps_its_flags() -> None:
    for pattern in (re.compile("a", re.I | re.X), re.compile(b"\xff+"), re.compile("(?s)a")):
        back = round_trip(pattern)
        assert (back.pattern, back.flags) == (pattern.pattern, pattern.flags)


def test_uuid_keeps_its_safety() -> None:
    value = uuid.UUID(int=7, is_safe=uuid.SafeUUID.safe)
    assert round_trip(value).is_safe is uuid.SafeUUID.safe


def test_ip_address_keeps_its_scope() -> None:
    assert round_trip(ipaddress.ip_address("fe80::1%eth0")) == ipaddress.ip_address("fe80::1%eth0")


@pytest.mark.parametrize("text", ["NaN", "sNaN", "-Infinity", "-0", "1E+3", "1.000"])
def test_decimal_keeps_its_form(text: str) -> None:
    assert str(round_trip(Decimal(text))) == text


def test_fraction_is_kept_exactly() -> None:
    assert round_trip(Fraction(10**40, 3)) == Fraction(10**40, 3)


def test_equal_sets_give_equal_bytes() -> None:
    serializer = JsonPlusSerializer()
    names = [f"name {number}" for number in range(50)]
    assert serializer.pack({*names}) == serializer.pack({*names[::-1]})


def test_none_and_bytes_have_tags_of_their_own() -> None:
    serializer = JsonPlusSerializer()
    assert serializer.dumps_typed(None) == ("null", b"")
    assert serializer.dumps_typed(b"x") == ("bytes", b"x")
    assert serializer.dumps_typed(bytearray(b"x")) == ("bytearray", b"x")
    assert serializer.dumps_typed([1]) == ("sg1", b"\x91\x01")


def test_pack_and_unpack_need_no_tag() -> None:
    serializer = JsonPlusSerializer()
    for value in (None, True, 1, "é", b"x", [(1,)], bytearray(b"x")):
        assert same(serializer.unpack(serializer.pack(value)), value)
