"""A file, or a database, that an earlier version wrote is read, written and searched by this one.

`golden/store_1.sql` is the dump of a file that the first version of the tables made (`python -m store.test_golden` in
`tests` prints one), `golden/store_postgres_1.sql` the same for PostgreSQL, written down by hand from what its server shows.
They are never changed; a version with other tables adds another.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from stepgraph.store.sqlite import SqliteStore
from store.backends import Clock, postgres_schema

POSTGRES_DUMP = Path(__file__).parent / "golden" / "store_postgres_1.sql"
DUMP = Path(__file__).parent / "golden" / "store_1.sql"
INDEX = {"dims": 2, "embed": lambda texts: [[float(len(text)), 1.0] for text in texts], "fields": ["text"]}


def write(conn: sqlite3.Connection) -> None:
    store = SqliteStore(conn, index=INDEX)
    store.clock = Clock()
    store.put(("users", "7"), "likes", {"text": "é figs", "n": 2**70, "deep": {"list": [1.5, None, True]}})
    store.put(("users", "7"), "short", {"text": ""}, ttl=5)
    store.put(("users",), "plain", {"n": 1}, index=False)


def test_an_earlier_file_is_read_and_written():
    conn = sqlite3.connect(":memory:")
    conn.executescript(DUMP.read_text(encoding="utf-8"))
    check(SqliteStore(conn, index=INDEX))
    conn.close()


def test_an_earlier_database_is_read_and_written():
    psycopg = pytest.importorskip("psycopg")
    from stepgraph.store.postgres import PostgresStore

    with postgres_schema() as url, psycopg.connect(url, autocommit=True) as conn:
        conn.execute(POSTGRES_DUMP.read_bytes())
        store = PostgresStore(conn, index=INDEX)
        odd = store.get(("users", "7"), "odd\x00")
        assert odd.value == {"text\x00": "\ud800 \x01", "large": 1e23, "n": 5}
        assert [item.key for item in store.search((), filter={"text\x00": "\ud800 \x01"})] == ["odd\x00"]
        store.delete(("users", "7"), "odd\x00")
        check(store)


def check(store):
    store.clock = Clock()
    likes = store.get(("users", "7"), "likes")
    assert likes.value == {"text": "é figs", "n": 2**70, "deep": {"list": [1.5, None, True]}}
    assert likes.created_at.isoformat() == "2024-05-01T12:00:00.000001+00:00"
    assert [item.key for item in store.search(("users",), query="xxxxxx")] == ["likes", "short", "plain"]
    assert [item.key for item in store.search((), filter={"n": {"$gt": 2**69}})] == ["likes"]
    store.put(("users", "7"), "likes", {"text": "plums"})
    assert store.get(("users", "7"), "likes").created_at == likes.created_at
    store.clock.go_on(10)
    assert store.sweep_ttl() == 1


if __name__ == "__main__":
    with sqlite3.connect(":memory:") as made:
        write(made)
        print("\n".join(made.iterdump()))
