"""PostgreSQL: many threads, savers and processes, one statement a superstep, broken connections, damage."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from checkpoint.test_sqlite import a_step, at, grow, log_of, two_runs_in_one_process
from postgres_server import PostgresServer, wait_until_alone
from stepgraph.checkpoint.base import empty_checkpoint
from stepgraph.checkpoint.growth.codec import CorruptCheckpointError, UnreadableCheckpointWarning
from stepgraph.errors import ThreadBusyError
from stepgraph.values.missing import MISSING

psycopg = pytest.importorskip("psycopg")
psycopg_pool = pytest.importorskip("psycopg_pool")

from stepgraph.checkpoint.postgres import PostgresSaver  # noqa: E402
from stepgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: E402
from stepgraph.checkpoint.postgres.schema import MIGRATIONS  # noqa: E402

TESTS = str(Path(__file__).parents[1])


@pytest.fixture
def saver(postgres_url: str) -> Iterator[PostgresSaver]:
    with PostgresSaver.from_conn_string(postgres_url) as opened:
        yield opened


def execute(url: str, statement: str, *params: Any) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement, params or None)
        return cursor.fetchall() if cursor.description is not None else []


def wait_until(condition: Callable[[], Any]) -> Any:
    """What a condition gives, as soon as it is true."""
    until = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.01)
    return found


def cut_connections(url: str) -> None:
    """What a network or an administrator does to connections that others hold."""
    execute(
        url,
        "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


# ---- statements and round trips


@contextmanager
def traced(connection: Any) -> Iterator[list[str]]:
    """What the client says to the server: the kinds of its messages."""
    said: list[str] = []
    with tempfile.TemporaryFile() as file:
        connection.pgconn.trace(file.fileno())
        try:
            yield said
        finally:
            connection.pgconn.untrace()
            file.seek(0)
            for line in file.read().splitlines():
                parts = line.split(b"\t")
                if len(parts) > 3 and parts[1] == b"F":
                    said.append(parts[3].decode())


def counted(said: list[str]) -> tuple[int, int]:
    """Statements that were executed, and round trips."""
    return said.count("Execute") + said.count("Query"), said.count("Sync") + said.count("Query")


@pytest.mark.parametrize("durable", [True, False])
def test_a_superstep_is_one_statement_and_one_round_trip(postgres_url: str, durable: bool) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        saver = PostgresSaver(connection)
        head = None
        for count in (8, 10):  # the statement is prepared once for each connection
            with traced(connection) as said:
                for i in range(count):
                    step = a_step(head, head or MISSING, log=[i], text="word " * i, more={"i": i})
                    saver.put_step(at(), step, {"step": i}, durable=durable)
                    head = step.id
        assert counted(said) == (10, 10)


@pytest.mark.parametrize("old", [False, True])
def test_a_checkpoint_is_loaded_in_two_round_trips(postgres_url: str, old: bool) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        saver = PostgresSaver(connection)
        head = None
        for i in range(20):
            step = a_step(head, head or MISSING, log=[{"n": n, "text": "x" * 50} for n in range(i + 1)], i=i)
            saver.put_step(at(), step, {"step": i})
            saver.put_writes(at("1", step.id), [("log", i), ("__error__", i)], "task")
            head = step.id
        config = at("1", list(saver.list(at()))[10].checkpoint["id"]) if old else at()
        for _ in range(3):
            with traced(connection) as said:
                found = saver.get_tuple(config)
        assert counted(said) == (2, 2)
        assert found is not None
        assert found.checkpoint["channel_values"]["i"] == (9 if old else 19)
        assert len(found.checkpoint["channel_values"]["log"]) == (10 if old else 20)
        assert found.pending_writes == [
            ("task", "__error__", 9 if old else 19),
            ("task", "log", 9 if old else 19),
        ]


def test_what_is_deleted_between_the_statements_of_a_load_is_noticed(
    postgres_url: str, saver: PostgresSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows that it would read next are gone; then the thread is read once more, in a transaction."""
    grow(saver, "1", 20)
    program = saver._glance(("1", ""), at())
    others = PostgresSaver.from_conn_string(postgres_url)

    def pruned_between(self: Any) -> Any:
        reply = yield program.send(None)
        with others as other:
            other.prune(["1"])
        while True:
            try:
                reply = yield program.send(reply)
            except StopIteration as end:
                return end.value

    monkeypatch.setattr(saver, "_glance", lambda key, config: pruned_between(saver))
    moved: list[Any] = []
    in_a_transaction = saver._load
    monkeypatch.setattr(saver, "_load", lambda *given: moved.append(given) or in_a_transaction(*given))
    assert log_of(saver) == list(range(20))
    assert len(moved) == 1


def test_a_batch_of_steps_and_writes_is_one_statement(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        saver = PostgresSaver(connection)
        head = grow(saver, "1", 5)[-1]
        for _ in range(2):
            batch: list[Any] = []
            for i in range(5):
                batch.append(
                    saver.encode_writes(at("1", head), [("log", i), ("__error__", "x")], f"task {i}")
                )
                step = a_step(head, head, "run", log=[i])
                batch.append(saver.encode_step(at(), step, {"step": i}))
                head = step.id
            with traced(connection) as said:
                saver.store(batch, durable=True)
        assert counted(said) == (1, 1)
        assert len(list(saver.list(at()))) == 15


def test_a_batch_of_several_namespaces_is_one_statement(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        saver = PostgresSaver(connection)
        saver.setup()
        for round_ in range(2):
            batch = []
            for namespace in ("b:1", "a:1"):
                config = {"configurable": {"thread_id": str(round_), "checkpoint_ns": namespace}}
                batch.append(saver.encode_step(config, a_step(None, None, a=1), {"step": 0}))
            with traced(connection) as said:
                saver.store(batch, durable=True)
        assert counted(said) == (1, 1)
        assert len(list(saver.list({"configurable": {"thread_id": "1"}}))) == 2


def test_what_must_not_be_lost_waits_for_the_disk_and_the_rest_does_not(postgres_url: str) -> None:
    execute(
        postgres_url,
        """CREATE TABLE seen (level text);
        CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$""",
    )
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        saver = PostgresSaver(connection)
        saver.setup()
        connection.execute(
            "CREATE TRIGGER look BEFORE INSERT ON stepgraph_checkpoints FOR EACH ROW EXECUTE FUNCTION look()"
        )
        saver.put_step(at(), a_step(None, a=1), {"step": 0}, durable=True)
        saver.put_step(at(), a_step(None, a=1), {"step": 0}, durable=False)
        connection.execute("SET synchronous_commit = off")
        saver.put_step(at(), a_step(None, a=1), {"step": 0}, durable=True)
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
        connection.execute("SET synchronous_commit = remote_apply")
        saver.put_step(at(), a_step(None, a=1), {"step": 0}, durable=True)
        levels = [row[0] for row in connection.execute("SELECT level FROM seen").fetchall()]
    assert levels == ["on", "off", "on", "remote_apply"]


# ---- many at once


def test_many_threads_use_one_saver(saver: PostgresSaver) -> None:
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda i: grow(saver, str(i), 20), range(16)))
    assert [log_of(saver, str(i)) for i in range(16)] == [list(range(20))] * 16


def test_many_processes_use_one_database(postgres_url: str) -> None:
    code = textwrap.dedent(
        """
        import sys
        sys.path.insert(0, sys.argv[3])
        from checkpoint.test_sqlite import grow
        from stepgraph.checkpoint.postgres import PostgresSaver
        with PostgresSaver.from_conn_string(sys.argv[1]) as saver:
            for _ in range(3):
                grow(saver, sys.argv[2], 10)
        """
    )
    workers = [subprocess.Popen([sys.executable, "-c", code, postgres_url, str(i), TESTS]) for i in range(3)]
    assert [worker.wait(120) for worker in workers] == [0, 0, 0]
    with PostgresSaver.from_conn_string(postgres_url) as saver:
        assert [log_of(saver, str(i)) for i in range(3)] == [list(range(30))] * 3


def test_of_many_runs_on_one_thread_histories_never_mix(postgres_url: str) -> None:
    """All expect the same head; whoever comes late is told, and goes on from what is there."""
    start = threading.Barrier(4)
    counts: list[int] = []

    def work(_: int) -> None:
        with PostgresSaver.from_conn_string(postgres_url) as saver:
            start.wait()
            stored = 0
            for _ in range(25):
                try:
                    grow(saver, "1", 1)
                    stored += 1
                except ThreadBusyError:
                    continue
            counts.append(stored)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    with PostgresSaver.from_conn_string(postgres_url) as saver:
        assert log_of(saver) == list(range(sum(counts)))
        assert len(list(saver.list(at()))) == sum(counts)


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_histories_do_not_mix_where_the_database_isolates_more(postgres_url: str, level: str) -> None:
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    execute(postgres_url, f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    try:
        test_of_many_runs_on_one_thread_histories_never_mix(postgres_url)
    finally:
        execute(postgres_url, f"ALTER DATABASE {name} RESET default_transaction_isolation")


def test_a_conflict_names_the_other_run_and_the_own_last_step(
    postgres_url: str, saver: PostgresSaver
) -> None:
    with PostgresSaver.from_conn_string(postgres_url) as theirs:
        first = a_step(None, None, "mine", a=1)
        saver.put_step(at(), first, {"source": "loop", "step": 7})
        theirs.put_step(at(), a_step(first.id, first.id, "theirs", a=2), {"step": 8})
        with pytest.raises(ThreadBusyError) as caught:
            saver.put_step(at(), a_step(first.id, first.id, "mine", a=3), {"step": 8})
    error = caught.value
    assert (error.thread_id, error.run_id, error.other_run_id, error.last_step) == ("1", "mine", "theirs", 7)


def test_nothing_of_a_batch_is_stored_when_one_step_of_it_is_refused(saver: PostgresSaver) -> None:
    head = grow(saver, "1", 2)[-1]
    good = saver.encode_step(at(), a_step(head, head, "run", log=[1]), {"step": 2})
    other = {"configurable": {"thread_id": "2", "checkpoint_ns": ""}}
    bad = saver.encode_step(other, a_step(None, "there is no such head", log=[1]), {"step": 0})
    with pytest.raises(ThreadBusyError):
        saver.store([good, bad], durable=True)
    found = saver.get_tuple(at())
    assert found is not None
    assert found.checkpoint["id"] == head


def test_what_refers_to_a_step_of_another_run_that_is_not_stored_is_refused(saver: PostgresSaver) -> None:
    first, second = two_runs_in_one_process(saver)  # type: ignore[arg-type]
    with pytest.raises(ThreadBusyError):
        saver.store([second], durable=False)
    saver.store([first], durable=False)
    assert log_of(saver) == list(range(6))


def test_readers_see_one_state_while_others_write_and_prune(postgres_url: str, saver: PostgresSaver) -> None:
    grow(saver, "1", 40)
    stop = threading.Event()
    faults: list[BaseException] = []

    def read() -> None:
        with PostgresSaver.from_conn_string(postgres_url) as reader:
            while not stop.is_set():
                try:
                    entries = log_of(reader)
                    assert entries == list(range(len(entries)))
                except BaseException as error:
                    faults.append(error)
                    return

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        for _ in range(10):
            grow(saver, "1", 3)
            saver.prune(["1"])
        stop.set()
        for reader in readers:
            reader.result(60)
    assert faults == []


def test_tables_are_made_once_by_many_who_begin_together(postgres_url: str) -> None:
    start = threading.Barrier(6)

    def work(_: int) -> None:
        with PostgresSaver.from_conn_string(postgres_url) as saver:
            start.wait()
            saver.setup()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    versions = execute(postgres_url, "SELECT version FROM stepgraph_checkpoint_migrations")
    assert versions == [(number,) for number in range(1, len(MIGRATIONS) + 1)]


def test_a_role_that_may_only_use_the_tables_can_use_them(postgres_url: str, saver: PostgresSaver) -> None:
    grow(saver, "1", 3)
    execute(
        postgres_url,
        """DO $$ BEGIN CREATE ROLE guest LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
        GRANT USAGE ON SCHEMA public TO guest;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest""",
    )
    with PostgresSaver.from_conn_string(postgres_url.replace("postgres@", "guest@")) as guest:
        grow(guest, "1", 3)
        guest.prune(["1"])
        assert log_of(guest) == [0, 1, 2, 3, 4, 5]


def test_tables_of_a_later_version_are_refused(postgres_url: str, saver: PostgresSaver) -> None:
    saver.setup()
    execute(postgres_url, "INSERT INTO stepgraph_checkpoint_migrations (version) VALUES (99)")
    with PostgresSaver.from_conn_string(postgres_url) as other, pytest.raises(RuntimeError, match="form 99"):
        other.get_tuple(at())


def test_the_tables_can_live_in_a_schema_of_their_own(postgres_url: str) -> None:
    execute(postgres_url, "CREATE SCHEMA agents")
    with PostgresSaver.from_conn_string(postgres_url + "&options=-csearch_path%3Dagents") as saver:
        grow(saver, "1", 3)
        assert log_of(saver) == [0, 1, 2]
    assert execute(postgres_url, "SELECT count(*) FROM agents.stepgraph_checkpoints") == [(3,)]


# ---- deletions that others do not know of


def test_a_run_notices_that_its_thread_was_deleted(postgres_url: str, saver: PostgresSaver) -> None:
    ids = grow(saver, "1", 5)
    with PostgresSaver.from_conn_string(postgres_url) as theirs:
        theirs.delete_thread("1")
    step = a_step(ids[-1], log=[{"n": 0, "text": "x" * 300}])
    with pytest.raises(ThreadBusyError, match="pruned or deleted"):
        saver.put_step(at(), step, {"step": 5})
    assert saver.get_tuple(at()) is None
    grow(saver, "1", 2)
    assert log_of(saver) == [0, 1]


def test_a_run_goes_on_after_another_process_pruned_its_thread(
    postgres_url: str, saver: PostgresSaver
) -> None:
    grow(saver, "1", 3)
    with PostgresSaver.from_conn_string(postgres_url) as theirs:
        theirs.prune(["1"])
    grow(saver, "1", 40)
    assert log_of(saver) == list(range(43))


def test_a_deletion_elsewhere_costs_a_step_no_round_trip(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        saver = PostgresSaver(connection)
        head = grow(saver, "1", 5)[-1]
        bucket = saver._programs.bucket
        neighbour = next(str(n) for n in range(2, 100_000) if bucket(str(n)) == bucket("1"))
        saver.delete_thread(neighbour)
        for _ in range(2):
            with traced(connection) as said:
                for i in range(8):
                    step = a_step(head, head, "run", log=[{"n": n} for n in range(6 + i)])
                    saver.put_step(at(), step, {"step": i})
                    head = step.id
        assert counted(said) == (8, 8)


def test_deleting_while_others_store_leaves_nothing_half(postgres_url: str) -> None:
    """Whatever is stored meanwhile is whole: each thread reads as a history, or not at all."""
    stop = threading.Event()
    faults: list[BaseException] = []

    def work(_: int) -> None:
        with PostgresSaver.from_conn_string(postgres_url) as saver:
            while not stop.is_set():
                try:
                    grow(saver, "1", 3)
                except ThreadBusyError:
                    continue
                except BaseException as error:
                    faults.append(error)
                    return

    with ThreadPoolExecutor(3) as pool:
        workers = [pool.submit(work, i) for i in range(3)]
        with PostgresSaver.from_conn_string(postgres_url) as cleaner:
            for i in range(30):
                if i % 3:
                    cleaner.prune(["1"])
                else:
                    cleaner.delete_thread("1")
                for found in cleaner.list(at()):
                    entries = [entry["n"] for entry in found.checkpoint["channel_values"]["log"]]
                    assert entries == list(range(len(entries)))
        stop.set()
        for worker in workers:
            worker.result(60)
    assert faults == []


# ---- connections


def test_a_connection_that_was_cut_is_replaced(postgres_url: str, saver: PostgresSaver) -> None:
    grow(saver, "1", 3)
    cut_connections(postgres_url)
    grow(saver, "1", 3)
    assert log_of(saver) == [0, 1, 2, 3, 4, 5]


def test_a_pool_replaces_a_connection_that_was_cut(postgres_url: str) -> None:
    with psycopg_pool.ConnectionPool(
        postgres_url, min_size=1, max_size=1, kwargs={"autocommit": True}
    ) as pool:
        saver = PostgresSaver(pool)
        grow(saver, "1", 3)
        cut_connections(postgres_url)
        grow(saver, "1", 3)
        assert log_of(saver) == [0, 1, 2, 3, 4, 5]


def test_one_connection_that_was_cut_says_what_to_do(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        saver = PostgresSaver(connection)
        head = grow(saver, "1", 3)[-1]
        cut_connections(postgres_url)
        with pytest.raises(ConnectionError, match=r"storing in thread '1'.*whole or not at all.*pool"):
            saver.put_step(at(), a_step(head, head, log=[1]), {"step": 3})
    with PostgresSaver.from_conn_string(postgres_url) as other:
        assert log_of(other) == [0, 1, 2]


def test_a_connection_that_is_cut_while_it_stores_leaves_nothing_half(
    postgres_url: str, saver: PostgresSaver
) -> None:
    """The statement waits in the server, in the middle of its batch, and is ended there."""
    head = grow(saver, "1", 3)[-1]
    steps = [a_step(head, head, "run", log=[1])]
    steps.append(a_step(steps[0].id, steps[0].id, "run", log=[1, 2], text="wait"))
    batch = [saver.encode_step(at(), step, {"step": 3}) for step in steps]
    execute(
        postgres_url,
        """CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NEW; END $$;
        CREATE TRIGGER wait BEFORE INSERT ON stepgraph_checkpoints FOR EACH ROW
            WHEN (NEW.metadata @> '{"step": 4}') EXECUTE FUNCTION wait()""",
    )
    batch[1] = saver.encode_step(at(), steps[1], {"step": 4})
    with psycopg.connect(postgres_url, autocommit=True) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("SELECT pg_advisory_lock(42)")
        storing = pool.submit(saver.store, batch, durable=True)
        waiting = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        found = wait_until(lambda: holder.execute(waiting).fetchall())
        holder.execute("SELECT pg_terminate_backend(%s, 20000)", found[0])
        with pytest.raises(ConnectionError, match="storing in thread '1'"):
            storing.result(60)
    execute(postgres_url, "DROP TRIGGER wait ON stepgraph_checkpoints")
    assert log_of(saver) == [0, 1, 2]
    grow(saver, "1", 2)
    assert log_of(saver) == [0, 1, 2, 3, 4]


def test_a_server_that_is_not_there_is_named_at_once() -> None:
    with (
        PostgresSaver.from_conn_string("postgresql://nobody@127.0.0.1:1/none") as saver,
        pytest.raises(
            ConnectionError, match="No working connection to PostgreSQL, so making the tables failed"
        ),
    ):
        saver.get_tuple(at())


def test_a_server_that_is_killed_under_load_keeps_whole_histories() -> None:
    """Killed, restarted: whoever was at work is told; what is stored is whole; the next run goes on."""
    server = PostgresServer()
    try:
        url = server.create_database()
        under_way = threading.Barrier(5)
        stored = [0] * 4

        def work(i: int) -> str:
            with PostgresSaver.from_conn_string(url) as saver:
                try:
                    while True:
                        grow(saver, str(i), 1, durable=True)
                        stored[i] += 1
                        if stored[i] == 3:
                            under_way.wait(60)
                except ConnectionError as error:
                    return str(error)

        with ThreadPoolExecutor(4) as pool:
            working = [pool.submit(work, i) for i in range(4)]
            under_way.wait(60)
            server.kill()
            said = [worker.result(120) for worker in working]
        assert all("No working connection to PostgreSQL" in text for text in said)
        server.start()
        with PostgresSaver.from_conn_string(url) as saver:
            for i in range(4):
                entries = log_of(saver, str(i))
                assert entries == list(range(len(entries)))
                assert len(entries) in (stored[i], stored[i] + 1)
                assert len(list(saver.list(at(str(i))))) == len(entries)
                grow(saver, str(i), 2)
                assert log_of(saver, str(i)) == list(range(len(entries) + 2))
    finally:
        server.close()


def test_a_saver_goes_on_after_its_server_was_restarted() -> None:
    server = PostgresServer()
    try:
        with PostgresSaver.from_conn_string(server.create_database()) as saver:
            grow(saver, "1", 3)
            server.stop()
            with pytest.raises(ConnectionError, match="opens another connection by itself"):
                grow(saver, "1", 1)
            server.start()
            grow(saver, "1", 3)
            assert log_of(saver) == [0, 1, 2, 3, 4, 5]
    finally:
        server.close()


def test_a_process_that_is_killed_leaves_whole_histories(postgres_url: str) -> None:
    code = textwrap.dedent(
        """
        import sys
        sys.path.insert(0, sys.argv[2])
        from checkpoint.test_sqlite import grow
        from stepgraph.checkpoint.postgres import PostgresSaver
        with PostgresSaver.from_conn_string(sys.argv[1]) as saver:
            grow(saver, "1", 5)
            print("ready", flush=True)
            while True:
                grow(saver, "1", 50)
        """
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", code, postgres_url, TESTS], stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    threading.Event().wait(0.3)
    worker.kill()
    worker.wait()
    worker.stdout.close()
    wait_until_alone(postgres_url)
    with PostgresSaver.from_conn_string(postgres_url) as saver:
        entries = log_of(saver)
        assert entries == list(range(len(entries)))
        assert len(entries) >= 5
        grow(saver, "1", 5)
        assert log_of(saver) == list(range(len(entries) + 5))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_speaks_on_connections_of_its_own(postgres_url: str) -> None:
    """As a web server does that opens its saver before it forks its workers."""
    code = textwrap.dedent(
        """
        import os, sys
        sys.path.insert(0, sys.argv[2])
        from checkpoint.test_sqlite import grow
        from stepgraph.checkpoint.postgres import PostgresSaver
        with PostgresSaver.from_conn_string(sys.argv[1]) as saver:
            grow(saver, "parent", 3)
            child = os.fork()
            if child == 0:
                grow(saver, "child", 3)
            else:
                grow(saver, "parent", 3)
                assert os.waitpid(child, 0)[1] == 0
                grow(saver, "parent", 3)
        """
    )
    subprocess.run([sys.executable, "-c", code, postgres_url, TESTS], check=True, timeout=120)
    with PostgresSaver.from_conn_string(postgres_url) as saver:
        assert log_of(saver, "parent") == list(range(9))
        assert log_of(saver, "child") == [0, 1, 2]


@pytest.mark.parametrize("state", ["53100", "57014", "P0001"])
def test_what_the_server_refuses_leaves_nothing_half_and_the_next_run_goes_on(
    postgres_url: str, saver: PostgresSaver, state: str
) -> None:
    """Its disk is full, it takes too long, a trigger of the person says no: in the middle of a batch."""
    head = grow(saver, "1", 5)[-1]
    lost = a_step(head, head, "run", log=[1])
    later = a_step(lost.id, lost.id, "run", log=[1, 2])
    last = a_step(later.id, later.id, "run", log=[1, 2, 3])
    encoded = [saver.encode_step(at(), step, {"step": n}) for n, step in enumerate((lost, later, last), 5)]
    execute(
        postgres_url,
        f"""CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION USING ERRCODE = '{state}', MESSAGE = 'no more'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON stepgraph_checkpoints FOR EACH ROW
            WHEN (NEW.metadata @> '{{"step": 6}}') EXECUTE FUNCTION refuse()""",
    )
    with pytest.raises(psycopg.Error, match="no more") as caught:
        saver.store(encoded[:2], durable=True)
    assert any("storing in thread '1'" in note for note in caught.value.__notes__)
    execute(postgres_url, "DROP TRIGGER refuse ON stepgraph_checkpoints")
    with pytest.raises(RuntimeError, match="An earlier write"):
        saver.store(encoded[2:], durable=True)
    grow(saver, "1", 1)
    assert log_of(saver) == [0, 1, 2, 3, 4, 5]


def test_a_transaction_of_the_person_carries_what_is_stored(postgres_url: str) -> None:
    with PostgresSaver.from_conn_string(postgres_url) as other:
        other.setup()
        with psycopg.connect(postgres_url) as connection:
            saver = PostgresSaver(connection)
            connection.execute("CREATE TABLE mine (a integer)")
            grow(saver, "1", 2)
            connection.rollback()
            assert other.get_tuple(at()) is None
            connection.execute("CREATE TABLE mine (a integer)")
            grow(PostgresSaver(connection), "1", 2)
            connection.commit()
        assert log_of(other) == [0, 1]


@pytest.mark.parametrize("wrong", ["postgresql://localhost", object()])
def test_what_is_no_connection_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="from_conn_string"):
        PostgresSaver(wrong)
    with pytest.raises(TypeError, match="from_conn_string"):
        AsyncPostgresSaver(wrong)


# ---- async


def test_the_async_saver_serves_other_threads_but_not_its_own_loop(postgres_url: str) -> None:
    async def use() -> list[int]:
        async with AsyncPostgresSaver.from_conn_string(postgres_url) as saver:
            await asyncio.to_thread(grow, saver, "1", 3)
            with pytest.raises(RuntimeError, match="aget_tuple"):
                saver.get_tuple(at())
            found = await saver.aget_tuple(at())
            assert found is not None
            return [entry["n"] for entry in found.checkpoint["channel_values"]["log"]]

    assert asyncio.run(use()) == [0, 1, 2]


def test_an_async_connection_that_was_cut_is_replaced(postgres_url: str) -> None:
    async def use() -> None:
        async with AsyncPostgresSaver.from_conn_string(postgres_url) as saver:
            first = a_step(None, None, a=1)
            await saver.aput_step(at(), first, {"step": 0})
            await asyncio.to_thread(cut_connections, postgres_url)
            await saver.aput_step(at(), a_step(first.id, first.id, a=2), {"step": 1})
            assert len([found async for found in saver.alist(at())]) == 2

    asyncio.run(use())


def test_many_tasks_use_one_async_saver(postgres_url: str) -> None:
    async def one(saver: Any, thread: str) -> None:
        head = None
        for i in range(10):
            step = a_step(head, head, log=[i])
            await saver.aput_step(at(thread), step, {"step": i})
            head = step.id

    async def use() -> int:
        async with AsyncPostgresSaver.from_conn_string(postgres_url) as saver:
            await asyncio.gather(*[one(saver, str(i)) for i in range(20)])
            return len([found async for found in saver.alist(None)])

    assert asyncio.run(use()) == 200


def test_a_cancelled_task_leaves_the_connection_usable(postgres_url: str) -> None:
    async def use() -> None:
        async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
            saver = AsyncPostgresSaver(connection)
            await saver.setup()
            with psycopg.connect(postgres_url, autocommit=True) as holder:
                holder.execute("BEGIN; LOCK TABLE stepgraph_checkpoints")
                work = asyncio.ensure_future(saver.aput_step(at(), a_step(None, None, a=1), {"step": 0}))
                waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
                while not holder.execute(waiting).fetchall():
                    await asyncio.sleep(0.01)
                work.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await work
                holder.execute("ROLLBACK")
            assert await saver.aget_tuple(at()) is None
            await saver.aput_step(at(), a_step(None, None, a=1), {"step": 0})

    asyncio.run(use())


# ---- what people put in


NASTY = [
    "'; DROP TABLE stepgraph_checkpoints; --",
    "%s",
    "%(a)s",
    "?",
    "$1",
    '"',
    "\\",
    "ü \U0001f600",
    "a\nb",
]


@pytest.mark.parametrize("text", NASTY)
def test_ids_and_filters_are_never_part_of_a_statement(saver: PostgresSaver, text: str) -> None:
    config = {"configurable": {"thread_id": text, "checkpoint_ns": text}}
    metadata: Any = {"source": "loop", "step": 0, text: text, "nested": {text: [text]}}
    stored = saver.put(config, {**empty_checkpoint(), "channel_values": {text: text}}, metadata, {text: 1})
    saver.put_writes(stored, [(text, text)], text, text)
    found = saver.get_tuple(config)
    assert found is not None
    assert found.checkpoint["channel_values"] == {text: text}
    assert found.pending_writes == [(text, text, text)]
    assert [one.metadata for one in saver.list(config, filter={text: text})] == [metadata]
    assert list(saver.list(config, filter={text: text + "'"})) == []
    saver.delete_for_runs([text])
    saver.prune([text], namespaces=[text])
    saver.copy_thread(text, text + "2")
    saver.delete_thread(text)
    assert saver.get_tuple(config) is None


@pytest.mark.parametrize(
    "value", ["\0", "a\0b", "\ud800", 1e300, -0.0, 1.0, 10**30, float("nan"), None, True]
)
def test_metadata_comes_back_as_it_was(saver: PostgresSaver, value: Any) -> None:
    metadata: Any = {"source": "loop", "step": 1, "value": value, "deep": {"list": [value, {"a": value}]}}
    if type(value) is str:
        metadata[value] = 1
    saver.put_step(at(), a_step(None, a=1), metadata)
    found = saver.get_tuple(at())
    assert found is not None
    assert repr(found.metadata["value"]) == repr(value)  # type: ignore[typeddict-item]
    assert repr(found.metadata["deep"]) == repr(metadata["deep"])  # type: ignore[typeddict-item]
    if value == value:
        assert len(list(saver.list(at(), filter={"value": value}))) == 1


def test_text_that_postgres_cannot_hold_is_named(saver: PostgresSaver) -> None:
    with pytest.raises(ValueError, match="NUL character"):
        saver.put_step(at("a\0b"), a_step(None, a=1), {"step": 0})
    with pytest.raises(ValueError, match="NUL character"):
        saver.get_tuple(at("a\0b"))
    grow(saver, "1", 1)
    assert log_of(saver) == [0]


def test_values_may_hold_any_character(saver: PostgresSaver) -> None:
    saver.put_step(at(), a_step(None, **{"a\0": "x\0y"}), {"step": 0})
    found = saver.get_tuple(at())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"a\0": "x\0y"}


@pytest.mark.parametrize("column", ["record", "channel_values"])
@pytest.mark.parametrize("value", [b"", b"\xc1", b"\x92\x01", b"\x80", b"\xff" * 40])
def test_a_damaged_checkpoint_is_named_and_the_others_are_read(
    postgres_url: str, saver: PostgresSaver, column: str, value: bytes
) -> None:
    for thread in ("1", "2"):
        grow(saver, thread, 5)
    ids = [found.checkpoint["id"] for found in saver.list(at())]
    execute(
        postgres_url,
        f"UPDATE stepgraph_checkpoints SET {column} = %s WHERE checkpoint_id = %s",
        value,
        ids[0],
    )
    with pytest.raises(CorruptCheckpointError, match=f"{ids[0]}.*thread '1'"):
        saver.get_tuple(at())
    with pytest.warns(UnreadableCheckpointWarning, match=ids[0]):
        assert [found.checkpoint["id"] for found in saver.list(at())] == ids[1:]
    assert log_of(saver, "2") == [0, 1, 2, 3, 4]


def test_ids_are_ordered_by_their_characters_whatever_the_database_does(saver: PostgresSaver) -> None:
    ids = ["B", "a", "C", "_", "é", "-", "10", "9"]
    for own in ids:
        step = a_step(None, MISSING, a=own)
        step.id = own
        step.versions = {"a": own}
        saver.put_step(at(), step, {"step": 0})
    assert [found.checkpoint["id"] for found in saver.list(at())] == sorted(ids, reverse=True)
