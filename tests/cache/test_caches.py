"""Keeping, finding and forgetting values, in every cache."""

from __future__ import annotations

import sqlite3
import threading
from datetime import UTC, datetime

import pytest

from stepgraph.cache.base import BaseCache
from stepgraph.cache.keys import full_key, namespace_text
from stepgraph.cache.memory import FIRST_PURGE, InMemoryCache
from stepgraph.cache.redis import RedisCache
from stepgraph.cache.sqlite import PURGE_SECONDS, SqliteCache

A, AB, EMPTY = (("a",), "k"), (("a", "b"), "k"), ((), "k")


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def test_values_come_back(cache):
    pairs = {A: ({"v": (1, {2})}, None), AB: ([datetime(2024, 5, 1, tzinfo=UTC)], 60), EMPTY: (None, None)}
    cache.set(pairs)
    assert cache.get([A, AB, EMPTY, (("no",), "k"), (("a",), "no")]) == {
        key: pair[0] for key, pair in pairs.items()
    }


def test_nothing_is_found_in_nothing(cache):
    assert cache.get([]) == {}
    assert cache.get([A]) == {}
    cache.set({})
    cache.clear()
    cache.clear([])


def test_a_later_value_replaces_an_earlier_one(cache):
    cache.set({A: (1, None)})
    cache.set({A: (2, None)})
    assert cache.get([A]) == {A: 2}


def test_what_was_given_or_found_can_be_changed_without_changing_the_cache(cache):
    value = [1]
    cache.set({A: (value, None)})
    value.append(2)
    cache.get([A])[A].append(3)
    assert cache.get([A]) == {A: [1]}


def test_exactly_the_named_namespaces_are_cleared(cache):
    keys = [A, AB, (("ab",), "k"), (("a*",), "k"), (("a/b",), "k"), (("a:b",), "k"), EMPTY, (("",), "k")]
    for cleared in keys:
        cache.set(dict.fromkeys(keys, (1, None)))
        cache.clear([cleared[0]])
        assert set(cache.get(keys)) == {key for key in keys if key != cleared}


def test_everything_can_be_cleared(cache):
    many = {(("n", str(n % 3)), str(n)): (n, None) for n in range(1200)}
    cache.set(many)
    cache.clear()
    assert cache.get(list(many)) == {}


@pytest.mark.parametrize("ttl", [0, -1])
def test_a_value_that_lives_no_time_is_not_there(cache, ttl):
    cache.set({A: (1, None)})
    cache.set({A: (2, ttl)})
    assert cache.get([A]) == {}


def test_odd_keys_are_kept_apart(cache):
    keys = [
        ((label,), label)
        for label in ("*", "a?", "a b", "é", "[x]", "'; DROP TABLE cache; --", "\\", "%", "")
    ]
    cache.set({key: (key[1], None) for key in keys})
    assert cache.get(keys) == {key: key[1] for key in keys}


def test_an_entry_that_cannot_be_read_counts_as_missing(cache):
    cache.set({A: (1, None), AB: (2, None)})
    loads = cache.cache.serde.loads_typed
    failed = []

    class Forgetful:
        dumps_typed = cache.cache.serde.dumps_typed

        def loads_typed(self, typed):
            if not failed:
                failed.append(typed)
                raise ValueError("gone")
            return loads(typed)

    cache.cache.serde = Forgetful()
    with pytest.warns(UserWarning, match=r"key 'k' in namespace \('a',\).*ValueError: gone"):
        assert cache.get([A, AB]) == {AB: 2}


@pytest.mark.parametrize(
    "make", [InMemoryCache, lambda: SqliteCache(path=":memory:")], ids=["memory", "sqlite"]
)
def test_a_value_is_gone_after_its_seconds(make):
    cache = make()
    cache.clock = Clock()
    cache.set({A: (1, 5), AB: (2, None)})
    cache.clock.now += 4
    assert cache.get([A, AB]) == {A: 1, AB: 2}
    cache.clock.now += 2
    assert cache.get([A, AB]) == {AB: 2}


def test_redis_is_told_when_a_value_expires(redis_port):
    import redis

    with redis.Redis(port=redis_port) as client:
        client.flushdb()
        RedisCache(client).set({A: (1, 60), AB: (2, None)})
        assert 0 < client.pttl("langgraph:cache:a:k") <= 60_000
        assert client.pttl("langgraph:cache:a/b:k") == -1


def test_an_async_redis_client_serves_no_sync_callers():
    redis = pytest.importorskip("redis.asyncio", reason="the package redis is not installed")
    cache = RedisCache(redis.Redis())
    for call in (lambda: cache.get([A]), lambda: cache.set({A: (1, None)}), lambda: cache.clear()):
        with pytest.raises(TypeError, match="its client is async"):
            call()


def test_a_redis_client_that_returns_text_is_refused(redis_port):
    import redis

    with redis.Redis(port=redis_port, decode_responses=True) as client:
        client.set("langgraph:cache:a:k", "text")
        with pytest.raises(TypeError, match="decode_responses=False"):
            RedisCache(client).get([A])


def test_expired_values_do_not_pile_up_in_memory():
    cache = InMemoryCache()
    cache.clock = Clock()
    for n in range(FIRST_PURGE * 4):
        cache.set({(("n", str(n)), "k"): (n, 1)})
        cache.clock.now += 1
    assert len(cache._namespaces) <= FIRST_PURGE + 1


def test_expired_values_do_not_pile_up_in_the_file(tmp_path):
    with SqliteCache(path=str(tmp_path / "cache.db")) as cache:
        cache.clock = Clock()
        cache.set({A: (1, 1)})
        cache.clock.now += PURGE_SECONDS
        cache.set({AB: (1, 1)})
        assert cache._conn.execute("SELECT COUNT(*) FROM cache").fetchone() == (1,)


def test_a_file_serves_several_caches_and_outlives_them(tmp_path):
    path = str(tmp_path / "cache.db")
    with SqliteCache(path=path) as one, SqliteCache(path=path) as two:
        one.set({A: (1, None)})
        assert two.get([A]) == {A: 1}
    with SqliteCache(path=path) as three:
        assert three.get([A]) == {A: 1}


def test_a_failed_write_keeps_nothing_of_it(tmp_path):
    with SqliteCache(path=str(tmp_path / "cache.db")) as cache:
        cache._conn.execute(
            "CREATE TRIGGER no BEFORE INSERT ON cache WHEN new.key = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        with pytest.raises(sqlite3.IntegrityError):
            cache.set({A: (1, None), (("a",), "bad"): (2, None)})
        assert cache.get([A]) == {}
        cache.set({A: (3, None)})
        assert cache.get([A]) == {A: 3}


@pytest.mark.parametrize(
    "make", [InMemoryCache, lambda: SqliteCache(path=":memory:")], ids=["memory", "sqlite"]
)
def test_many_threads_use_one_cache(make):
    cache = make()
    errors = []

    def work(number):
        try:
            for n in range(50):
                cache.set({(("t",), f"{number}.{n}"): (n, 1000)})
                cache.get([(("t",), f"{number}.{n}"), A])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(cache.get([(("t",), f"{number}.{n}") for number in range(6) for n in range(50)])) == 300


def test_a_cache_of_ones_own_needs_sync_methods_only():
    import asyncio

    class Own(BaseCache):
        def __init__(self):
            super().__init__()
            self.values = {}

        def get(self, keys):
            return {key: self.values[key] for key in keys if key in self.values}

        def set(self, pairs):
            self.values.update({key: value for key, (value, _) in pairs.items()})

        def clear(self, namespaces=None):
            self.values.clear()

    async def main():
        cache = Own()
        await cache.aset({A: (1, None)})
        assert await cache.aget([A]) == {A: 1}
        await cache.aclear()
        assert await cache.aget([A]) == {}

    asyncio.run(main())


def test_what_a_key_function_returns_becomes_a_short_key():
    assert full_key(("n",), "a") == full_key(("n",), "a")
    assert len({full_key(("n",), key) for key in ("a", b"a", "b", "", b"", "\ud800")}) == 6
    assert len(full_key(("n",), "x" * 10_000)[1]) == 32


def test_different_namespaces_have_different_texts():
    namespaces = [(), ("",), ("", ""), ("a",), ("a", ""), ("a", "b"), ("a/b",), ("a%2Fb",), ("%",), ("a:b",)]
    assert len({namespace_text(namespace) for namespace in namespaces}) == len(namespaces)
    assert not any(":" in namespace_text(namespace) for namespace in namespaces)
