"""Texts and numbers that PostgreSQL cannot hold come back as they were, and keep their order."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepgraph.store.base import GetOp, PutOp
from store.backends import driven

NS = ("a",)
codes = st.sampled_from("\x00\x01\x02ab\u0800\ud7fe\ud7ff\ud800\udbff\udc00\udfff\ue000\uffff\U00010000")
PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def unpaired(text):
    """The text without pairs of surrogates, which JSON joins; what a removed pair stood between may be one again."""
    while PAIR.search(text):
        text = PAIR.sub("", text)
    return text


texts = (st.text(codes, max_size=6) | st.text(st.characters())).map(unpaired)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def same(one, two):
    """Equal, and of the same types: 1 is not 1.0."""
    if isinstance(one, dict):
        return (
            isinstance(two, dict)
            and one.keys() == two.keys()
            and all(same(one[key], two[key]) for key in one)
        )
    if isinstance(one, list):
        return isinstance(two, list) and len(one) == len(two) and all(map(same, one, two))
    return type(one) is type(two) and one == two


@given(texts, texts)
def test_texts_come_back_and_keep_their_order(one, two):
    from stepgraph.store.postgres.texts import decode_text, encode_text

    stored = encode_text(one).encode(), encode_text(two).encode()
    assert (decode_text(stored[0].decode()), decode_text(stored[1].decode())) == (one, two)
    assert b"\0" not in stored[0]
    assert (stored[0] < stored[1]) == (one < two)


@given(st.dictionaries(texts, plain, max_size=4))
def test_values_come_back_through_their_stored_text(value):
    from stepgraph.store.postgres.texts import decode_json, encode_json
    from stepgraph.store.sql.values import dump_json

    stored = encode_json(dump_json(value))
    stored.encode()
    assert "\\u0000" not in stored
    assert same(decode_json(stored), value)


@pytest.mark.parametrize("text", ["plain", "é", '"e+"', "\\u0001", "1e+22", '{"a":"1e+5 \\" e+ "}'])
def test_other_texts_are_stored_as_they_are(text):
    from stepgraph.store.postgres.texts import encode_json, encode_text

    stored = json.dumps({"text": text}, ensure_ascii=False, separators=(",", ":"))
    assert encode_text(text) == text
    assert encode_json(stored) == stored


@given(
    st.lists(st.dictionaries(texts, plain, max_size=4), min_size=1, max_size=4),
    st.lists(texts, max_size=4, unique=True),
)
def test_the_server_gives_back_what_was_put(values, keys):
    with driven("postgres-sync") as store:
        kept = dict(zip([*keys, "a", "b", "c", "d"], values))
        store.batch([PutOp(NS, key, value) for key, value in kept.items()])
        items = store.batch([GetOp(NS, key) for key in kept])
        assert [item.key for item in items] == list(kept)
        assert all(same(item.value, value) for item, value in zip(items, kept.values()))
        assert sorted(item.key for item in store.search(NS)) == sorted(kept)


@pytest.mark.parametrize(
    "number", [1e16, 1e22, 1e23, -1e300, math.pi * 1e20, 5e-324, 0.1, 2**70, 10**40, 1.0, 1]
)
def test_a_number_keeps_its_value_and_its_type(number):
    with driven("postgres-sync") as store:
        store.put(NS, "k", {"n": number})
        assert same(store.get(NS, "k").value, {"n": number})
        assert store.keys(NS, filter={"n": number}) == ["k"]
        assert store.keys(NS, filter={"n": {"$gt": number}}) == []
        assert store.keys(NS, filter={"n": {"$lte": number}}) == ["k"]


@pytest.mark.parametrize(
    "odd", ["'; DROP TABLE store; --", "%s", "%(x)s", "?", "x$1", "\\", "{}", '"', "\x00", "\ud800", "NULL"]
)
def test_no_text_becomes_sql(odd):
    with driven("postgres-sync", ttl={"default_ttl": 5}) as store:
        namespace = ("n", odd.replace("\x00", "0"))
        store.put(namespace, odd, {odd: odd, "deep": {odd: [odd]}})
        store.put(("n", "other"), "other", {"x": 1})
        assert store.get(namespace, odd).value == {odd: odd, "deep": {odd: [odd]}}
        for filter in (
            {odd: odd},
            {"deep": {odd: [odd]}},
            {odd: {"$gte": odd}},
            {"deep": {"$eq": {odd: [odd]}}},
        ):
            assert [item.key for item in store.search(("n",), filter=filter)] == [odd]
        assert sorted(store.list_namespaces(prefix=("n",))) == sorted([namespace, ("n", "other")])
        assert store.list_namespaces(suffix=(namespace[1],)) == [namespace]
        store.delete(namespace, odd)
        assert store.keys(("n",)) == ["other"]
