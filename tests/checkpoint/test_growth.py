"""Stored bytes grow with what is new: every style of state, in memory and in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stepgraph.checkpoint.changes import EVERYTHING, StepChanges, add_returned
from stepgraph.checkpoint.growth.lanes import Lanes
from stepgraph.checkpoint.growth.reader import Reader
from stepgraph.checkpoint.growth.rows import Row
from stepgraph.checkpoint.ids import next_checkpoint_id
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.checkpoint.memory_rows import MemoryHistory
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.checkpoint.step_saver import StepSaver
from stepgraph.values.commands import Send

CONFIG = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
ITEM = 500


class Run:
    """A run of one node that writes one channel, step after step."""

    def __init__(self, saver: StepSaver, batch: int = 1) -> None:
        self.saver = saver
        self.head: str | None = None
        self.random = Random(1)
        self.batch = batch
        self.encoded: list[Any] = []
        self.state: Any = None

    def item(self) -> str:
        return self.random.randbytes(ITEM // 2).hex()

    def step(self, value: Any, wrote: Any) -> None:
        own = next_checkpoint_id()
        returned: set[int] = set()
        add_returned(returned, wrote)
        changes = StepChanges(
            id=own,
            parent_id=self.head,
            ts="",
            values={"log": value, "branch:to:n": None},
            versions={"log": own, "branch:to:n": own},
            seen={"n": {"branch:to:n": self.head}} if self.head else {},
            updated=["branch:to:n", "log"],
            writes=[(f"task-{own}", "~__pregel_pull, n", [("log", wrote), ("branch:to:n", None)])]
            if self.head
            else (),
            returned=returned,
            run_id="run",
        )
        self.encoded.append(
            self.saver.encode_step(CONFIG, changes, {"source": "loop", "step": 1, "parents": {}})
        )
        if len(self.encoded) >= self.batch:
            self.flush()
        self.head, self.state = own, value

    def flush(self) -> None:
        self.saver.store(self.encoded, durable=False)
        self.encoded = []


def append(run: Run) -> None:
    wrote = [run.item()]
    run.step((run.state or []) + wrote, wrote)


def append_message(run: Run) -> None:
    wrote = [{"role": "user", "id": next_checkpoint_id(), "content": run.item()[60:]}]
    run.step((run.state or []) + wrote, wrote)


def return_whole(run: Run) -> None:
    value = [*(run.state or []), run.item()]
    run.step(value, value)


def return_whole_messages(run: Run) -> None:
    value = [*(run.state or []), {"role": "user", "content": run.item()}]
    run.step(value, value)


def merge_key(run: Run) -> None:
    wrote = {f"key-{len(run.state or {})}": run.item()}
    run.step({**(run.state or {}), **wrote}, wrote)


def grow_inner(run: Run) -> None:
    inner = [*(run.state or {}).get("log", []), run.item()]
    run.step({**(run.state or {"other": 1}), "log": inner}, {"log": inner})


def grow_inner_in_place(run: Run) -> None:
    state = run.state or {"log": []}
    state["log"].append(run.item())
    run.step(dict(state), {"log": state["log"]})


def prepend(run: Run) -> None:
    wrote = [run.item()]
    run.step(wrote + (run.state or []), wrote)


def continue_text(run: Run) -> None:
    value = (run.state or "") + run.item()
    run.step(value, value)


def slide(run: Run) -> None:
    wrote = [run.item()]
    run.step(((run.state or []) + wrote)[-50:], wrote)


STYLES = [
    append,
    append_message,
    return_whole,
    return_whole_messages,
    merge_key,
    grow_inner,
    grow_inner_in_place,
    prepend,
    continue_text,
    slide,
]


def bytes_of(style: Callable[[Run], None], steps: int) -> int:
    saver = InMemorySaver()
    run = Run(saver)
    for _ in range(steps):
        style(run)
    return saver.stored_bytes()


@pytest.mark.parametrize("style", STYLES)
def test_four_times_the_steps_store_four_times_the_bytes(style: Callable[[Run], None]) -> None:
    first, second = bytes_of(style, 300), bytes_of(style, 1200)
    assert second <= 4.5 * first
    assert second <= 1200 * ITEM * 4.6


@pytest.mark.parametrize("style", STYLES)
def test_a_value_is_read_back_whatever_its_chain(style: Callable[[Run], None]) -> None:
    saver = InMemorySaver()
    run = Run(saver)
    states = []
    for _ in range(230):
        style(run)
        states.append(list(run.state) if isinstance(run.state, list) else run.state)
    found = saver.get_tuple(CONFIG)
    assert found is not None
    assert found.checkpoint["channel_values"]["log"] == run.state
    if style is not grow_inner_in_place:
        listed = [t.checkpoint["channel_values"]["log"] for t in saver.list(CONFIG)]
        assert listed == states[::-1]


@pytest.mark.parametrize("style", [append, return_whole_messages, merge_key, grow_inner])
def test_short_runs_of_new_processes_store_no_more_than_one_long_run(style: Callable[[Run], None]) -> None:
    saver = InMemorySaver()
    run = Run(saver)
    for _ in range(80):
        for _ in range(5):
            style(run)
        saver._lanes = Lanes()
        found = saver.get_tuple(CONFIG)
        assert found is not None
        run.state = found.checkpoint["channel_values"]["log"]
    assert saver.stored_bytes() <= 1.5 * bytes_of(style, 400)


@contextmanager
def sqlite_file(path: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(str(path / "checkpoints.db")) as saver:
        yield saver


def file_bytes(path: Path, style: Callable[[Run], None], steps: int) -> int:
    path.mkdir()
    with sqlite_file(path) as saver:
        run = Run(saver, batch=50)
        for _ in range(steps):
            style(run)
        run.flush()
        saver.conn.execute("VACUUM")
        saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = saver.get_tuple(CONFIG)
        assert found is not None
        assert found.checkpoint["channel_values"]["log"] == run.state
    return (path / "checkpoints.db").stat().st_size


@pytest.mark.parametrize(
    ("style", "limit"), [(append, 2.6e6), (append_message, 3.2e6), (merge_key, 2.6e6), (return_whole, 3.5e6)]
)
def test_a_thousand_steps_in_a_file(tmp_path: Path, style: Callable[[Run], None], limit: float) -> None:
    assert file_bytes(tmp_path / "thousand", style, 1000) <= limit


def test_a_file_grows_with_what_is_new(tmp_path: Path) -> None:
    assert file_bytes(tmp_path / "b", append, 2000) <= 4.5 * file_bytes(tmp_path / "a", append, 500)


def test_the_newest_state_is_read_in_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader walks a bounded number of differences, however long the history is."""
    saver = InMemorySaver()
    run = Run(saver)
    for _ in range(1500):
        append(run)
    read: list[Any] = []
    answer = MemoryHistory.answer

    def count(history: MemoryHistory, request: Any) -> Any:
        rows = answer(history, request)
        read.extend(rows)
        return rows

    monkeypatch.setattr(MemoryHistory, "answer", count)
    assert saver.get_tuple(CONFIG) is not None
    assert len(read) < 120


def test_chains_of_small_values_end_in_a_whole_value() -> None:
    saver = InMemorySaver()
    run = Run(saver)
    for i in range(2000):
        value = {"counter": i, "constant": "c" * 300}
        run.step(value, value)
    assert saver.stored_bytes() < 2000 * 700
    reader_steps = len(chain_of(saver, "log"))
    assert reader_steps < 40


def chain_of(saver: InMemorySaver, channel: str) -> list[Any]:
    history = saver._histories["1", ""]
    reader = Reader(("1", ""), saver._codec)
    reader.keep([Row(*row) for row in history.rows.values()])
    assert history.newest is not None
    return reader._chain(channel, history.newest)[2]


# ---- what is stored once


@dataclass
class Document:
    text: str


@pytest.mark.parametrize(
    "value", ["t" * 50_000, Document("t" * 50_000), ("t" * 50_000, 1), {"s": "t" * 50_000}]
)
def test_a_large_value_that_is_written_again_is_stored_once(value: Any) -> None:
    saver = InMemorySaver()
    run = Run(saver)
    for _ in range(20):
        run.step(value, value)
    assert saver.stored_bytes() < 60_000 + 20 * 600
    assert [t.checkpoint["channel_values"]["log"] for t in saver.list(CONFIG)] == [value] * 20


def test_a_large_object_that_was_changed_in_place_is_stored_again() -> None:
    saver = InMemorySaver()
    run = Run(saver)
    document = Document("a" * 1000)
    run.step(document, document)
    document.text = "b" * 1000
    run.step(document, document)
    texts = [t.checkpoint["channel_values"]["log"].text[0] for t in saver.list(CONFIG)]
    assert texts == ["b", "a"]


def test_a_value_goes_back_to_a_content_that_it_had() -> None:
    """Changed in place, then replaced by another object, then that one changed in place to the first content."""
    saver = InMemorySaver()
    run = Run(saver)
    table = {"key": {"text": "on"}, "constant": "c" * 400, "other": 1}
    run.step(table, table)
    first = table["key"]
    run.step(dict(table), {"key": first})
    run.step({**table, "key": {"text": "off"}}, {"key": {"text": "off"}})
    second = run.state["key"]
    second["text"] = "on"
    run.step(dict(run.state), {"key": second})
    texts = [t.checkpoint["channel_values"]["log"]["key"]["text"] for t in saver.list(CONFIG)]
    assert texts == ["on", "off", "on", "on"]


def test_an_object_that_many_tasks_are_sent_is_stored_once() -> None:
    saver = InMemorySaver()
    run = Run(saver)
    run.step([], [])
    shared = {"text": "t" * 50_000}
    sends = [Send("work", {"i": i, "document": shared}) for i in range(200)]
    run.step(sends, sends)
    assert saver.stored_bytes() < 75_000
    found = saver.get_tuple(CONFIG)
    assert found is not None
    assert [send.arg["i"] for send in found.checkpoint["channel_values"]["log"]] == list(range(200))


def test_what_a_node_wrote_is_not_stored_beside_what_it_made() -> None:
    """Pending writes of a folded step refer to the values that fold them."""
    saver = InMemorySaver()
    run = Run(saver)
    for style in (append, merge_key, continue_text, return_whole):
        run.state = None
        for _ in range(50):
            style(run)
    writes = sum(len(row[6] or b"") for row in saver._histories["1", ""].rows.values())
    assert writes < 200 * 150


def test_a_whole_list_that_a_parallel_task_wrote_is_stored_as_a_difference() -> None:
    saver = InMemorySaver()
    run = Run(saver)
    total = 0
    for _ in range(200):
        return_whole(run)
        value = [*run.state, run.item()]
        encoded = saver.encode_writes(
            {"configurable": {"thread_id": "1", "checkpoint_id": run.head}}, [("log", value)], "t"
        )
        total += encoded.size
        saver.store((encoded,), durable=False)
        found = saver.get_tuple(CONFIG)
        assert found is not None
        assert found.pending_writes == [("t", "log", value)]
    assert total < 200 * 900


# ---- what is remembered


def test_what_is_remembered_is_bounded() -> None:
    saver = InMemorySaver()
    saver._lanes = Lanes(budget=100_000)
    for thread in range(40):
        config = {"configurable": {"thread_id": str(thread), "checkpoint_ns": ""}}
        own = next_checkpoint_id()
        changes = StepChanges(
            id=own,
            parent_id=None,
            ts="",
            values={"log": [f"{i}" * 1000 for i in range(10)]},
            versions={"log": own},
            seen={},
            updated=[],
        )
        saver.put_step(config, changes, {"step": 0})
    assert sum(lane.weight() for lane in saver._lanes._lanes.values()) <= 100_000
    assert saver._lanes.get(("39", "")) is not None
    assert saver._lanes.get(("0", "")) is None


def test_somebody_who_looks_does_not_disturb_a_run() -> None:
    """The run goes on from its own objects, although the saver was asked for copies of them in between."""
    saver = InMemorySaver()
    run = Run(saver)
    for _ in range(100):
        append(run)
        saver.get_tuple(CONFIG)
        saver.get_tuple(CONFIG)
    assert saver.stored_bytes() <= 1.1 * bytes_of(append, 100)


def test_runs_one_after_the_other_in_one_process_store_no_more_than_one() -> None:
    """Each run loads the thread, and goes on from the objects that it got."""
    saver = InMemorySaver()
    run = Run(saver)
    for _ in range(60):
        for _ in range(5):
            append_message(run)
        found = saver.get_tuple(CONFIG)
        assert found is not None
        run.state = found.checkpoint["channel_values"]["log"]
    assert saver.stored_bytes() <= 1.2 * bytes_of(append_message, 300)


def test_a_serializer_of_a_persons_own_sees_every_value() -> None:
    class Upside(JsonPlusSerializer):
        pass

    class Reversed:
        """Not one of ours: what it gives is not looked into."""

        def __init__(self) -> None:
            self.inner = JsonPlusSerializer()

        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            tag, data = self.inner.dumps_typed(obj)
            return tag, data[::-1]

        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            return self.inner.loads_typed((data[0], data[1][::-1]))

    for serde in (Upside(), Reversed()):
        saver = InMemorySaver(serde=serde)
        run = Run(saver)
        for _ in range(60):
            return_whole_messages(run)
        run.step("the secret", "the secret")
        values = [t.checkpoint["channel_values"]["log"] for t in saver.list(CONFIG)]
        assert values[0] == "the secret"
        assert len(values[1]) == 60
        if isinstance(serde, Reversed):
            assert b"the secret" not in (saver._histories["1", ""].rows[run.head or ""][5] or b"")


def test_where_everything_may_have_changed_edits_in_place_are_found() -> None:
    saver = InMemorySaver()
    entries = [{"n": n, "text": "entry " * 10} for n in range(30)]
    table = {str(n): [n, "entry " * 10] for n in range(30)}
    parent = None
    for number in range(3):
        own = f"1f1ed069-861a-6e2e-bffe-ad38f80b907{number}"
        changes = StepChanges(
            id=own,
            parent_id=parent,
            ts="",
            values={"log": entries, "table": table},
            versions={"log": own, "table": own},
            seen={},
            updated=["log", "table"],
            returned=EVERYTHING,
        )
        saver.put_step({"configurable": {"thread_id": "1", "checkpoint_ns": ""}}, changes, {"step": number})
        found = saver.get_tuple({"configurable": {"thread_id": "1"}})
        assert found is not None
        assert found.checkpoint["channel_values"] == {"log": entries, "table": table}
        entries[3]["text"] = table["3"][1] = f"edited after {number}"
        parent = own
