"""What is particular to stores in a PostgreSQL database: connections, transactions, tables."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import Any

import pytest

from postgres_server import PostgresServer
from stepgraph.store.base import GetOp, PutOp
from store.backends import Clock, Driven, Loop, postgres_schema

psycopg = pytest.importorskip("psycopg")

NS = ("a", "b")
WAYS = ["sync", "async"]

OTHERS_TABLES = """
CREATE TABLE store_migrations (v INTEGER PRIMARY KEY);
INSERT INTO store_migrations VALUES (0), (1), (2), (3);
CREATE TABLE store (
    prefix text NOT NULL, key text NOT NULL, value jsonb NOT NULL,
    created_at timestamptz DEFAULT CURRENT_TIMESTAMP, updated_at timestamptz DEFAULT CURRENT_TIMESTAMP,
    expires_at timestamptz, ttl_minutes integer, PRIMARY KEY (prefix, key));
CREATE INDEX store_prefix_idx ON store (prefix text_pattern_ops);
CREATE TABLE store_vectors (
    prefix text NOT NULL, key text NOT NULL, field_name text NOT NULL, embedding vector(2),
    created_at timestamptz DEFAULT CURRENT_TIMESTAMP, updated_at timestamptz DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (prefix, key, field_name),
    FOREIGN KEY (prefix, key) REFERENCES store (prefix, key) ON DELETE CASCADE);
CREATE INDEX store_vectors_embedding_idx ON store_vectors USING hnsw (embedding vector_cosine_ops);
INSERT INTO store VALUES
    ('a.b', 'old', '{"text": "x", "n": 1}', '2024-05-01 12:00:00+00', '2024-05-01 12:00:00+00', NULL, NULL),
    ('a-b', 'other', '{"n": 1}', '2024-05-01 12:00:00+00', '2024-05-01 12:00:00+00', NULL, NULL);
INSERT INTO store_vectors (prefix, key, field_name, embedding) VALUES ('a.b', 'old', 'text', '[1,1]');
"""


def index(**more: Any) -> dict[str, Any]:
    return {"embed": lambda texts: [[float(len(text)), 1.0] for text in texts], "fields": ["text"], **more}


@pytest.fixture
def url():
    with postgres_schema() as made:
        yield made


@pytest.fixture
def conn(url):
    with psycopg.connect(url, autocommit=True) as made:
        yield made


@contextmanager
def opened(way: str, source: str, url: str, arguments: Any = None, **config: Any):
    """A store made from a `"connection"`, a `"pool"` or a `"url"`, driven in one way.

    Args:
        arguments: For each connection.
    """
    import psycopg_pool

    from stepgraph.store.postgres import AsyncPostgresStore, PostgresStore

    arguments = {"autocommit": True, **(arguments or {})}
    pool = {"min_size": 2, "max_size": 4, "kwargs": arguments}
    clock = Clock()
    if way == "sync":
        opener: Any = {
            "connection": lambda: psycopg.connect(url, **arguments),
            "pool": lambda: psycopg_pool.ConnectionPool(url, open=False, **pool),
            "url": lambda: PostgresStore.from_conn_string(url, **config),
        }[source]()
        with opener as target:
            store = target if source == "url" else PostgresStore(target, **config)
            store.clock = clock
            yield Driven(store, clock, None)
        return
    loop = Loop()

    async def enter() -> Any:
        if source == "connection":
            return await psycopg.AsyncConnection.connect(url, **arguments)
        if source == "pool":
            return psycopg_pool.AsyncConnectionPool(url, open=False, **pool)
        return AsyncPostgresStore.from_conn_string(url, **config)

    async def build(target: Any) -> Any:
        entered = await target.__aenter__()
        return entered if source == "url" else AsyncPostgresStore(entered, **config)

    try:
        target = loop.run(enter())
        store = loop.run(build(target))
        try:
            store.clock = clock
            yield Driven(store, clock, loop)
        finally:
            loop.run(target.__aexit__(None, None, None))
    finally:
        loop.close()


def cut_all_others(conn: Any) -> None:
    """End all other connections to this connection's database, and wait until they are gone."""
    ended = conn.execute(
        "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        " AND datname = current_database() AND backend_type = 'client backend'"
    ).fetchall()
    assert ended
    assert all(is_gone for (is_gone,) in ended)


# ---- where connections come from


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", ["connection", "pool", "url"])
def test_a_store_works_on_any_source_of_connections(url, way, source):
    with opened(way, source, url) as store:
        store.put(NS, "k", {"v": 1})
        results = store.batch([GetOp(NS, "k"), GetOp(NS, "j"), PutOp(NS, "j", {"v": 2})])
        assert [result and result.value for result in results] == [{"v": 1}, None, None]
        assert store.keys(NS) == ["j", "k"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", ["connection", "pool"])
def test_a_connections_own_rows_and_transactions_do_not_matter(url, conn, way, source):
    arguments = {"autocommit": False, "row_factory": psycopg.rows.dict_row}
    with opened(way, source, url, arguments) as store:
        store.put(NS, "k", {"v": 1})
        assert store.get(NS, "k").value == {"v": 1}
        assert [item.key for item in store.search(("a",))] == ["k"]
        assert conn.execute("SELECT COUNT(*) FROM store").fetchone() == (1,)
        open_ones = "SELECT COUNT(*) FROM pg_stat_activity WHERE state LIKE 'idle in%' AND datname = current_database()"
        assert conn.execute(open_ones).fetchone() == (0,)


def test_the_work_is_a_part_of_an_open_transaction(url, conn):
    from stepgraph.store.postgres import PostgresStore

    with PostgresStore.from_conn_string(url) as other:
        store = PostgresStore(conn)
        store.setup()
        with conn.transaction(force_rollback=True):
            store.put(NS, "k", {"v": 1})
            assert [item and item.value for item in store.batch([GetOp(NS, "k"), GetOp(NS, "j")])] == [
                {"v": 1},
                None,
            ]
            assert other.get(NS, "k") is None
        assert store.get(NS, "k") is None


def test_a_store_can_be_in_a_pipeline(url):
    from stepgraph.store.postgres import PostgresStore

    with psycopg.connect(url, autocommit=True) as conn, conn.pipeline() as pipe:
        store = PostgresStore(conn, pipe=pipe)
        store.put(NS, "k", {"v": 1})
        assert store.get(NS, "k").value == {"v": 1}
        assert len(store.batch([GetOp(NS, "k"), GetOp(NS, "j")])) == 2
    with PostgresStore.from_conn_string(url, pipeline=True) as store:
        assert store.get(NS, "k").value == {"v": 1}


@pytest.mark.parametrize("source", ["connection", "pool", "url"])
def test_many_threads_share_a_store(url, source):
    errors: list[BaseException] = []
    with opened("sync", source, url) as store:

        def work(number: int) -> None:
            try:
                for n in range(10):
                    place = ("t", str(number))
                    store.batch([PutOp(place, str(n), {"n": n}), GetOp(place, "x"), GetOp(("u",), "x")])
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(store.search(("t",), limit=1000)) == 60


def test_stores_of_many_threads_share_a_connection(conn):
    from stepgraph.store.postgres import PostgresStore

    stores = [PostgresStore(conn) for _ in range(3)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(10):
                stores[number % 3].batch(
                    [PutOp(("t", str(number)), str(n), {}), GetOp(("t",), "x"), GetOp(("u",), "x")]
                )
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(stores[0].search(("t",), limit=1000)) == 60


# ---- connections that are cut


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", ["pool", "url"])
def test_a_connection_that_was_cut_while_idle_is_replaced(url, conn, way, source):
    with opened(way, source, url) as store:
        store.put(NS, "k", {"v": 1})
        for _ in range(2):
            cut_all_others(conn)
            assert store.get(NS, "k").value == {"v": 1}
        cut_all_others(conn)
        store.put(NS, "k", {"v": 2})
        assert store.get(NS, "k").value == {"v": 2}


@pytest.mark.parametrize("way", WAYS)
def test_a_connection_of_ones_own_that_was_cut_is_an_error_that_says_what_to_do(url, conn, way):
    with opened(way, "connection", url) as store:
        store.put(NS, "k", {"v": 1})
        cut_all_others(conn)
        with pytest.raises(ConnectionError, match=r"reading items failed.*from_conn_string"):
            store.get(NS, "k")
        with pytest.raises(ConnectionError, match=r"connection is (lost|closed).*open another one"):
            store.get(NS, "k")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", ["pool", "url"])
def test_a_write_that_is_cut_leaves_no_part_of_itself(url, conn, way, source):
    with opened(way, source, url) as store, psycopg.connect(url) as blocker:
        store.put(NS, "k", {"v": 1})
        blocker.execute("SELECT * FROM store FOR UPDATE")
        errors: list[BaseException] = []

        def write() -> None:
            try:
                store.batch([PutOp(NS, "fresh", {"v": 2}), PutOp(NS, "k", {"v": 2})])
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        waiting = (
            "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        while not (found := conn.execute(waiting).fetchall()):
            assert thread.is_alive()
        conn.execute("SELECT pg_terminate_backend(%s)", found[0])
        thread.join()
        blocker.rollback()
        assert isinstance(errors[0], ConnectionError)
        assert "writing items failed" in str(errors[0])
        assert "this store opens another connection by itself" in str(errors[0])
        assert isinstance(errors[0].__cause__, psycopg.OperationalError)
        assert store.get(NS, "fresh") is None
        assert store.get(NS, "k").value == {"v": 1}
        store.put(NS, "k", {"v": 3})
        assert store.get(NS, "k").value == {"v": 3}


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_write_leaves_no_part_of_its_batch(url, conn, way):
    with opened(way, "url", url) as store:
        store.put(NS, "k", {})
        conn.execute("ALTER TABLE store ADD CONSTRAINT refuse CHECK (key <> 'bad')")
        with pytest.raises(psycopg.errors.CheckViolation):
            store.batch([PutOp(NS, "good", {}), PutOp(NS, "bad", {})])
        assert store.keys(NS) == ["k"]
        store.put(NS, "later", {})
        assert store.keys(NS) == ["k", "later"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("code", ["40P01", "40001"])
def test_a_write_that_the_server_undid_for_another_is_made_again(url, conn, way, code):
    with opened(way, "url", url) as store:
        store.put(NS, "k", {})
        conn.execute("CREATE SEQUENCE tries")
        conn.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('tries') < 3 THEN"
            f" RAISE EXCEPTION 'not now' USING ERRCODE = '{code}'; END IF; RETURN NEW; END $$"
        )
        conn.execute("CREATE TRIGGER refuse BEFORE INSERT ON store FOR EACH ROW EXECUTE FUNCTION refuse()")
        store.put(NS, "later", {"v": 1})
        assert store.get(NS, "later").value == {"v": 1}
        assert conn.execute("SELECT last_value FROM tries").fetchone() == (3,)
        conn.execute("ALTER SEQUENCE tries RESTART MINVALUE -1000 START -1000")
        with pytest.raises(psycopg.errors.lookup(code), match="not now"):
            store.put(NS, "never", {})
        assert store.get(NS, "never") is None


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_is_killed_and_started_again_has_what_was_written(way):
    server = PostgresServer(fsync=True)
    try:
        with opened(way, "url", server.create_database()) as store:
            store.put(NS, "k", {"v": 1})
            acknowledged = 1
            server.kill()
            with pytest.raises(
                ConnectionError, match="No working connection to PostgreSQL, so writing items failed"
            ):
                while True:  # the process that serves a connection may outlive its server for a moment
                    store.put(NS, "k", {"v": acknowledged + 1})
                    acknowledged += 1
            server.start()
            assert store.get(NS, "k").value["v"] in (acknowledged, acknowledged + 1)
            store.put(NS, "k", {"v": 0})
            assert store.get(NS, "k").value == {"v": 0}
    finally:
        server.close()


# ---- tables


def test_tables_of_another_program_are_read_and_written(url, conn):
    from stepgraph.store.postgres import PostgresStore

    conn.execute(OTHERS_TABLES)
    with PostgresStore.from_conn_string(url, index=index()) as store:
        assert store.get(NS, "old").value == {"text": "x", "n": 1}
        assert store.get(NS, "old").created_at.isoformat() == "2024-05-01T12:00:00+00:00"
        store.put(NS, "fresh", {"text": "xxxx"}, ttl=0.5)
        assert [item.key for item in store.search(("a",))] == ["fresh", "old"]
        assert [item.key for item in store.search((), filter={"n": 1})] == ["other", "old"]
        assert [(item.key, item.score) for item in store.search(("a",), query="x", limit=1)] == [("old", 1.0)]
        assert conn.execute("SELECT ttl_minutes FROM store WHERE key = 'fresh'").fetchone() == (0.5,)
    assert conn.execute("SELECT MAX(v) FROM store_migrations").fetchone() == (3,)


def test_a_table_that_is_no_stores_is_left_alone(url, conn):
    from stepgraph.store.postgres import PostgresStore

    conn.execute("CREATE TABLE store (id integer, city text)")
    with PostgresStore.from_conn_string(url) as store:
        with pytest.raises(ValueError, match=r"a table named store .*city, id.*search_path"):
            store.get(NS, "k")
        assert conn.execute("SELECT TO_REGCLASS('stepgraph_store_migrations')").fetchone() == (None,)


def test_setting_up_twice_changes_nothing(url, conn):
    from stepgraph.store.postgres import PostgresStore

    described = (
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
        " WHERE table_schema = current_schema() ORDER BY 1, 2"
    )
    with PostgresStore.from_conn_string(url, index=index()) as store:
        store.setup()
        first = conn.execute(described).fetchall()
        assert {row[0] for row in first} == {"store", "store_vectors", "stepgraph_store_migrations"}
    with PostgresStore.from_conn_string(url, index=index()) as store:
        store.setup()
        assert conn.execute(described).fetchall() == first


def test_many_set_up_at_the_same_time(url, conn):
    from stepgraph.store.postgres import PostgresStore

    errors: list[BaseException] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        try:
            with PostgresStore.from_conn_string(url, index=index()) as store:
                start.wait()
                store.put(NS, str(number), {"text": "x"})
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert conn.execute("SELECT COUNT(*) FROM store_vectors").fetchone() == (8,)
    assert conn.execute(
        "SELECT COUNT(DISTINCT (area, v)), COUNT(*) FROM stepgraph_store_migrations"
    ).fetchone() == (7, 7)


def test_a_role_without_rights_uses_tables_and_cannot_make_them(url, conn):
    from stepgraph.store.postgres import PostgresStore

    (schema,) = conn.execute("SELECT current_schema()").fetchone()
    conn.execute(f"CREATE ROLE app_{schema} LOGIN")
    conn.execute(f"GRANT USAGE ON SCHEMA {schema} TO app_{schema}")
    try:
        app_url = url.replace("postgres@", f"app_{schema}@")
        with (
            PostgresStore.from_conn_string(app_url) as app,
            pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"call store\.setup\(\) once"),
        ):
            app.put(NS, "k", {})
        with PostgresStore.from_conn_string(url) as owner:
            owner.setup()
        conn.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO app_{schema}")
        with PostgresStore.from_conn_string(app_url) as app:
            app.put(NS, "k", {"v": 1})
            assert app.get(NS, "k").value == {"v": 1}
    finally:
        conn.execute(f"DROP OWNED BY app_{schema}")
        conn.execute(f"DROP ROLE app_{schema}")


def test_an_index_can_be_added_later(url):
    from stepgraph.store.postgres import PostgresStore

    with PostgresStore.from_conn_string(url) as store:
        store.put(NS, "plain", {"text": "x"})
    with PostgresStore.from_conn_string(url, index=index()) as store:
        store.put(NS, "k", {"text": "x"})
        assert [(item.key, item.score) for item in store.search(NS, query="x")] == [
            ("k", 1.0),
            ("plain", None),
        ]


def test_a_damaged_row_is_named_and_loses_nothing_else(url, conn):
    from stepgraph.store.postgres import PostgresStore

    with PostgresStore.from_conn_string(url) as store:
        store.put(NS, "good", {"v": 1})
        store.put(NS, "bad", {"v": 1})
        conn.execute("UPDATE store SET value = '[1]' WHERE key = 'bad'")
        with pytest.raises(ValueError, match=r"key 'bad' in namespace \('a', 'b'\) cannot be read"):
            store.get(NS, "bad")
        assert store.get(NS, "good").value == {"v": 1}
        assert [item.key for item in store.search(NS, filter={"v": 1})] == ["good"]
        store.delete(NS, "bad")
        assert [item.key for item in store.search(NS)] == ["good"]


def test_a_deserializer_of_ones_own_reads_values(conn):
    import json

    from stepgraph.store.postgres import PostgresStore

    store = PostgresStore(conn, deserializer=lambda text: {"upper": json.loads(text)["text"].upper()})
    store.put(NS, "k", {"text": "abc"})
    assert store.get(NS, "k").value == {"upper": "ABC"}


def test_the_newest_item_comes_first(url):
    with opened("sync", "url", url) as store:
        for key in ("a", "b", "c"):
            store.put(NS, key, {})
        store.put(NS, "a", {})
        assert [item.key for item in store.search(NS)] == ["a", "c", "b"]


def test_sync_and_async_stores_share_a_database(url):
    from stepgraph.store.postgres import AsyncPostgresStore, PostgresStore

    async def write() -> None:
        async with AsyncPostgresStore.from_conn_string(url, ttl={"default_ttl": 5}) as store:
            await store.aput(NS, "k", {"v": 1})
            task = await store.start_ttl_sweeper()
            assert await store.start_ttl_sweeper() is task
            await store.aget(NS, "k")
        assert task.done()

    asyncio.run(write())
    with PostgresStore.from_conn_string(url, ttl={"default_ttl": 5}) as store:
        done = store.start_ttl_sweeper()
        assert store.get(NS, "k").value == {"v": 1}
    assert done.done()


def test_without_the_package_the_error_says_what_to_install():
    code = "import sys; sys.modules['psycopg'] = None; import stepgraph.store.postgres.aio"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'pip install "stepgraph[postgres]"' in done.stderr
