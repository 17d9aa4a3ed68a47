"""Vector search, in every store; and the arithmetic below it."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepgraph.store.base import PutOp, SearchOp, vectors
from stepgraph.store.base.vectors import cosine_scores, pack_vector, unpack_vector

NS = ("docs",)


class Letters:
    """Embeds a text as its numbers of a, b and c; keeps what it was asked."""

    def __init__(self):
        self.calls = []

    def __call__(self, texts):
        self.calls.append(list(texts))
        return [[float(text.count(letter)) for letter in "abc"] + [0.1] for text in texts]


def index(embed=None, **more):
    return {"dims": 4, "embed": embed or Letters(), **more}


def scores(store, query, **more):
    return [
        (item.key, None if item.score is None else round(item.score, 2))
        for item in store.search(NS, query=query, **more)
    ]


@pytest.fixture
def indexed(open_store):
    store = open_store(index=index(fields=["text"]))
    store.put(NS, "a", {"text": "aaa", "kind": 1})
    store.put(NS, "b", {"text": "bbb", "kind": 2})
    store.put((*NS, "below"), "ab", {"text": "ab", "kind": 1})
    return store


def test_the_nearest_comes_first(indexed):
    assert scores(indexed, "a") == [("a", 1.0), ("ab", 0.71), ("b", 0.0)]
    assert scores(indexed, "b") == [("b", 1.0), ("ab", 0.71), ("a", 0.0)]


def test_a_query_goes_with_a_filter_and_pages(indexed):
    assert scores(indexed, "b", filter={"kind": 1}) == [("ab", 0.71), ("a", 0.0)]
    assert scores(indexed, "a", limit=1, offset=1) == [("ab", 0.71)]
    assert scores(indexed, "a", limit=0) == []


def test_items_without_a_vector_come_last(indexed):
    indexed.put(NS, "not", {"text": "aaa"}, index=False)
    indexed.put(NS, "other", {"title": "aaa"})
    found = scores(indexed, "a")
    assert found[:3] == [("a", 1.0), ("ab", 0.71), ("b", 0.0)]
    assert sorted(found[3:]) == [("not", None), ("other", None)]


def test_a_put_can_name_its_own_fields(indexed):
    indexed.put(NS, "own", {"text": "bbb", "title": "aaa"}, index=["title"])
    assert scores(indexed, "a", limit=2) == [("a", 1.0), ("own", 1.0)] or scores(indexed, "a", limit=2) == [
        ("own", 1.0),
        ("a", 1.0),
    ]


def test_the_best_of_several_texts_counts(open_store):
    store = open_store(index=index(fields=["parts[*].text", "title"]))
    store.put(NS, "k", {"title": "ccc", "parts": [{"text": "aaa"}, {"text": "bbb"}]})
    for query in "abc":
        assert scores(store, query) == [("k", 1.0)]


def test_the_whole_value_is_embedded_by_default(open_store):
    embed = Letters()
    store = open_store(index=index(embed))
    store.put(NS, "k", {"z": "é", "b": [1]})
    assert embed.calls == [['{"b": [1], "z": "é"}']]


def test_a_new_value_replaces_its_vectors(indexed):
    indexed.put(NS, "a", {"text": "bbb"})
    assert ("a", 0.0) in scores(indexed, "a")
    indexed.put(NS, "a", {"text": "bbb"}, index=False)
    assert ("a", None) in scores(indexed, "b")


def test_a_deleted_item_is_not_found(indexed):
    indexed.delete(NS, "a")
    assert [key for key, _ in scores(indexed, "a")] == ["ab", "b"]
    indexed.put(NS, "a", {"kind": 1})
    assert ("a", None) in scores(indexed, "a")


def test_an_expired_item_is_not_found_and_is_swept_with_its_vectors(indexed):
    indexed.put(NS, "short", {"text": "aaa"}, ttl=1)
    indexed.clock.go_on(2)
    assert "short" not in dict(scores(indexed, "a"))
    assert indexed.sweep() == 1
    indexed.put(NS, "short", {"kind": 1})
    assert ("short", None) in scores(indexed, "a")


def test_an_empty_query_is_none(indexed):
    assert {score for _, score in scores(indexed, "")} == {None}


def test_a_store_without_an_index_ignores_the_query(store):
    store.put(NS, "k", {"text": "a"}, index=["text"])
    assert scores(store, "a") == [("k", None)]


def test_a_batch_embeds_each_text_once(open_store):
    embed = Letters()
    store = open_store(index=index(embed, fields=["text"]))
    store.batch([PutOp(NS, str(n), {"text": "ab"[n % 2]}) for n in range(6)])
    store.batch([SearchOp(NS, query="a"), SearchOp(NS, query="a", limit=1), SearchOp(NS, query="b")])
    assert embed.calls == [["a", "b"], ["a"], ["b"]]


def test_an_async_function_embeds_for_async_callers(open_store):
    async def embed(texts):
        await asyncio.sleep(0)
        return Letters()(texts)

    store = open_store(index=index(embed, fields=["text"]))
    if store.home is None:
        with pytest.raises(ValueError, match="async"):
            store.put(NS, "k", {"text": "aaa"})
        return
    store.put(NS, "k", {"text": "aaa"})
    assert scores(store, "a") == [("k", 1.0)]


def test_wrong_dims_warn_once(open_store):
    store = open_store(index={"dims": 3, "embed": Letters(), "fields": ["text"]})
    with pytest.warns(UserWarning, match=r"dims=3.*4 numbers"):
        store.put(NS, "a", {"text": "a"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.put(NS, "b", {"text": "b"})


def test_a_function_that_returns_too_little_is_an_error(open_store):
    store = open_store(index=index(lambda texts: []))
    with pytest.raises(ValueError, match="1 texts and returned 0 vectors"):
        store.put(NS, "k", {"text": "a"})
    assert store.get(NS, "k") is None


def test_vectors_of_another_length_are_an_error(open_store):
    length = [2]
    store = open_store(index={"embed": lambda texts: [[1.0] * length[0] for _ in texts], "fields": ["text"]})
    store.put(NS, "k", {"text": "a"})
    length[0] = 3
    with pytest.raises(ValueError, match="vector of 3 numbers, but a stored vector has 2"):
        store.search(NS, query="a")


def test_an_index_without_a_function_is_refused(open_store):
    with pytest.raises(ValueError, match="embed must be provided"):
        open_store(index={"dims": 4})


numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


@settings(deadline=None)
@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=5))
def test_numpy_and_python_agree(rows):
    pytest.importorskip("numpy")
    query, *others = rows
    fast = cosine_scores(query, others)
    slow = [vectors._cosine(query, other) for other in others]
    assert fast == pytest.approx(slow, abs=1e-9)
    assert all(-1.000001 <= score <= 1.000001 for score in fast)


def test_without_numpy_the_answers_are_the_same():
    code = (
        "import sys, json; sys.modules['numpy'] = None\n"
        "from stepgraph.store.memory import InMemoryStore\n"
        "store = InMemoryStore(index={'dims': 2, 'embed': lambda t: [[float(len(x)), 1.0] for x in t], 'fields': ['t']})\n"
        "store.put(('a',), 'k', {'t': 'xxx'}); store.put(('a',), 'j', {'t': ''})\n"
        "print(json.dumps([[i.key, i.score] for i in store.search(('a',), query='xxx')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (first, one), (second, other) = json.loads(done.stdout)
    assert (first, second) == ("k", "j")
    assert one == pytest.approx(1.0)
    assert other == pytest.approx(1 / math.sqrt(10))


@settings(deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_packed_vectors_come_back(vector):
    assert unpack_vector(pack_vector(vector)).tolist() == vector


def test_the_sqlite_extension_scores_alike():
    """The extension can be loaded by some builds of Python only."""
    sqlite_vec = pytest.importorskip("sqlite_vec", reason="sqlite-vec is not installed")
    import sqlite3

    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        pytest.skip("this Python cannot load SQLite extensions")
    from store.backends import driven

    assert sqlite_vec
    with driven("sqlite-sync", index=index(fields=["text"])) as store:
        store.put(NS, "a", {"text": "aaa"})
        store.put(NS, "ab", {"text": "ab"})
        assert store.store._dialect.has_vector_extension
        assert scores(store, "a") == [("a", 1.0), ("ab", 0.71)]
