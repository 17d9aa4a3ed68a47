"""What is particular to stores in a SQLite file."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import json
import sqlite3
import threading
import uuid
from collections import OrderedDict
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from stepgraph.store.base import GetOp, PutOp
from stepgraph.store.memory import InMemoryStore
from stepgraph.store.sqlite import SqliteStore
from stepgraph.store.sqlite.base import MIGRATIONS

NS = ("a", "b")

OLD_FILE = """
CREATE TABLE store_migrations (v INTEGER PRIMARY KEY);
CREATE TABLE store (
    prefix text NOT NULL, key text NOT NULL, value text NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (prefix, key));
CREATE INDEX store_prefix_idx ON store (prefix);
INSERT INTO store_migrations VALUES (0), (1);
INSERT INTO store (prefix, key, value, created_at, updated_at)
VALUES ('a.b', 'old', CAST('{"x":1}' AS BLOB), '2024-05-01 12:00:00', '2024-05-01 12:00:00');
"""


@pytest.fixture
def conn():
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    yield connection
    connection.close()


@dataclasses.dataclass
class Point:
    x: int


class Color(enum.Enum):
    RED = "red"


def test_a_file_of_another_program_is_brought_up_to_date_and_read(conn):
    conn.executescript(OLD_FILE)
    store = SqliteStore(conn)
    store.put(NS, "fresh", {"x": 2}, ttl=5)
    old = store.get(NS, "old")
    assert old.value == {"x": 1}
    assert old.created_at == datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert [item.key for item in store.search(("a",))] == ["fresh", "old"]
    assert [item.key for item in store.search(("a",), filter={"x": 1})] == ["old"]
    versions = [v for (v,) in conn.execute("SELECT v FROM store_migrations ORDER BY v")]
    assert versions == list(range(len(MIGRATIONS)))


def test_setting_up_twice_changes_nothing(conn):
    SqliteStore(conn).setup()
    tables = list(conn.execute("SELECT sql FROM sqlite_master"))
    SqliteStore(conn).setup()
    assert list(conn.execute("SELECT sql FROM sqlite_master")) == tables


def test_what_json_writes_as_text_comes_back_as_text(conn):
    store = SqliteStore(conn)
    value = {
        "day": date(2024, 5, 1),
        "moment": datetime(2024, 5, 1, tzinfo=UTC),
        "id": uuid.UUID(int=1),
        "color": Color.RED,
        "point": Point(1),
        "pair": (1, 2),
        "ordered": OrderedDict(a=1),
    }
    store.put(NS, "k", value)
    assert store.get(NS, "k").value == {
        "day": "2024-05-01",
        "moment": "2024-05-01T00:00:00+00:00",
        "id": "00000000-0000-0000-0000-000000000001",
        "color": "red",
        "point": {"x": 1},
        "pair": [1, 2],
        "ordered": {"a": 1},
    }
    assert len(store.search(NS, filter={"day": date(2024, 5, 1), "id": uuid.UUID(int=1)})) == 1


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": {"b": [1, {2}]}}, r"value\['a'\]\['b'\]\[1\] is a set"),
        ({"a": b"x"}, r"value\['a'\] is a bytes"),
        ({"a": Decimal(1)}, r"value\['a'\] is a Decimal"),
        ({"a": {1: 2}}, r"value\['a'\] has the key 1 of type int"),
        ({"a": [float("nan")]}, r"value\['a'\]\[0\] is nan"),
        ({"a": float("inf")}, r"value\['a'\] is inf"),
        ({"a": Point({1})}, r"value\['a'\]\['x'\] is a set"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(conn, value, place):
    store = SqliteStore(conn)
    store.put(NS, "k", {"v": 1})
    with pytest.raises((TypeError, ValueError), match=rf"key 'k' in namespace \('a', 'b'\): {place}"):
        store.put(NS, "k", value)
    assert store.get(NS, "k").value == {"v": 1}


def test_a_value_that_contains_itself_is_refused(conn):
    value: dict = {}
    value["self"] = value
    with pytest.raises(ValueError, match="key 'k' in namespace"):
        SqliteStore(conn).put(NS, "k", value)


def test_half_a_surrogate_pair_comes_back(conn):
    store = SqliteStore(conn)
    store.put(NS, "k", {"text": "\ud800é"})
    assert store.get(NS, "k").value == {"text": "\ud800é"}


def test_a_damaged_row_is_named_and_loses_nothing_else(conn):
    store = SqliteStore(conn)
    store.put(NS, "good", {"v": 1})
    store.put(NS, "bad", {"v": 1})
    conn.execute("UPDATE store SET value = '{\"v\": ' WHERE key = 'bad'")
    with pytest.raises(ValueError, match=r"key 'bad' in namespace \('a', 'b'\) cannot be read"):
        store.get(NS, "bad")
    with pytest.raises(ValueError, match=r"key 'bad' in namespace \('a', 'b'\) cannot be read"):
        store.search(NS, filter={"v": 1})
    assert store.get(NS, "good").value == {"v": 1}
    store.delete(NS, "bad")
    assert [item.key for item in store.search(NS)] == ["good"]


def test_a_deserializer_of_ones_own_reads_values_and_serves_filters(conn):
    other = SqliteStore(conn)
    store = SqliteStore(conn, deserializer=lambda text: {"upper": json.loads(text)["text"].upper()})
    store.put(NS, "k", {"text": "abc"})
    assert store.get(NS, "k").value == {"upper": "ABC"}
    assert [item.key for item in store.search(NS, filter={"upper": "ABC"})] == ["k"]
    assert [item.key for item in other.search(NS, filter={"text": "abc"})] == ["k"]


@pytest.mark.parametrize("isolation_level", [None, "", "IMMEDIATE"])
def test_a_write_is_committed_whatever_the_connections_mode(tmp_path, isolation_level):
    path = tmp_path / "store.db"
    conn = sqlite3.connect(path, isolation_level=isolation_level)
    SqliteStore(conn).put(NS, "k", {"v": 1})
    conn.close()
    with SqliteStore.from_conn_string(str(path)) as store:
        assert store.get(NS, "k").value == {"v": 1}


def test_an_open_transaction_of_the_connections_owner_stays_open(conn):
    store = SqliteStore(conn)
    store.setup()
    conn.execute("BEGIN")
    conn.execute("CREATE TABLE mine (x)")
    store.put(NS, "k", {"v": 1})
    store.batch([GetOp(NS, "k"), GetOp(NS, "j")])
    assert conn.in_transaction
    conn.rollback()
    assert store.get(NS, "k") is None


def test_many_threads_and_stores_share_one_connection(conn):
    stores = [SqliteStore(conn) for _ in range(3)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        store = stores[number % 3]
        try:
            for n in range(20):
                store.batch(
                    [PutOp(("t", str(number)), str(n), {"n": n}), GetOp(("t",), "x"), GetOp(("u",), "x")]
                )
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(stores[0].search(("t",), limit=1000)) == 120


def test_several_connections_share_one_file(tmp_path):
    path = str(tmp_path / "store.db")
    with SqliteStore.from_conn_string(path) as one, SqliteStore.from_conn_string(path) as two:
        one.put(NS, "k", {"v": 1})
        assert two.get(NS, "k").value == {"v": 1}
        two.put(NS, "k", {"v": 2})
        assert one.get(NS, "k").value == {"v": 2}


def test_sync_and_async_stores_share_one_file(tmp_path):
    pytest.importorskip("aiosqlite", reason="aiosqlite is not installed")
    from stepgraph.store.sqlite import AsyncSqliteStore

    path = str(tmp_path / "store.db")

    async def write():
        async with AsyncSqliteStore.from_conn_string(path, ttl={"default_ttl": 5}) as store:
            await store.aput(NS, "k", {"v": 1})
            task = await store.start_ttl_sweeper()
            assert await store.start_ttl_sweeper() is task
            await store.aget(NS, "k")
        assert task.done()

    asyncio.run(write())
    with SqliteStore.from_conn_string(path) as store:
        assert store.get(NS, "k").value == {"v": 1}


def test_an_async_store_without_a_configuration_runs_no_sweeper():
    pytest.importorskip("aiosqlite", reason="aiosqlite is not installed")
    from stepgraph.store.sqlite import AsyncSqliteStore

    async def main():
        async with AsyncSqliteStore.from_conn_string(":memory:") as store:
            await (await store.start_ttl_sweeper())
            assert await store.stop_ttl_sweeper()

    asyncio.run(main())


def test_reads_take_no_write_lock(tmp_path):
    path = str(tmp_path / "store.db")
    with SqliteStore.from_conn_string(path) as store, sqlite3.connect(path, isolation_level=None) as other:
        store.put(NS, "k", {"v": 1})
        other.execute("BEGIN IMMEDIATE")
        assert store.get(NS, "k").value == {"v": 1}
        assert len(store.batch([GetOp(NS, "k"), GetOp(NS, "j")])) == 2
        assert store.search(("a",)) != []
        other.execute("ROLLBACK")


def test_an_index_can_be_added_to_a_file_later(conn):
    SqliteStore(conn).put(NS, "plain", {"text": "a"})
    store = SqliteStore(conn, index={"dims": 1, "embed": lambda texts: [[1.0] for _ in texts]})
    store.put(NS, "k", {"text": "a"})
    assert [(item.key, item.score) for item in store.search(NS, query="a")] == [("k", 1.0), ("plain", None)]


def test_the_memory_store_keeps_objects_as_they_are():
    store = InMemoryStore()
    store.put(NS, "k", {"id": uuid.UUID(int=1), "pair": (1, {2})})
    assert store.get(NS, "k").value == {"id": uuid.UUID(int=1), "pair": (1, {2})}
