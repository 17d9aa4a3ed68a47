"""Copying: what is there already, what cannot be taken over, what comes later."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ormsgpack import Ext, packb

from checkpoint.imports.shapes import SHAPES, Library
from checkpoint.imports.write import config_of
from stepgraph.checkpoint.imports.convert import Converted, TaskWritten, convert
from stepgraph.checkpoint.imports.sharing import Sharing
from stepgraph.checkpoint.imports.source import Found
from stepgraph.checkpoint.imports.sqlite import SqliteSource
from stepgraph.checkpoint.imports.storing import Storing
from stepgraph.checkpoint.imports.transfer import ThreadReport, import_threads
from stepgraph.checkpoint.imports.values import NotReadable, Stored, take_over
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.serde.errors import NotStorableError
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from stepgraph.checkpoint.sqlite import SqliteSaver

GOLDEN = Path(__file__).parent / "golden" / "langgraph-1.2.24-sqlite.sql"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that LangGraph wrote."""
    path = tmp_path_factory.mktemp("source") / "threads.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(GOLDEN.read_text())
    return path


@pytest.fixture
def database(written: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copy(written, tmp_path / "source.db"))


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "target.db")) as saver:
            yield saver


def copy(database: Path, saver: Any, thread: str) -> ThreadReport:
    """Import one thread."""
    with closing(SqliteSource(str(database))) as source:
        (report,) = import_threads(source, saver, [thread])
    return report


def change(database: Path, sql: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(sql)


def test_a_copy_that_was_broken_off_is_completed(database: Path, saver: Any, tmp_path: Path) -> None:
    part = Path(shutil.copy(database, tmp_path / "part.db"))
    late = (
        "SELECT checkpoint_id FROM checkpoints WHERE thread_id = 'nested' ORDER BY checkpoint_id DESC LIMIT 4"
    )
    change(part, f"DELETE FROM writes WHERE checkpoint_id IN ({late})")
    change(part, f"DELETE FROM checkpoints WHERE thread_id = 'nested' AND checkpoint_id IN ({late})")
    first = copy(part, saver, "nested")
    second = copy(database, saver, "nested")
    assert (second.present, second.stored) == (first.stored, 4)
    graph = SHAPES["nested"].build(Library("stepgraph"), saver)
    (answer,) = [step(Library("stepgraph"), graph, config_of("nested")) for step in SHAPES["nested"].go_on]
    assert answer["log"][-1] == "b"


def test_writes_that_came_later_are_added(database: Path, saver: Any, tmp_path: Path) -> None:
    part = Path(shutil.copy(database, tmp_path / "part.db"))
    change(part, "DELETE FROM writes WHERE channel = '__interrupt__'")
    copy(part, saver, "linear")
    report = copy(database, saver, "linear")
    assert report.stored == 0
    found = saver.get_tuple(config_of("linear"))
    assert [write[1] for write in found.pending_writes].count("__interrupt__") == 1


def test_a_thread_that_went_on_here_is_left_alone(database: Path, saver: Any) -> None:
    copy(database, saver, "linear")
    graph = SHAPES["linear"].build(Library("stepgraph"), saver)
    for step in SHAPES["linear"].go_on:
        step(Library("stepgraph"), graph, config_of("linear"))
    before = [item.checkpoint["id"] for item in saver.list(config_of("linear"))]
    report = copy(database, saver, "linear")
    assert (report.stored, report.problems) == (0, [])
    assert [item.checkpoint["id"] for item in saver.list(config_of("linear"))] == before


def test_a_thread_that_went_on_in_both_places_is_named(database: Path, saver: Any, tmp_path: Path) -> None:
    part = Path(shutil.copy(database, tmp_path / "part.db"))
    change(
        part,
        "DELETE FROM checkpoints WHERE thread_id = 'ended' AND checkpoint_id ="
        " (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = 'ended')",
    )
    copy(part, saver, "ended")
    graph = SHAPES["ended"].build(Library("stepgraph"), saver)
    graph.update_state(config_of("ended"), {"log": ["here"]}, as_node="a")
    report = copy(database, saver, "ended")
    (problem,) = report.problems
    assert report.stored == 0
    assert "went on in both places" in str(problem)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("UPDATE checkpoints SET checkpoint = substr(checkpoint, 1, 40)", "damaged"),
        ("UPDATE checkpoints SET checkpoint = X'93010203'", "no checkpoint"),
        ("UPDATE checkpoints SET checkpoint = X'80'", "lacks values"),
        ("UPDATE checkpoints SET type = 'pickle'", "pickled"),
        ("UPDATE checkpoints SET type = 'msgpack+aes'", "--aes-key-env"),
        ("UPDATE checkpoints SET type = 'strange'", "'strange' is not known"),
        ("UPDATE checkpoints SET metadata = 'nonsense'", "metadata"),
    ],
)
def test_a_damaged_checkpoint_is_named_and_the_others_are_copied(
    database: Path, saver: Any, sql: str, reason: str
) -> None:
    total = copy(database, InMemorySaver(), "linear").stored
    second = "SELECT checkpoint_id FROM checkpoints WHERE thread_id = 'linear' ORDER BY 1 LIMIT 1 OFFSET 1"
    change(database, f"{sql} WHERE thread_id = 'linear' AND checkpoint_id = ({second})")
    report = copy(database, saver, "linear")
    (problem,) = report.problems
    assert reason in problem.reason
    assert problem.checkpoint_id
    assert report.stored == total - 1
    graph = SHAPES["linear"].build(Library("stepgraph"), saver)
    assert graph.get_state(config_of("linear")).next == ("ask",)


def test_what_cannot_be_stored_takes_nothing_else_with_it(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "target.db")) as saver:
        storing = Storing(saver, "t")
        parent = None
        for number in range(4):
            id = f"1f1ed22a-f18f-6742-bfff-8a5e8c07c4c{number}"
            value: Any = object() if number == 2 else ["x" * 300] * 10 + [number]
            checkpoint: Any = {
                "v": 4,
                "id": id,
                "ts": "2026-01-01T00:00:00+00:00",
                "channel_values": {"log": value},
                "channel_versions": {"log": str(number)},
                "versions_seen": {},
                "updated_channels": None,
            }
            written = [TaskWritten(f"task {number}", "", [("log", number)])]
            found = Found("", id, parent, {"step": number})
            try:
                storing.add(found, Converted(checkpoint, {"step": number}, written), None)
            except NotStorableError:
                assert number == 2
            parent = id
        storing.flush()
        kept = list(saver.list(config_of("t")))
        assert [item.checkpoint["channel_values"]["log"][-1] for item in kept] == [3, 1, 0]
        assert [write[2] for item in kept for write in item.pending_writes or ()] == [3, 1, 0]


def test_what_a_list_held_before_is_the_same_object_again() -> None:
    sharing = Sharing()
    first = [{"text": "x" * 200, "n": n} for n in range(50)]
    again = [{"text": "x" * 200, "n": n} for n in range(51)]
    before = sharing.of("", "log", first)
    after = sharing.of("", "log", again)
    assert after == again
    assert [id(item) for item in after[:50]] == [id(item) for item in before]


def test_sharing_keeps_types_and_the_identities_within_a_value() -> None:
    sharing = Sharing()
    sharing.of("", "log", [1, [1], {"n": 1}, {"n": 1.0}])
    after = sharing.of("", "log", [True, [True], {"n": True}, {"n": 1}, {"n": 1}])
    assert [repr(item) for item in after] == ["True", "[True]", "{'n': True}", "{'n': 1}", "{'n': 1}"]
    assert len({id(item) for item in after[2:]}) == 3


def test_a_front_that_was_dropped_leaves_the_rest_shared() -> None:
    sharing = Sharing()
    before = sharing.of("", "log", [{"n": n} for n in range(10)])
    after = sharing.of("", "log", [{"n": n} for n in range(3, 12)])
    assert after == [{"n": n} for n in range(3, 12)]
    assert all(any(item is old for old in before) for item in after[:7])


def test_objects_pass_through_as_their_bytes() -> None:
    serializer = JsonPlusSerializer()
    old = bytes.fromhex("c74d0293b9636865636b706f696e742e696d706f7274732e736861706573a54f72646572")
    packed = old + bytes.fromhex(
        "83a46974656da3746561a5636f756e7402a474616773c7130093a86275696c74696e73a373657491a3686f74"
    )
    value = take_over("msgpack", packed)
    assert isinstance(value, Stored)
    assert serializer.pack(value) == packed
    assert repr(serializer.unpack(serializer.pack([value]))) == "[Order(item='tea', count=2, tags={'hot'})]"


@pytest.mark.parametrize("data", [b"\xc1", b"\x91", b"\x81\xa1", b"\xc7\xff\x00"])
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(NotReadable, match="damaged"):
        take_over("msgpack", data)


def test_old_json_objects_come_back() -> None:
    text = (
        b'{"order": {"lc": 2, "type": "constructor", "id": ["checkpoint", "imports", "shapes", "Order"],'
        b' "kwargs": {"item": "tea", "count": 3}}, "big": 123456789012345678901234567890,'
        b' "when": {"lc": 2, "type": "constructor", "id": ["datetime", "date"], "args": [2026, 1, 2]}}'
    )
    serializer = JsonPlusSerializer()
    value = serializer.unpack(serializer.pack(take_over("json", text)))
    assert repr(value["order"]) == "Order(item='tea', count=3, tags=set())"
    assert repr(value["when"]) == "datetime.date(2026, 1, 2)"
    assert value["big"] == 123456789012345678901234567890


def converted(stored: dict[str, Any], metadata: dict[str, Any]) -> Converted:
    """A checkpoint of one channel as one of ours."""
    found = Found("", "1f1ed22a-f18f-6742-bfff-8a5e8c07c4c2", None, metadata)
    checkpoint = {"v": 4, "channel_values": stored, "channel_versions": {"log": "1"}, "versions_seen": {}}
    return convert(found, checkpoint, [], {})


def test_a_delta_channel_that_was_stored_whole_comes_over() -> None:
    snapshot = take_over("msgpack", packb(Ext(7, packb(["a", "b"]))))
    counts = {"counters_since_delta_snapshot": {"log": [0, 0]}}
    assert converted({"log": snapshot}, counts).checkpoint["channel_values"] == {"log": ["a", "b"]}


def test_a_delta_channel_that_was_stored_as_differences_is_named() -> None:
    with pytest.raises(NotReadable, match="snapshot_frequency=1"):
        converted({}, {"counters_since_delta_snapshot": {"log": [3, 4]}})
