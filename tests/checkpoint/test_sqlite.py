"""SQLite files: many threads, savers and processes, durability, migrations, damage."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stepgraph.checkpoint.base import empty_checkpoint
from stepgraph.checkpoint.changes import StepChanges
from stepgraph.checkpoint.growth.codec import CorruptCheckpointError, UnreadableCheckpointWarning
from stepgraph.checkpoint.growth.retention import needs, needs_of_writes
from stepgraph.checkpoint.growth.rows import Row
from stepgraph.checkpoint.ids import next_checkpoint_id
from stepgraph.checkpoint.sql.statements import Statement
from stepgraph.checkpoint.sqlite import AsyncSqliteSaver, SqliteSaver
from stepgraph.checkpoint.sqlite.connections import Connections, connect
from stepgraph.checkpoint.sqlite.schema import MIGRATIONS
from stepgraph.errors import ThreadBusyError
from stepgraph.values.missing import MISSING


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "checkpoints.db")


def at(thread: str = "1", checkpoint_id: str | None = None) -> dict[str, Any]:
    where = {"thread_id": thread, "checkpoint_ns": ""}
    return {"configurable": where if checkpoint_id is None else {**where, "checkpoint_id": checkpoint_id}}


def a_step(parent: str | None, head: Any = MISSING, run: str | None = None, **values: Any) -> StepChanges:
    own = next_checkpoint_id()
    return StepChanges(
        id=own,
        parent_id=parent,
        ts="",
        values=values,
        versions=dict.fromkeys(values, own),
        seen={},
        updated=None,
        returned=set(),
        expected_head=head,
        run_id=run,
    )


def grow(saver: Any, thread: str, count: int, durable: bool = False) -> list[str]:
    """A run that appends, going on from what is stored."""
    found = saver.get_tuple(at(thread))
    log: list[Any] = found.checkpoint["channel_values"]["log"] if found else []
    head = found.checkpoint["id"] if found else None
    ids = []
    for _ in range(count):
        log = [*log, {"n": len(log), "text": "entry " * 10}]
        step = a_step(head, head, "run", log=log)
        saver.put_step(at(thread), step, {"step": len(log)}, durable=durable)
        head = step.id
        ids.append(head)
    return ids


def log_of(saver: Any, thread: str = "1") -> list[int]:
    found = saver.get_tuple(at(thread))
    return [] if found is None else [entry["n"] for entry in found.checkpoint["channel_values"]["log"]]


# ---- at once


def test_many_threads_use_one_saver(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: grow(saver, str(i), 20), range(8)))
        assert [log_of(saver, str(i)) for i in range(8)] == [list(range(20))] * 8


def test_many_savers_use_one_file(path: str) -> None:
    def work(i: int) -> None:
        with SqliteSaver.from_conn_string(path) as saver:
            for _ in range(3):
                grow(saver, str(i), 5)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    with SqliteSaver.from_conn_string(path) as saver:
        assert [log_of(saver, str(i)) for i in range(6)] == [list(range(15))] * 6


def test_many_processes_use_one_file(path: str) -> None:
    code = textwrap.dedent(
        """
        import sys
        sys.path.insert(0, sys.argv[3])
        from checkpoint.test_sqlite import grow
        from stepgraph.checkpoint.sqlite import SqliteSaver
        with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
            for _ in range(3):
                grow(saver, sys.argv[2], 10)
        """
    )
    tests = str(Path(__file__).parents[1])
    workers = [subprocess.Popen([sys.executable, "-c", code, path, str(i), tests]) for i in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    with SqliteSaver.from_conn_string(path) as saver:
        assert [log_of(saver, str(i)) for i in range(3)] == [list(range(30))] * 3


def test_of_two_runs_on_one_thread_one_goes_on(path: str) -> None:
    """Both expect the same head; the other one's histories never mix."""
    with SqliteSaver.from_conn_string(path) as first, SqliteSaver.from_conn_string(path) as second:
        grow(first, "1", 3)
        start = threading.Barrier(2)
        outcomes: list[str] = []

        def work(saver: SqliteSaver) -> None:
            start.wait()
            try:
                grow(saver, "1", 10)
                outcomes.append("stored")
            except ThreadBusyError:
                outcomes.append("busy")

        threads = [threading.Thread(target=work, args=(saver,)) for saver in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert "stored" in outcomes
        entries = log_of(first)
        assert entries == list(range(len(entries)))


def test_readers_do_not_wait_for_a_writer(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        grow(saver, "1", 3)
        saver.conn.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(log_of, saver).result(10) == [0, 1, 2]
        saver.conn.execute("ROLLBACK")


def test_a_reader_sees_one_state_however_many_statements_it_takes(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        grow(saver, "1", 40)
        stop = threading.Event()
        faults: list[Any] = []

        def read() -> None:
            while not stop.is_set():
                try:
                    entries = log_of(saver)
                    assert entries == list(range(len(entries)))
                except BaseException as error:
                    faults.append(error)

        with ThreadPoolExecutor(2) as pool:
            readers = [pool.submit(read) for _ in range(2)]
            for _ in range(15):
                grow(saver, "1", 3)
                saver.prune(["1"])
            stop.set()
            for reader in readers:
                reader.result(10)
        assert faults == []


def test_a_database_in_memory_serves_many_threads() -> None:
    with SqliteSaver.from_conn_string(":memory:") as saver, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: grow(saver, str(i), 10), range(8)))
        assert [log_of(saver, str(i)) for i in range(8)] == [list(range(10))] * 8


def test_sync_and_async_savers_share_a_file(path: str) -> None:
    async def use() -> list[int]:
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            grow_sync = asyncio.to_thread(grow, saver, "1", 3)
            await grow_sync
            found = await saver.aget_tuple(at())
            assert found is not None
            return [entry["n"] for entry in found.checkpoint["channel_values"]["log"]]

    with SqliteSaver.from_conn_string(path) as saver:
        grow(saver, "1", 2)
        assert asyncio.run(use()) == [0, 1, 2, 3, 4]
        assert log_of(saver) == [0, 1, 2, 3, 4]


def test_the_sync_saver_has_async_methods(path: str) -> None:
    async def use(saver: SqliteSaver) -> list[Any]:
        step = a_step(None, None, log=[1])
        await saver.aput_step(at(), step, {"step": 0})
        await saver.aput_writes(at("1", step.id), [("log", 2)], "t")
        found = await saver.aget_tuple(at())
        assert found is not None
        return [found.pending_writes, [t.metadata async for t in saver.alist(at())]]

    with SqliteSaver.from_conn_string(path) as saver:
        assert asyncio.run(use(saver)) == [[("t", "log", 2)], [{"step": 0}]]


# ---- deletions that others do not know of


def test_a_run_notices_that_its_thread_was_deleted(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as mine, SqliteSaver.from_conn_string(path) as theirs:
        ids = grow(mine, "1", 5)
        theirs.delete_thread("1")
        step = a_step(ids[-1], log=[{"n": 0, "text": "x" * 300}])
        with pytest.raises(ThreadBusyError, match="pruned or deleted"):
            mine.put_step(at(), step, {"step": 5})
        assert mine.get_tuple(at()) is None
        grow(mine, "1", 2)
        assert log_of(theirs) == [0, 1]


def test_a_run_goes_on_after_another_process_pruned_its_thread(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as mine, SqliteSaver.from_conn_string(path) as theirs:
        grow(mine, "1", 3)
        theirs.prune(["1"])
        grow(mine, "1", 40)
        assert log_of(theirs) == list(range(43))


def test_a_run_whose_base_was_pruned_away_is_told(path: str) -> None:
    """A merged difference reaches back to a checkpoint that somebody else dropped."""
    with SqliteSaver.from_conn_string(path) as mine, SqliteSaver.from_conn_string(path) as theirs:
        log: list[Any] = [{"n": i, "text": "entry " * 10} for i in range(20)]
        head = None
        refused = False
        for i in range(40):
            log = [*log, {"n": len(log), "text": "entry " * 10}]
            step = a_step(head, log=log)
            try:
                mine.put_step(at(), step, {"step": i}, durable=False)
                head = step.id
            except ThreadBusyError:
                refused = True
                found = mine.get_tuple(at())
                assert found is not None
                head, log = found.checkpoint["id"], found.checkpoint["channel_values"]["log"]
            if i == 10:
                theirs.prune(["1"])
        entries = log_of(theirs)
        assert entries == list(range(len(entries)))
        assert refused


# ---- failures


def test_nothing_later_refers_to_what_could_not_be_stored(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        ids = grow(saver, "1", 5)
        found = saver.get_tuple(at())
        assert found is not None
        log = found.checkpoint["channel_values"]["log"]
        lost = a_step(ids[-1], ids[-1], "run", log=[*log, {"n": 5, "text": "lost"}])
        later = a_step(lost.id, lost.id, "run", log=[*lost.values["log"], {"n": 6, "text": "later"}])
        encoded = [saver.encode_step(at(), step, {"step": 5}) for step in (lost, later)]
        saver.conn.execute(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON stepgraph_checkpoints BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
        with pytest.raises(sqlite3.IntegrityError, match="disk full"):
            saver.store(encoded[:1], durable=True)
        saver.conn.execute("DROP TRIGGER full")
        with pytest.raises(RuntimeError, match="An earlier write"):
            saver.store(encoded[1:], durable=True)
        grow(saver, "1", 1)
        assert log_of(saver) == [0, 1, 2, 3, 4, 5]


def two_runs_in_one_process(saver: SqliteSaver) -> tuple[Any, Any]:
    """The next step of each of two runs that began at the same checkpoint, encoded one after the other."""
    ids = grow(saver, "1", 5)
    found = saver.get_tuple(at())
    assert found is not None
    log = found.checkpoint["channel_values"]["log"]
    steps = [a_step(ids[-1], ids[-1], run, log=[*log, {"n": 5}], text="same" * 200) for run in ("a", "b")]
    first, second = (saver.encode_step(at(), step, {"step": 5}) for step in steps)
    return first, second


def test_a_run_that_is_refused_does_not_stop_the_one_that_was_ahead(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        first, second = two_runs_in_one_process(saver)
        saver.store([first], durable=False)
        following = a_step(first.row[0], first.row[0], "a", log=[{"n": n} for n in range(7)])
        encoded = saver.encode_step(at(), following, {"step": 6})
        with pytest.raises(ThreadBusyError, match="moved on by run a while run b"):
            saver.store([second], durable=False)
        saver.store([encoded], durable=False)
        assert log_of(saver) == list(range(7))


def test_what_refers_to_a_step_of_another_run_that_is_not_stored_is_refused(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        first, second = two_runs_in_one_process(saver)
        assert first.row[0] in needs(Row(*second.row))
        with pytest.raises(ThreadBusyError):
            saver.store([second], durable=False)
        saver.store([first], durable=False)
        assert log_of(saver) == list(range(6))


def test_writes_that_refer_to_a_step_of_another_run_that_is_not_stored_are_refused(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        base = grow(saver, "1", 1)[-1]
        large = {str(number): "text " * 20 for number in range(40)}
        for run in ("a", "b"):
            saver.encode_step(at(), a_step(base, base, run, table=large), {"step": 1})
        writes = saver.encode_writes(at(checkpoint_id=base), [("table", large)], "task")
        assert list(needs_of_writes([row[3] for row in writes.rows])) != []
        with pytest.raises(ThreadBusyError):
            saver.store([writes], durable=False)
        found = saver.get_tuple(at())
        assert found is not None
        assert found.pending_writes == []


def test_a_killed_process_leaves_a_readable_file(path: str) -> None:
    code = textwrap.dedent(
        """
        import sys
        sys.path.insert(0, sys.argv[2])
        from checkpoint.test_sqlite import grow
        from stepgraph.checkpoint.sqlite import SqliteSaver
        with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
            grow(saver, "1", 5)
            print("ready", flush=True)
            while True:
                grow(saver, "1", 50)
        """
    )
    tests = str(Path(__file__).parents[1])
    worker = subprocess.Popen([sys.executable, "-c", code, path, tests], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    threading.Event().wait(0.3)
    worker.kill()
    worker.wait()
    worker.stdout.close()
    with SqliteSaver.from_conn_string(path) as saver:
        entries = log_of(saver)
        assert entries == list(range(len(entries)))
        assert len(entries) >= 5
        assert len(list(saver.list(at()))) == len(entries)
        grow(saver, "1", 5)
        assert log_of(saver) == list(range(len(entries) + 5))


def damage(saver: SqliteSaver, column: str, value: Any, checkpoint_id: str) -> None:
    saver.conn.execute(
        f"UPDATE stepgraph_checkpoints SET {column} = ? WHERE checkpoint_id = ?", (value, checkpoint_id)
    )
    saver.conn.commit()


@pytest.mark.parametrize("column", ["record", "channel_values"])
@pytest.mark.parametrize(
    "value", [b"", b"\xc1", b"\x92\x01", b"\x80", b"\x95\x01\x02\x03\x04\x05", "text", b"\xff" * 40]
)
def test_a_damaged_checkpoint_is_named_and_the_others_are_read(path: str, column: str, value: Any) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        for thread in ("1", "2"):
            grow(saver, thread, 5)
        ids = [t.checkpoint["id"] for t in saver.list(at())]
        damage(saver, column, value, ids[0])
        with pytest.raises(CorruptCheckpointError, match=f"{ids[0]}.*thread '1'") as caught:
            saver.get_tuple(at())
        assert (caught.value.thread_id, caught.value.namespace) == ("1", "")
        assert caught.value.checkpoint_id == ids[0]
        with pytest.warns(UnreadableCheckpointWarning, match=ids[0]):
            assert [t.checkpoint["id"] for t in saver.list(at())] == ids[1:]
        assert saver.get_tuple(at("1", ids[1])) is not None
        assert log_of(saver, "2") == [0, 1, 2, 3, 4]


def test_a_missing_row_is_named(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        ids = grow(saver, "1", 8)
        saver.conn.execute("DELETE FROM stepgraph_checkpoints WHERE checkpoint_id = ?", (ids[3],))
        saver.conn.commit()
        with pytest.raises(CorruptCheckpointError, match=ids[3]):
            saver.get_tuple(at())
        assert saver.get_tuple(at("1", ids[2])) is not None


def test_damaged_writes_are_named(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        ids = grow(saver, "1", 2)
        saver.put_writes(at("1", ids[-1]), [("log", 1)], "t")
        saver.conn.execute("UPDATE stepgraph_writes SET writes = ?", (b"\xc1",))
        saver.conn.commit()
        with pytest.raises(CorruptCheckpointError):
            saver.get_tuple(at())
        assert saver.get_tuple(at("1", ids[0])) is not None


# ---- the file


def test_a_file_has_a_write_ahead_log_and_the_right_durability(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        saver.put_step(at(), a_step(None, a=1), {"step": 0}, durable=True)
        assert saver.conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert saver.conn.execute("PRAGMA synchronous").fetchone() == (2,)
        saver.put_step(at(), a_step(None, a=1), {"step": 0}, durable=False)
        assert saver.conn.execute("PRAGMA synchronous").fetchone() == (1,)


def test_the_tables_live_beside_those_of_others(path: str) -> None:
    conn = sqlite3.connect(path, check_same_thread=False)
    conn.execute("CREATE TABLE checkpoints (thread_id TEXT, mine INTEGER)")
    conn.execute("CREATE TABLE writes (mine INTEGER)")
    conn.commit()
    saver = SqliteSaver(conn)
    grow(saver, "1", 2)
    names = {name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert names >= {"checkpoints", "writes", "stepgraph_checkpoints", "stepgraph_writes"}
    assert conn.execute("SELECT count(*) FROM checkpoints").fetchone() == (0,)
    conn.close()


def test_a_file_of_a_later_version_is_refused(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        assert saver.is_setup is False
        saver.setup()
        assert saver.is_setup is True
        saver.conn.execute(
            "UPDATE stepgraph_counters SET value = ? WHERE name = 'schema'", (len(MIGRATIONS) + 1,)
        )
    with SqliteSaver.from_conn_string(path) as saver, pytest.raises(RuntimeError, match="Upgrade stepgraph"):
        saver.get_tuple(at())


def test_setting_up_again_changes_nothing(path: str) -> None:
    for _ in range(3):
        with SqliteSaver.from_conn_string(path) as saver:
            saver.setup()
            grow(saver, "1", 1)
    with SqliteSaver.from_conn_string(path) as saver:
        assert log_of(saver) == [0, 1, 2]


def test_a_uri_names_a_database(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(f"file:{tmp_path}/by-uri.db") as saver:
        grow(saver, "1", 1)
    assert (tmp_path / "by-uri.db").exists()


@pytest.mark.parametrize("isolation_level", [None, "", "DEFERRED", "EXCLUSIVE"])
def test_a_connection_may_have_any_isolation_level(path: str, isolation_level: Any) -> None:
    conn = sqlite3.connect(path, check_same_thread=False, isolation_level=isolation_level)
    conn.row_factory = sqlite3.Row
    saver = SqliteSaver(conn)
    grow(saver, "1", 3)
    assert log_of(saver) == [0, 1, 2]
    conn.close()
    with SqliteSaver.from_conn_string(path) as again:
        assert log_of(again) == [0, 1, 2]


def test_an_open_transaction_of_the_connection_is_joined(path: str) -> None:
    conn = sqlite3.connect(path, check_same_thread=False)
    saver = SqliteSaver(conn)
    saver.setup()
    conn.execute("CREATE TABLE mine (x)")
    conn.execute("INSERT INTO mine VALUES (1)")
    grow(saver, "1", 1)
    conn.close()
    other = sqlite3.connect(path)
    assert other.execute("SELECT x FROM mine").fetchall() == [(1,)]
    other.close()


def test_a_connection_of_one_thread_says_how_to_open_it(path: str) -> None:
    conn = sqlite3.connect(path)
    saver = SqliteSaver(conn)
    with ThreadPoolExecutor(1) as pool, pytest.raises(sqlite3.ProgrammingError) as caught:
        pool.submit(grow, saver, "1", 1).result()
    assert "check_same_thread=False" in "".join(caught.value.__notes__)
    conn.close()


def test_a_cursor_for_statements_of_ones_own(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver:
        grow(saver, "1", 2)
        with saver.cursor() as cursor:
            assert cursor.execute("SELECT count(*) FROM stepgraph_checkpoints").fetchone() == (2,)


def test_readers_are_closed_with_the_saver(path: str) -> None:
    connections = Connections(connect(path), owned=True)
    connections.read(iter_one())
    assert len(connections._idle) == 1
    connections.close()
    assert connections._idle == []
    with pytest.raises(sqlite3.ProgrammingError):
        connections.connection.execute("SELECT 1")


def iter_one() -> Any:
    found = yield Statement("SELECT 1")
    return found


def test_a_transaction_that_fails_leaves_nothing(path: str) -> None:
    connections = Connections(connect(path), owned=True)

    def program() -> Any:
        yield Statement("UPDATE stepgraph_counters SET value = 99 WHERE name = 'deletions'")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        connections.write(program())
    assert connections.read(count_deletions()) == [(0,)]
    connections.close()


def count_deletions() -> Any:
    found = yield Statement("SELECT value FROM stepgraph_counters WHERE name = 'deletions'")
    return found


def test_an_async_saver_on_aiosqlite_explains_where_it_can_be_called() -> None:
    import aiosqlite

    async def use() -> None:
        async with aiosqlite.connect(":memory:") as conn:
            saver = AsyncSqliteSaver(conn)
            await saver.setup()
            assert saver.is_setup is True
            with pytest.raises(RuntimeError, match="aget_tuple"):
                saver.get_tuple(at())
            await saver.aput(at(), empty_checkpoint(), {"step": 0}, {})
            found = await asyncio.to_thread(saver.get_tuple, at())
            assert found is not None

    asyncio.run(use())
