"""What is stored is not believed: rows that were tampered with run nothing, are named, and harm no others.

Whoever can write to a database writes here what a saver did not: other bytes, bytes that name programs, bytes that end too
early, claim to be huge, or are nested without end.
"""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ormsgpack import Ext, packb

from checkpoint.savers import Face, open_saver
from checkpoint.serde.test_safety import HEADS, STATES, document
from checkpoint.test_saver_protocol import a_step, at
from stepgraph.checkpoint.growth.codec import CorruptCheckpointError, UnreadableCheckpointWarning
from stepgraph.checkpoint.serde import codes

NAMESPACE = "inner|child"
LEVELS = 10_000
LARGE = 100_000_000
MARKER = b"M" * 200
KINDS = ["sqlite", "async-sqlite", "postgres", "async-postgres"]
BYTES = ["record", "channel_values", "metadata_more", "task_writes", "writes"]


class Kept:
    """A saver with two threads, and a way to its rows that is not the saver's.

    Thread "1" has three checkpoints: `first`, `middle` and `last`. Tasks wrote against `first` by themselves, and against
    `middle` together with `last`, whose row holds what they wrote.
    """

    def __init__(self, saver: Face, path: Path) -> None:
        self.saver = saver
        self._path = path
        for thread in ("1", "2"):
            first = a_step(None, log=[MARKER, "a"], odd=MARKER)
            middle = a_step(first.id, log=[MARKER, "a", "b"])
            last = a_step(middle.id, log=[MARKER, "a", "b", "c"])
            last.writes = [("t2", "~2", [("log", ["c"]), ("branch", MARKER)])]
            for number, step in enumerate((first, middle, last)):
                metadata = {"source": "loop", "step": number, "odd": MARKER}
                saver.put_step(at(thread, NAMESPACE), step, metadata)
            saver.put_writes(at(thread, NAMESPACE, first.id), [("log", ["b"]), ("branch", MARKER)], "t1")
            if thread == "1":
                self.first, self.middle, self.last = first.id, middle.id, last.id

    def execute(self, statement: str, *params: Any) -> Any:
        if "sqlite" in type(self.saver.saver).__name__.lower():
            with sqlite3.connect(self._path / "checkpoints.db") as connection:
                return connection.execute(statement, params).fetchall()
        import psycopg

        with psycopg.connect(self.saver.saver.conn._url, autocommit=True) as opened:
            for param in params:
                statement = statement.replace("?", "%b" if isinstance(param, bytes) else "%s", 1)
            cursor = opened.execute(statement.encode(), params)
            return cursor.fetchall() if cursor.description else []

    def place(self, column: str) -> tuple[str, str, str]:
        """The table that a column is in, the row that is tampered with, and the checkpoint that cannot be read then."""
        if column == "writes":
            return "stepgraph_writes", self.first, self.first
        if column == "task_writes":
            return "stepgraph_checkpoints", self.last, self.middle
        return "stepgraph_checkpoints", self.first, self.first

    def stored(self, column: str) -> bytes:
        table, row, _ = self.place(column)
        ((found,),) = self.execute(f"SELECT {column} FROM {table} WHERE checkpoint_id = ?", row)
        return bytes(found)

    def tamper(self, column: str, value: Any) -> None:
        table, row, _ = self.place(column)
        self.execute(f"UPDATE {table} SET {column} = ? WHERE checkpoint_id = ?", value, row)

    def read(self, column: str) -> Any:
        return self.saver.get_tuple(at("1", NAMESPACE, self.place(column)[2]))

    def check_refused(self, column: str) -> None:
        """The checkpoint is named, a listing leaves it out, and other threads are as they were."""
        broken = self.place(column)[2]
        with pytest.raises(CorruptCheckpointError) as caught:
            self.read(column)
        named = (caught.value.thread_id, caught.value.namespace)
        assert named == ("1", NAMESPACE)
        assert caught.value.checkpoint_id in (broken, self.last)
        assert caught.value.checkpoint_id in str(caught.value)
        assert f"thread '1', namespace '{NAMESPACE}'" in str(caught.value)
        with pytest.warns(UnreadableCheckpointWarning):
            listed = [found.checkpoint["id"] for found in self.saver.list(at("1", NAMESPACE))]
        assert broken not in listed
        other = self.saver.get_tuple(at("2", NAMESPACE))
        assert other.checkpoint["channel_values"] == {"log": [MARKER, "a", "b", "c"], "odd": MARKER}
        assert other.metadata == {"source": "loop", "step": 2, "odd": MARKER}


@pytest.fixture(params=KINDS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    with open_saver(request.param, tmp_path) as face:
        yield Kept(face, tmp_path)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was run that must not be."""
    calls: list[Any] = []
    for module, name in ((os, "system"), (subprocess, "Popen")):
        monkeypatch.setattr(module, name, lambda *args, **kwargs: calls.append(args))
    for name in ("loads", "load", "Unpickler"):
        monkeypatch.setattr(pickle, name, lambda *args, **kwargs: calls.append(args))
    return calls


def nested(levels: int, code: int) -> bytes:
    data = b"\x01"
    for _ in range(levels):
        data = packb(Ext(code, data))
    return data


DAMAGE = {
    "nothing": b"",
    "no bytes of ours": b"\xc1",
    "a number": b"\x07",
    "a list of numbers": b"\x93\x01\x02\x03",
    "lists without end": b"\x91" * LEVELS + b"\xc0",
    "dicts without end": b"\x81\xa1a" * LEVELS + b"\xc0",
    "extensions without end": nested(2000, codes.NESTED),
    "a text that claims to be of 4 GB": b"\xdb\xff\xff\xff\xff",
    "a list that claims to be of 4 billion": b"\xdd\xff\xff\xff\xff",
    "an extension that claims to be of 4 GB": b"\xc9\xff\xff\xff\xff\x01",
}


@pytest.mark.parametrize("column", BYTES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_bytes_are_named_and_harm_no_others(kept: Kept, column: str, damage: str) -> None:
    kept.tamper(column, DAMAGE[damage])
    kept.check_refused(column)


@pytest.mark.parametrize(
    "entry",
    [
        [1, "node", [], -1, [0, 1 << 50]],
        [1, "node", [], 0, [["log", 0, 1]], 1 << 50],
        [1, "node", [], 0, [["log", 0, 1]], -1],
    ],
    ids=str,
)
def test_bytes_that_count_too_many_tasks_are_named(kept: Kept, entry: Any) -> None:
    kept.tamper("task_writes", packb([entry]))
    kept.check_refused("task_writes")


@pytest.mark.parametrize("column", BYTES)
def test_bytes_that_end_too_early_are_named(kept: Kept, column: str) -> None:
    whole = kept.stored(column)
    for length in range(0, len(whole), 1 + len(whole) // 12):
        kept.tamper(column, whole[:length])
        kept.check_refused(column)
    kept.tamper(column, whole)
    assert kept.read(column) is not None


@pytest.mark.parametrize(
    "text", ["[1]", '"text"', "7", "null", "[" * 2000 + "]" * 2000, '{"n": ' + "9" * 5000 + "}"]
)
def test_damaged_metadata_are_named_and_harm_no_others(kept: Kept, text: str) -> None:
    kept.execute("UPDATE stepgraph_checkpoints SET metadata_more = NULL WHERE checkpoint_id = ?", kept.first)
    kept.tamper("metadata", text)
    kept.check_refused("metadata")
    with pytest.warns(UnreadableCheckpointWarning):
        assert [
            one.metadata["step"] for one in kept.saver.list(at("1", NAMESPACE), filter={"odd": MARKER})
        ] == [2, 1]
    assert [
        one.metadata["step"] for one in kept.saver.list(at("2", NAMESPACE), filter={"source": "loop"})
    ] == [2, 1, 0]


@pytest.mark.parametrize("text", ["", "{", '{"step": 1', "{" * 2000])
def test_metadata_that_are_no_json_are_named_and_harm_no_others(tmp_path: Path, text: str) -> None:
    with open_saver("sqlite", tmp_path) as face:
        kept = Kept(face, tmp_path)
        kept.execute("UPDATE stepgraph_checkpoints SET metadata_more = NULL")
        kept.execute(
            "UPDATE stepgraph_checkpoints SET metadata = ? WHERE checkpoint_id = ?", text, kept.first
        )
        with pytest.raises(
            CorruptCheckpointError, match=f"{kept.first}.*thread '1'.*its metadata is damaged"
        ):
            kept.read("metadata")
        for filter in (None, {"source": "loop"}):
            with pytest.warns(UnreadableCheckpointWarning, match=kept.first):
                assert len(list(kept.saver.list(at("1", NAMESPACE), filter=filter))) == 2


def test_a_busy_thread_is_named_though_its_metadata_are_damaged(tmp_path: Path) -> None:
    from stepgraph.errors import ThreadBusyError

    with open_saver("sqlite", tmp_path) as face:
        kept = Kept(face, tmp_path)
        kept.execute("UPDATE stepgraph_checkpoints SET metadata = '{'")
        with pytest.raises(ThreadBusyError, match="'1'"):
            face.put_step(at("1", NAMESPACE), a_step(kept.middle, kept.middle, log=[]), {"step": 2})


TARGETS = [
    ("os", "system"),
    ("subprocess", "Popen"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("pickle", "loads"),
]


HARM = "__import__('os').system('harm')"
"""Harmful as an expression, as a program, and as a command of a shell."""


def with_harm(state: Any) -> Any:
    """What an object is made of, with the harmful text in it."""
    if isinstance(state, list):
        return [with_harm(part) for part in state]
    return HARM if state == "touch" else state


def hostile() -> list[bytes]:
    """Values that name a program or a function, in every form that a serializer of the field knows."""
    made = [document(kind, *target, with_harm(STATES[kind][1])) for kind in HEADS for target in TARGETS]
    for module, name in TARGETS:
        made += [
            packb(Ext(codes.LEGACY_SINGLE, packb([module, name, HARM]))),
            packb(Ext(1, packb([module, name, [HARM]]))),
            packb(Ext(2, packb([module, name, {"command": HARM}]))),
            packb(Ext(3, packb([module, name, {"command": HARM}, "__call__"]))),
            packb(Ext(5, packb([module, name, {"command": HARM}, "model_validate_json"]))),
        ]
    made.append(packb(Ext(codes.PICKLE, b"cos\nsystem\n(S'harm'\ntR.")))
    return made


def in_place_of_marker(stored: bytes, value: bytes) -> list[bytes]:
    """The stored bytes with another value where the marker was: of the same length, so that all else stays as it is."""
    padding = len(packb(MARKER)) - len(value) - 3
    planted = stored.replace(packb(MARKER), b"\x92" + value + packb(b"x" * padding))
    assert len(planted) == len(stored)
    return [planted, stored[:1] + value + stored[1:], value]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("column", BYTES)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_bytes_that_name_a_program_run_nothing(
    kind: str, column: str, tmp_path: Path, ran: list[Any]
) -> None:
    with open_saver(kind, tmp_path) as face:
        kept = Kept(face, tmp_path)
        whole = kept.stored(column)
        read = refused = 0
        for value in hostile():
            for tampered in in_place_of_marker(whole, value):
                kept.tamper(column, tampered)
                try:
                    kept.read(column)
                    read += 1
                except CorruptCheckpointError:
                    refused += 1
        assert ran == []
        assert refused > 0
        assert read > 0 or column == "record"


def chain(levels: int) -> list[Any]:
    deep: list[Any] = []
    for _ in range(levels):
        deep = [deep]
    return deep


def depth_of(value: Any) -> int:
    levels = 0
    while value:
        (value,) = value
        levels += 1
    return levels


@pytest.mark.parametrize("kind", ["memory", *KINDS])
def test_what_is_nested_deeply_comes_back(kind: str, tmp_path: Path) -> None:
    with open_saver(kind, tmp_path) as face:
        step = a_step(None, deep=chain(LEVELS))
        face.put_step(at(), step, {"source": "loop", "step": 0, "deep": chain(LEVELS)})
        face.put_writes(at(checkpoint_id=step.id), [("deep", chain(LEVELS))], "t")
        found = face.get_tuple(at())
        assert depth_of(found.checkpoint["channel_values"]["deep"]) == LEVELS
        assert depth_of(found.metadata["deep"]) == LEVELS
        assert depth_of(found.pending_writes[0][2]) == LEVELS
        assert len(list(face.list(at()))) == 1


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_a_very_large_value_comes_back_and_a_very_large_row_of_nonsense_is_named(
    kind: str, tmp_path: Path
) -> None:
    with open_saver(kind, tmp_path) as face:
        large = b"x" * LARGE
        face.put_step(at("large"), a_step(None, large=large), {"source": "loop", "step": 0})
        assert face.get_tuple(at("large")).checkpoint["channel_values"]["large"] == large
        if kind == "memory":
            return
        del large
        face.delete_thread("large")
        kept = Kept(face, tmp_path)
        kept.tamper("channel_values", b"\x91" * LARGE)
        kept.check_refused("channel_values")
