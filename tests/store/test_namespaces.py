"""Listing namespaces, in every store."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepgraph.store.base import ListNamespacesOp, MatchCondition, PutOp, SearchOp, validate_op_namespace
from stepgraph.store.base.namespaces import InvalidNamespaceError, from_text, matches, to_text

NAMESPACES = [
    ("z",),
    ("a", "b", "c"),
    ("a", "b", "d"),
    ("a", "x", "c"),
    ("ab", "b"),
    ("a",),
    ("q", "a", "b"),
    ("a-b",),
]


@pytest.fixture
def filled(store):
    store.batch([PutOp(namespace, "k", {}) for namespace in NAMESPACES])
    return store


def test_all_are_listed_in_order(filled):
    assert filled.list_namespaces() == sorted(NAMESPACES)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"prefix": ("a",)}, [("a",), ("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c")]),
        ({"prefix": ("a", "b")}, [("a", "b", "c"), ("a", "b", "d")]),
        ({"prefix": ("a", "*", "c")}, [("a", "b", "c"), ("a", "x", "c")]),
        ({"prefix": ("*", "b")}, [("a", "b", "c"), ("a", "b", "d"), ("ab", "b")]),
        ({"suffix": ("c",)}, [("a", "b", "c"), ("a", "x", "c")]),
        ({"suffix": ("b", "*")}, [("a", "b", "c"), ("a", "b", "d")]),
        ({"prefix": ("a",), "suffix": ("c",)}, [("a", "b", "c"), ("a", "x", "c")]),
        ({"prefix": ("nothing",)}, []),
        ({"prefix": ("a", "b", "c", "*")}, []),
        ({"prefix": ["a", "x"]}, [("a", "x", "c")]),
        ({"max_depth": 1}, [("a",), ("a-b",), ("ab",), ("q",), ("z",)]),
        ({"prefix": ("a",), "max_depth": 2}, [("a",), ("a", "b"), ("a", "x")]),
        ({"suffix": ("c",), "max_depth": 2}, [("a", "b"), ("a", "x")]),
        ({"prefix": ("a",), "max_depth": 2, "limit": 1, "offset": 1}, [("a", "b")]),
        ({"limit": 2, "offset": 3}, [("a", "x", "c"), ("a-b",)]),
        ({"limit": 0}, []),
    ],
    ids=str,
)
def test_conditions_select(filled, conditions, expected):
    assert filled.list_namespaces(**conditions) == expected


def test_reads_and_deletes_make_no_namespace(store):
    store.put(("real",), "k", {})
    store.get(("ghost", "a"), "k")
    store.delete(("ghost", "b"), "k")
    store.search(("ghost", "c"))
    assert store.list_namespaces() == [("real",)]


def test_a_namespace_ends_with_its_last_item(store):
    store.put(("a", "b"), "1", {})
    store.put(("a", "b"), "2", {})
    store.put(("a", "b", "c"), "3", {})
    store.delete(("a", "b"), "1")
    assert store.list_namespaces() == [("a", "b"), ("a", "b", "c")]
    store.delete(("a", "b"), "2")
    assert store.list_namespaces() == [("a", "b", "c")]
    store.delete(("a", "b", "c"), "3")
    assert store.list_namespaces() == []


def test_a_namespace_can_be_written_again(store):
    store.put(("a",), "k", {"v": 1})
    store.delete(("a",), "k")
    store.put(("a",), "k", {"v": 2})
    assert store.list_namespaces() == [("a",)]
    assert [item.value for item in store.search(("a",))] == [{"v": 2}]


@pytest.mark.parametrize("bad", [{"limit": -1}, {"offset": -1}, {"max_depth": -1}])
def test_bounds_are_not_negative(store, bad):
    with pytest.raises(ValueError, match=r"0 or more|number of labels"):
        store.list_namespaces(**bad)


def test_an_unknown_condition_is_an_error(store):
    with pytest.raises(ValueError, match="Unsupported match type: middle"):
        store.batch([ListNamespacesOp((MatchCondition("middle", ("a",)),))])


def test_bad_labels_in_operations_are_found():
    for op in (
        PutOp(("a.b",), "k", {}),
        SearchOp(("",)),
        ListNamespacesOp((MatchCondition("prefix", ("a.b",)),)),
    ):
        with pytest.raises(InvalidNamespaceError):
            validate_op_namespace(op)
    validate_op_namespace(ListNamespacesOp((MatchCondition("prefix", ("*",)),)))


labels = st.text(st.characters(codec="utf-8", exclude_characters=".\x00"), min_size=1)
namespaces = st.lists(labels).map(tuple)


@settings(deadline=None)
@given(namespaces)
def test_text_and_namespace_are_one_to_one(namespace):
    assert from_text(to_text(namespace)) == namespace


@settings(deadline=None)
@given(namespaces, st.integers(0, 5))
def test_every_namespace_matches_its_own_ends(namespace, length):
    prefix, suffix = namespace[:length], namespace[len(namespace) - min(length, len(namespace)) :]
    stars = ("*",) * len(namespace)
    assert matches(namespace, [MatchCondition("prefix", prefix), MatchCondition("suffix", suffix)])
    assert matches(namespace, [MatchCondition("prefix", stars), MatchCondition("suffix", stars)])
    assert not matches(namespace, [MatchCondition("prefix", (*stars, "*"))])
