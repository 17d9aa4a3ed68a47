"""Threads that an earlier version stored are read by this one.

`golden/checkpoints-N.sql` is a dump of a file whose tables have form N. A file is never changed once it was released: when
the form changes, the number goes up and a file is added, by running this module: `python -m checkpoint.test_golden` in
the directory `tests`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stepgraph.checkpoint.changes import StepChanges, add_returned
from stepgraph.checkpoint.growth import tracker
from stepgraph.checkpoint.placed import FanWrites, Placed, PlacedWrites, expanded
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.checkpoint.sqlite.schema import MIGRATIONS
from stepgraph.values.commands import Interrupt, Send

DIRECTORY = Path(__file__).parent / "golden"
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "golden", "checkpoint_ns": "", "tenant": "acme"}}


@dataclass
class Step:
    """One checkpoint: what is stored, and what must come back."""

    id: str
    values: dict[str, Any]
    changed: dict[str, Any]
    wrote: list[tuple[str, Any]]
    returned: set[int]


def a_history() -> Iterator[Step]:
    """Every way in which a value can be stored."""
    log: list[Any] = [{"n": n, "text": f"entry {n} " * 5} for n in range(20)]
    table: dict[Any, Any] = {"constant": "c" * 300, ("a", 1): {2, 3}}
    text = "It begins. " * 30
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    values: dict[str, Any] = {}
    for i in range(60):
        wrote: list[tuple[str, Any]] = []
        new = [{"n": len(log), "text": f"entry {len(log)} " * 5}]
        log = log + new
        wrote.append(("log", new))
        changed: dict[str, Any] = {
            "log": log,
            "branch:to:n": None,
            "number": i,
            "opaque": (moment, "o" * 250),
        }
        if i % 7 == 3:
            log[2]["text"] = f"edited in step {i}"
            wrote.append(("log", [log[2]]))
        if i % 5 == 1:
            wrote.append(("table", {f"key-{i}": [i] * 40}))
            table = {**table, f"key-{i}": wrote[-1][1][f"key-{i}"]}
            changed["table"] = table
        if i % 5 == 2:
            grown = {**table, "grows": [*table.get("grows", range(40)), i]}
            wrote.append(("table", {"grows": grown["grows"]}))
            changed["table"] = table = grown
        if i % 4 == 0:
            text += f"Step {i}. "
            changed["text"] = text
            wrote.append(("text", text))
        if i % 20 == 19:
            changed["__pregel_tasks"] = [Send("n", {"i": k, "shared": table}) for k in range(5)]
        if i % 11 == 10:
            log = log[10:]
            changed["log"] = log
        values = {k: v for k, v in values.items() if k not in ("branch:to:n", "number")} | changed
        returned: set[int] = set()
        for _, value in wrote:
            add_returned(returned, value)
        yield Step(f"1f1ed069-861a-6{i:03x}-bffe-ad38f80b9071", values, changed, wrote, returned)


def write(saver: SqliteSaver) -> None:
    parent = None
    for number, step in enumerate(a_history()):
        changes = StepChanges(
            id=step.id,
            parent_id=parent,
            ts="" if number % 2 else "2026-01-02T03:04:05+00:00",
            values=step.changed,
            versions={**dict.fromkeys(step.changed, step.id), "number": number},
            seen={"n": {"branch:to:n": parent or 0}, "m": {"number": number, "log": step.id}},
            updated=sorted(step.changed),
            writes=[(f"task-{number}", "~path", step.wrote)] if parent else (),
            returned=step.returned,
            run_id=f"run-{number // 10}",
        )
        metadata = {"source": "loop", "step": number, "parents": {}, "set": {number}}
        saver.put_step(CONFIG, changes, metadata, durable=False)
        parent = step.id
    config = {"configurable": {**CONFIG["configurable"], "checkpoint_id": parent}}
    saver.put_writes(config, [("log", [1]), ("__interrupt__", (Interrupt("?", "a" * 32),))], "task", "~path")


PLACED: dict[str, Any] = {"configurable": {"thread_id": "placed", "checkpoint_ns": "outer:1"}}


def a_placed_history() -> Iterator[tuple[str, dict[str, Any], list[Placed]]]:
    """Every way in which writes are stored without the ids of tasks: id, values, and what tasks wrote before it."""
    ids = [f"1f1ed069-861a-6e2e-bffe-ad38f80b907{n}" for n in range(5)]
    log = [[n, "entry " * 9] for n in range(12)]
    sends = [Send("b", {"n": n}) for n in range(12)]
    yield ids[0], {"n": 0}, []
    yield ids[1], {"n": 1, "branch:to:a": None}, [PlacedWrites(1, "a", None)]
    yield ids[2], {"log": [], "__pregel_tasks": sends}, [PlacedWrites(2, "a", [("log", [])], -1, sends)]
    columns: list[tuple[str, list[Any]]] = [("log", [[x] for x in log]), ("n", list(range(12)))]
    tail = [("branch:to:a", None)]
    yield (
        ids[3],
        {"log": log, "n": 66},
        [PlacedWrites(3, "a", [("n", 0)]), FanWrites(3, "b", 0, columns, tail)],
    )
    yield ids[4], {"n": 2}, [PlacedWrites(4, "b", [("n", {1, 2})], 3), PlacedWrites(4, "c", [], 4)]


def write_placed(saver: SqliteSaver) -> None:
    parent = None
    for number, (own, values, placed) in enumerate(a_placed_history()):
        changes = StepChanges(
            id=own,
            parent_id=parent,
            ts="",
            values=values,
            versions=dict.fromkeys(values, own),
            seen={},
            updated=sorted(values),
            placed=placed,
            returned=set(),
        )
        saver.put_step(PLACED, changes, {"source": "loop", "step": number}, durable=False)
        parent = own


@pytest.mark.parametrize("number", range(3, len(MIGRATIONS) + 1))
def test_writes_that_are_stored_without_ids_of_tasks_come_back(number: int) -> None:
    conn = sqlite3.connect(":memory:", check_same_thread=False)
    conn.executescript(golden(number).read_text())
    listed = list(SqliteSaver(conn).list(PLACED))[::-1]
    following = list(a_placed_history())[1:]
    assert len(listed) == 5
    for found, (_, values, placed) in zip(listed, following):
        own, pairs = found.checkpoint["id"], list(values.items())
        tasks = sorted([t for p in placed for t in expanded(p, own, "outer:1", pairs)], key=lambda t: t[1])
        assert found.pending_writes == [(task_id, *pair) for task_id, _, wrote in tasks for pair in wrote]
    conn.close()


def golden(number: int) -> Path:
    return DIRECTORY / f"checkpoints-{number}.sql"


@pytest.fixture(params=range(1, len(MIGRATIONS) + 1))
def saver(request: pytest.FixtureRequest) -> Iterator[SqliteSaver]:
    conn = sqlite3.connect(":memory:", check_same_thread=False)
    conn.executescript(golden(request.param).read_text())
    yield SqliteSaver(conn)
    conn.close()


def test_every_checkpoint_comes_back(saver: SqliteSaver) -> None:
    parent = None
    for number, step in enumerate(a_history()):
        config = {"configurable": {"thread_id": "golden", "checkpoint_ns": "", "checkpoint_id": step.id}}
        found = saver.get_tuple(config)
        assert found is not None
        assert found.checkpoint["channel_values"] == step.values
        assert found.checkpoint["channel_versions"]["number"] == number
        assert found.checkpoint["versions_seen"] == {
            "n": {"branch:to:n": parent or 0},
            "m": {"number": number, "log": step.id},
        }
        assert found.checkpoint["updated_channels"] == sorted(step.changed)
        ts = "2026-11-30T21:40:00.73" if number % 2 else "2026-01-02T03:04:05"
        assert found.checkpoint["ts"].startswith(ts)
        assert found.metadata == {
            "source": "loop",
            "step": number,
            "parents": {},
            "set": {number},
            "tenant": "acme",
        }
        assert (found.parent_config and found.parent_config["configurable"]["checkpoint_id"]) == parent
        parent = step.id


def test_the_whole_history_is_listed(saver: SqliteSaver) -> None:
    steps = list(a_history())
    listed = list(saver.list({"configurable": {"thread_id": "golden"}}))
    assert [t.checkpoint["id"] for t in listed] == [step.id for step in reversed(steps)]
    assert [len(t.checkpoint["channel_values"]["log"]) for t in listed] == [
        len(s.values["log"]) for s in reversed(steps)
    ]


def test_pending_writes_come_back(saver: SqliteSaver) -> None:
    listed = list(saver.list({"configurable": {"thread_id": "golden"}}))[::-1]
    steps = list(a_history())
    for number, (found, following) in enumerate(zip(listed, steps[1:])):
        wrote = [(f"task-{number + 1}", channel, value) for channel, value in following.wrote]
        assert [w[:2] for w in found.pending_writes or ()] == [w[:2] for w in wrote]
        assert len(found.pending_writes or ()) == len(wrote)
    assert listed[-1].pending_writes == [
        ("task", "__interrupt__", (Interrupt("?", "a" * 32),)),
        ("task", "log", [1]),
    ]


def test_a_thread_of_an_earlier_version_goes_on(saver: SqliteSaver) -> None:
    found = saver.get_tuple({"configurable": {"thread_id": "golden"}})
    assert found is not None
    log = [*found.checkpoint["channel_values"]["log"], "more"]
    own = "2f1ed069-861a-6000-bffe-ad38f80b9071"
    changes = StepChanges(
        id=own,
        parent_id=found.checkpoint["id"],
        ts="",
        values={"log": log},
        versions={"log": own},
        seen={},
        updated=["log"],
        returned=set(),
        expected_head=found.checkpoint["id"],
    )
    saver.put_step(CONFIG, changes, {"step": 60})
    again = saver.get_tuple({"configurable": {"thread_id": "golden"}})
    assert again is not None
    assert again.checkpoint["channel_values"]["log"] == log
    saver.prune(["golden"])
    pruned = saver.get_tuple({"configurable": {"thread_id": "golden"}})
    assert pruned is not None
    assert pruned.checkpoint == again.checkpoint


def main() -> None:
    """Write the file of the newest form."""
    with SqliteSaver.from_conn_string(":memory:") as saver:
        tracker.SPAN, tracker.MERGED_SPAN = 4, 3  # type: ignore[misc]
        write(saver)
        write_placed(saver)
        target = golden(len(MIGRATIONS))
        target.parent.mkdir(exist_ok=True)
        target.write_text("\n".join(saver.conn.iterdump()) + "\n")


if __name__ == "__main__":
    main()
