"""Filters: the same meaning in every store."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepgraph.store.base import PutOp, SearchOp
from stepgraph.store.base.filters import matches
from store.backends import driven

NS = ("docs",)
BIG = 2**53 + 1
DOCS = {
    "a": {"n": 1, "s": "x", "l": [1, 2], "d": {"p": 1, "q": {"r": 2}}, "none": None, "t": True, "big": BIG},
    "b": {"n": 2.5, "s": "y", "l": [], "d": {"p": 2}, "big": BIG + 1, "objects": [{"a": 1, "b": 2}]},
    "c": {"n": "3", "big": 10**30},
    "e": {},
}


@pytest.fixture
def docs(store):
    store.batch([PutOp(NS, key, value) for key, value in DOCS.items()])
    return store


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({}, "abce"),
        ({"n": 1}, "a"),
        ({"n": 1.0}, "a"),
        ({"n": "1"}, ""),
        ({"n": "3"}, "c"),
        ({"t": True}, "a"),
        ({"n": 1, "s": "x"}, "a"),
        ({"n": 1, "s": "y"}, ""),
        ({"none": None}, "abce"),
        ({"missing": {"$ne": None}}, ""),
        ({"missing": {"$ne": 1}}, "abce"),
        ({"n": {"$eq": 1}}, "a"),
        ({"n": {"$ne": 1}}, "bce"),
        ({"n": {"$gt": 1}}, "b"),
        ({"n": {"$gte": 1, "$lt": 2}}, "a"),
        ({"n": {"$gt": "2"}}, "c"),
        ({"n": {"$gt": None}}, ""),
        ({"s": {"$gt": "x"}}, "b"),
        ({"s": {"$lte": "x"}}, "a"),
        ({"big": BIG}, "a"),
        ({"big": {"$gt": BIG}}, "bc"),
        ({"big": {"$lt": BIG + 1}}, "a"),
        ({"big": 10**30}, "c"),
        ({"l": [1, 2]}, "a"),
        ({"l": (1, 2)}, "a"),
        ({"l": []}, "b"),
        ({"l": {"$eq": [1, 2]}}, "a"),
        ({"l": {"$ne": [1, 2]}}, "bce"),
        ({"l": {"$gt": [1]}}, "a"),
        ({"l": {"$gt": 0}}, ""),
        ({"d": {"p": 1}}, "a"),
        ({"d": {"p": {"$gte": 1}}}, "ab"),
        ({"d": {"q": {"r": 2}}}, "a"),
        ({"d": {}}, "ab"),
        ({"d": {"$eq": {"p": 1}}}, ""),
        ({"d": {"$eq": {"p": 2}}}, "b"),
        ({"d": {"$ne": {"p": 2}}}, "ace"),
        ({"d.p": 1}, ""),
        ({"objects": [{"a": 1}]}, "b"),
        ({"objects": [{"a": {"$gt": 1}}]}, ""),
        ({"$or": 1}, ""),
    ],
    ids=str,
)
def test_a_filter_selects(docs, filter, expected):
    assert "".join(docs.keys(NS, filter=filter)) == expected


@pytest.mark.parametrize(
    "filter",
    [{"n": {"$in": [1]}}, {"n": {"$eq": 1, "x": 2}}, {"d": {"p": {"$foo": 1}}}, {"l": [{"a": {"$x": 1}}]}],
)
def test_an_unknown_operator_is_an_error_even_in_an_empty_store(store, filter):
    with pytest.raises(ValueError, match=r"Unsupported operator: .*\$eq, \$ne, \$gt, \$gte, \$lt, \$lte"):
        store.search(NS, filter=filter)


def test_pages_count_what_matches(store):
    store.batch([PutOp(NS, f"{n:02}", {"n": n, "even": n % 2 == 0}) for n in range(20)])
    found = [store.search(NS, filter={"even": True}, limit=4, offset=offset) for offset in (0, 4, 8)]
    assert [len(page) for page in found] == [4, 4, 2]
    assert sorted(item.value["n"] for page in found for item in page) == list(range(0, 20, 2))


@pytest.mark.parametrize(
    "key",
    [
        "public') = 1 OR 1=1 --",
        "x') OR 1=1 OR json_extract(value, '$.x",
        'a" OR 1=1 --',
        "$.public') IS NOT NULL --",
        "'; DROP TABLE store; --",
        "*",
        "",
        "\x00",
    ],
)
@pytest.mark.parametrize("wanted", [1, {"$ne": 5}, {"$gt": 0}, {"x": 1}], ids=str)
def test_a_key_of_a_filter_is_only_ever_looked_up(store, key, wanted):
    store.put(("private",), "secret", {"secret": 1, "public": 0})
    store.put(NS, "without", {"public": 1})
    store.put(NS, "with", {key: 1})
    expected = [
        item
        for item, value in (("with", {key: 1}), ("without", {"public": 1}))
        if matches(value, {key: wanted})
    ]
    assert store.keys(NS, filter={key: wanted}) == expected
    assert store.get(("private",), "secret").value == {"secret": 1, "public": 0}


def test_a_value_of_a_filter_is_only_ever_compared(store):
    store.put(NS, "k", {"name": "x"})
    assert store.keys(NS, filter={"name": "' OR '1'='1"}) == []
    assert store.keys(NS, filter={"name": {"$ne": "' OR '1'='1"}}) == ["k"]


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
documents = st.dictionaries(st.sampled_from("abc"), plain, max_size=3)
operators = st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), plain, min_size=1, max_size=2
)
filters = st.dictionaries(st.sampled_from("abc"), plain | operators, min_size=1, max_size=2)


@settings(max_examples=60, deadline=None)
@given(st.lists(documents, min_size=1, max_size=6), st.lists(filters, max_size=4))
def test_any_filter_means_the_same_in_memory_and_in_sqlite(values, wanted):
    check_meaning("sqlite-sync", values, wanted)


@settings(max_examples=60, deadline=None)
@given(st.lists(documents, min_size=1, max_size=6), st.lists(filters, max_size=4))
def test_any_filter_means_the_same_in_memory_and_in_postgres(values, wanted):
    check_meaning("postgres-sync", values, wanted)


def check_meaning(backend, values, wanted):
    with driven("memory-sync") as one, driven(backend) as two:
        for store in (one, two):
            store.batch([PutOp(NS, str(n), value) for n, value in enumerate(values)])
        wanted = [*wanted, *({key: field} for value in values for key, field in value.items())]
        ops = [SearchOp(NS, filter=filter, limit=100) for filter in wanted]
        found = [[sorted(item.key for item in items) for items in store.batch(ops)] for store in (one, two)]
        assert found[0] == found[1]
        assert found[0] == [
            [str(n) for n, value in enumerate(values) if matches(value, filter)] for filter in wanted
        ]
