"""Writing, reading and deleting items, in every store."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

import pytest

from stepgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    PutOp,
    SearchItem,
    SearchOp,
)

NS = ("users", "7")


def test_an_item_comes_back_as_it_was_put(store):
    value = {"text": "é\u2028\x00", "n": 2**70, "f": 1.5, "flags": [True, None], "deep": {"a": {"b": []}}}
    store.put(NS, "k", value)
    item = store.get(NS, "k")
    assert (item.namespace, item.key, item.value) == (NS, "k", value)
    assert item.created_at == item.updated_at
    assert item.created_at.tzinfo is not None


def test_what_is_not_there_is_none(store):
    assert store.get(NS, "k") is None
    store.delete(NS, "k")


def test_a_second_put_keeps_the_time_of_creation(store):
    store.put(NS, "k", {"v": 1})
    first = store.get(NS, "k")
    store.put(NS, "k", {"v": 2})
    second = store.get(NS, "k")
    assert second.value == {"v": 2}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at


def test_a_deleted_item_is_gone(store):
    store.put(NS, "k", {"v": 1})
    store.put(NS, "other", {"v": 2})
    store.delete(NS, "k")
    assert store.get(NS, "k") is None
    assert store.keys(NS) == ["other"]


def test_changing_what_was_put_or_read_changes_nothing_in_the_store(store):
    value = {"list": [1]}
    store.put(NS, "k", value)
    value["list"].append(2)
    store.get(NS, "k").value["list"].append(3)
    store.search(NS)[0].value["list"].append(4)
    assert store.get(NS, "k").value == {"list": [1]}


def test_a_key_that_is_a_number_is_text(store):
    store.put(NS, 5, {"v": 1})
    assert store.get(NS, "5").key == "5"
    assert store.get(NS, 5) == store.get(NS, "5")


@pytest.mark.parametrize(
    "namespace", [(), ("",), ("a", ""), ("a.b",), (1,), ("a\x00",), ("langgraph", "x"), "abc"]
)
def test_bad_namespaces_cannot_be_written(store, namespace):
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {})


@pytest.mark.parametrize("namespace", [("",), ("a.b",), (1,), ("a\x00",), "abc"])
def test_bad_namespaces_cannot_be_read(store, namespace):
    with pytest.raises(InvalidNamespaceError):
        store.get(namespace, "k")
    with pytest.raises(InvalidNamespaceError):
        store.search(namespace)


@pytest.mark.parametrize("label", ["*", "a|b", "a/b", "'; DROP TABLE store; --", "%", "é", "a b", "-", "A"])
def test_odd_labels_and_keys_are_kept_apart(store, label):
    store.put((label,), label, {"v": label})
    store.put(("x" + label,), label, {"v": "other"})
    store.put((label, "below"), label, {"v": "below"})
    assert store.get((label,), label).value == {"v": label}
    assert [item.value["v"] for item in store.search((label,))] in ([label, "below"], ["below", label])
    assert sorted(store.list_namespaces()) == sorted([(label,), ("x" + label,), (label, "below")])


@pytest.mark.parametrize("value", ["text", [1], 5, {1, 2}])
def test_a_value_is_a_dictionary(store, value):
    with pytest.raises(TypeError, match="dictionary"):
        store.put(NS, "k", value)


def test_a_batch_reads_the_state_before_its_own_writes(store):
    store.put(NS, "k", {"v": 0})
    ops = [
        GetOp(NS, "k"),
        PutOp(NS, "k", {"v": 1}),
        GetOp(NS, "k"),
        PutOp(("fresh",), "k", {"v": 1}),
        PutOp(NS, "k", {"v": 2}),
        SearchOp(NS),
        ListNamespacesOp(),
        GetOp(NS, "missing"),
    ]
    results = store.batch(ops)
    assert results[0].value == results[2].value == {"v": 0}
    assert results[1] is results[3] is results[4] is results[7] is None
    assert [item.value for item in results[5]] == [{"v": 0}]
    assert results[6] == [NS]
    assert store.get(NS, "k").value == {"v": 2}


def test_the_last_write_of_a_batch_wins(store):
    store.batch(
        [PutOp(NS, "a", {"v": 1}), PutOp(NS, "a", None), PutOp(NS, "b", None), PutOp(NS, "b", {"v": 2})]
    )
    assert store.get(NS, "a") is None
    assert store.get(NS, "b").value == {"v": 2}


def test_a_batch_takes_any_number_of_operations(store):
    assert store.batch([]) == []
    store.batch(PutOp(NS, str(n), {"n": n}) for n in range(450))
    got = store.batch([GetOp(NS, str(n)) for n in range(450)])
    assert [item.value["n"] for item in got] == list(range(450))


def test_a_batch_with_a_bad_operation_changes_nothing(store):
    for bad in (5, PutOp(("a.b",), "k", {}), PutOp(NS, "k", [1]), SearchOp(NS, filter={"a": {"$in": []}})):
        with pytest.raises((ValueError, TypeError)):
            store.batch([PutOp(NS, "good", {}), bad])
    assert store.get(NS, "good") is None


def nested(levels):
    deep = []
    for _ in range(levels):
        deep = [deep]
    return deep


def test_a_value_that_is_nested_too_deeply_is_refused_and_nothing_of_its_batch_is_written(store):
    with pytest.raises(
        ValueError, match=r"key 'k' in namespace \('users', '7'\): .*recursion|nested too deeply"
    ):
        store.batch([PutOp(NS, "good", {}), PutOp(NS, "k", {"deep": nested(10_000)})])
    assert store.search(NS) == []
    store.put(NS, "k", {"deep": nested(100)})
    assert store.get(NS, "k").value == {"deep": nested(100)}


@pytest.mark.parametrize(
    "wanted", [nested(10_000), {"$gt": nested(10_000)}, {"a": nested(100)}], ids=["list", "operand", "inner"]
)
def test_a_filter_that_is_nested_too_deeply_is_refused(store, wanted):
    with pytest.raises(ValueError, match=r"\['deep'\] is nested more than 100 levels deep"):
        store.search(NS, filter={"deep": wanted})


def test_a_large_value_comes_back(store):
    store.put(NS, "k", {"text": "x" * 5_000_000})
    assert store.get(NS, "k").value == {"text": "x" * 5_000_000}


def test_a_search_has_pages_in_a_steady_order(store):
    for n in range(7):
        store.put(NS, str(n), {"n": n})
    pages = [[item.key for item in store.search(NS, limit=3, offset=offset)] for offset in (0, 3, 6, 9)]
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert [key for page in pages for key in page] == [item.key for item in store.search(NS, limit=100)]
    assert store.search(NS, limit=0) == []


@pytest.mark.parametrize(("limit", "offset"), [(-1, 0), (5, -1)])
def test_a_page_has_no_negative_bounds(store, limit, offset):
    with pytest.raises(ValueError, match="limit and offset"):
        store.search(NS, limit=limit, offset=offset)


def test_a_search_looks_below_its_prefix_only(store):
    for namespace in [("a",), ("a", "b"), ("a", "b", "c"), ("ab",), ("a-b",), ("a!",), ("z", "a")]:
        store.put(namespace, "-".join(namespace), {})
    assert store.keys(("a",)) == ["a", "a-b", "a-b-c"]
    assert store.keys(("a", "b")) == ["a-b", "a-b-c"]
    assert len(store.keys(())) == 7
    assert store.keys(("nothing",)) == []


def test_found_items_have_no_score_without_a_query(store):
    store.put(NS, "k", {"v": 1})
    (found,) = store.search(NS)
    assert isinstance(found, SearchItem)
    assert found.score is None
    assert found.dict()["score"] is None


def test_items_compare_by_content_and_print_it():
    day = datetime(2024, 5, 1, tzinfo=UTC)
    item = Item(value={"v": 1}, key="k", namespace=["n"], created_at=day.isoformat(), updated_at=day)
    found = SearchItem(("n",), "k", {"v": 1}, day, day)
    assert item == found
    assert hash(item) == hash(found)
    assert item != Item(value={"v": 2}, key="k", namespace=("n",), created_at=day, updated_at=day)
    assert item.dict() == {
        "namespace": ["n"],
        "key": "k",
        "value": {"v": 1},
        "created_at": "2024-05-01T00:00:00+00:00",
        "updated_at": "2024-05-01T00:00:00+00:00",
    }
    assert repr(item).startswith("Item(namespace=['n'], key='k', value={'v': 1}, created_at='2024-05-01T")


def test_the_newest_item_comes_first_in_sqlite():
    from store.backends import driven

    with driven("sqlite-sync") as store:
        for key in ("a", "b", "c"):
            store.put(NS, key, {})
        store.put(NS, "a", {})
        assert [item.key for item in store.search(NS)] == ["a", "c", "b"]


def test_the_oldest_item_comes_first_in_memory():
    from store.backends import driven

    with driven("memory-sync") as store:
        for key in ("a", "b", "c"):
            store.put(NS, key, {})
        store.put(NS, "a", {})
        assert [item.key for item in store.search(NS)] == ["a", "b", "c"]


def test_a_failed_write_leaves_no_part_of_its_batch():
    from store.backends import driven

    with driven("sqlite-sync") as store:
        store.put(NS, "k", {})
        conn: sqlite3.Connection = store.store.conn
        conn.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON store WHEN new.key = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        conn.commit()
        with pytest.raises(sqlite3.IntegrityError):
            store.batch([PutOp(NS, "good", {}), PutOp(NS, "bad", {})])
        assert store.keys(NS) == ["k"]
        store.put(NS, "later", {})
        assert store.keys(NS) == ["k", "later"]
