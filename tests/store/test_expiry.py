"""Items that expire, in every store."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from stepgraph.store.base import BaseStore, GetOp, PutOp
from stepgraph.store.memory import InMemoryStore

NS = ("a",)


def test_an_item_is_gone_after_its_time(store):
    store.put(NS, "short", {}, ttl=5)
    store.put(NS, "long", {}, ttl=50)
    store.put(NS, "ever", {})
    store.clock.go_on(10)
    assert store.get(NS, "short") is None
    assert store.keys(NS) == ["ever", "long"]
    assert [item and item.key for item in store.batch([GetOp(NS, "short"), GetOp(NS, "long")])] == [
        None,
        "long",
    ]


def test_a_namespace_of_expired_items_is_not_listed(store):
    store.put(NS, "k", {}, ttl=5)
    store.put(("b",), "k", {})
    store.clock.go_on(10)
    assert store.list_namespaces() == [("b",)]


def test_fractions_of_a_minute_count(store):
    store.put(NS, "k", {}, ttl=0.5)
    store.clock.go_on(0.4)
    assert store.get(NS, "k", refresh_ttl=False) is not None
    store.clock.go_on(0.2)
    assert store.get(NS, "k") is None


@pytest.mark.parametrize("read", ["get", "search"])
def test_a_read_starts_the_time_anew(store, read):
    store.put(NS, "k", {}, ttl=10)
    for _ in range(3):
        store.clock.go_on(8)
        assert store.get(NS, "k") if read == "get" else store.search(NS)
    store.clock.go_on(11)
    assert store.get(NS, "k") is None


@pytest.mark.parametrize("read", ["get", "search"])
def test_a_read_can_leave_the_time_alone(store, read):
    store.put(NS, "k", {}, ttl=10)
    store.clock.go_on(8)
    assert store.get(NS, "k", refresh_ttl=False) if read == "get" else store.search(NS, refresh_ttl=False)
    store.clock.go_on(8)
    assert store.get(NS, "k") is None


def test_only_found_items_are_refreshed(store):
    for key in ("1", "2"):
        store.put(NS, key, {"n": int(key)}, ttl=10)
    store.clock.go_on(8)
    store.search(NS, filter={"n": 1})
    store.clock.go_on(8)
    assert store.keys(NS) == ["1"]


def test_refreshing_can_be_configured_off(open_store):
    store = open_store(ttl={"refresh_on_read": False})
    store.put(NS, "k", {}, ttl=10)
    store.put(NS, "asked", {}, ttl=10)
    store.clock.go_on(8)
    assert store.get(NS, "k") is not None
    assert store.get(NS, "asked", refresh_ttl=True) is not None
    store.clock.go_on(8)
    assert store.keys(NS) == ["asked"]


def test_the_default_time_is_for_items_that_name_none(open_store):
    store = open_store(ttl={"default_ttl": 5})
    store.put(NS, "default", {})
    store.put(NS, "ever", {}, ttl=None)
    store.put(NS, "long", {}, ttl=50)
    store.clock.go_on(10)
    assert store.keys(NS) == ["ever", "long"]


def test_a_later_put_sets_a_new_time(store):
    store.put(NS, "k", {}, ttl=5)
    store.put(NS, "k", {})
    store.clock.go_on(10)
    assert store.get(NS, "k") is not None


def test_expired_items_can_be_shown_until_they_are_swept(open_store):
    store = open_store(ttl={"omit_expired": False, "refresh_on_read": False})
    store.put(NS, "k", {}, ttl=5)
    store.clock.go_on(10)
    assert store.keys(NS) == ["k"]
    assert store.list_namespaces() == [NS]
    assert store.sweep() == 1
    assert store.keys(NS) == []


def test_a_sweep_removes_what_is_expired_and_counts_it(store):
    store.batch([PutOp(NS, str(n), {}, ttl=n) for n in range(1, 6)] + [PutOp(NS, "ever", {})])
    store.clock.go_on(3.5)
    assert store.sweep() == 3
    assert store.sweep() == 0
    assert store.keys(NS) == ["4", "5", "ever"]


def test_a_time_to_live_is_not_negative(store):
    with pytest.raises(ValueError, match="ttl"):
        store.put(NS, "k", {}, ttl=-1)


def test_a_store_without_expiry_refuses_a_time_to_live():
    class Plain(BaseStore):
        def batch(self, ops):
            return [None for _ in ops]

        async def abatch(self, ops):
            return self.batch(ops)

    Plain().put(NS, "k", {})
    Plain().put(NS, "k", {}, ttl=None)
    with pytest.raises(NotImplementedError, match="TTL is not supported by Plain"):
        Plain().put(NS, "k", {}, ttl=1)


def test_the_sweeper_sweeps_until_it_is_stopped():
    class Watched(InMemoryStore):
        removed = threading.Event()

        def sweep_ttl(self):
            count = super().sweep_ttl()
            if count:
                self.removed.set()
            return count

    store = Watched(ttl={"omit_expired": False, "sweep_interval_minutes": 0.0001})
    store.put(NS, "k", {}, ttl=0)
    done = store.start_ttl_sweeper()
    assert store.removed.wait(10)
    assert store.search(NS) == []
    assert not done.done()
    assert store.stop_ttl_sweeper(10)
    assert done.done()
    assert store.stop_ttl_sweeper()


def test_no_sweeper_runs_without_a_configuration():
    store = InMemoryStore()
    assert store.start_ttl_sweeper().done()
    assert store.stop_ttl_sweeper()


def test_a_sweeper_that_is_started_twice_is_one():
    store = InMemoryStore(ttl={"default_ttl": 1})
    assert store.start_ttl_sweeper(60) is store.start_ttl_sweeper(1)
    assert store.stop_ttl_sweeper(10)


def test_a_sweep_that_fails_is_tried_again():
    class Flaky(InMemoryStore):
        calls = 0
        twice = threading.Event()

        def sweep_ttl(self):
            self.calls += 1
            if self.calls == 1:
                raise OSError("locked")
            self.twice.set()
            return 0

    store = Flaky(ttl={"sweep_interval_minutes": 0.0001})
    store.start_ttl_sweeper()
    assert store.twice.wait(10)
    assert store.stop_ttl_sweeper(10)


def test_a_sweeper_does_not_keep_its_store():
    store = InMemoryStore(ttl={"default_ttl": 1})
    done = store.start_ttl_sweeper()
    alive = weakref.ref(store)
    del store
    gc.collect()
    done.result(10)
    assert alive() is None
