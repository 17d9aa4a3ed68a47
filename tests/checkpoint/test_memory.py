"""InMemorySaver: what people look at, and many threads at once."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from stepgraph.checkpoint.base import empty_checkpoint
from stepgraph.checkpoint.changes import StepChanges
from stepgraph.checkpoint.ids import next_checkpoint_id
from stepgraph.checkpoint.memory import InMemorySaver, MemorySaver
from stepgraph.errors import ThreadBusyError


def at(thread: str = "1", namespace: str = "", checkpoint_id: str | None = None) -> dict[str, Any]:
    where = {"thread_id": thread, "checkpoint_ns": namespace}
    return {"configurable": where if checkpoint_id is None else {**where, "checkpoint_id": checkpoint_id}}


def put(saver: InMemorySaver, thread: str, namespace: str = "", **values: Any) -> dict[str, Any]:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = dict.fromkeys(values, 1)
    return saver.put(at(thread, namespace), checkpoint, {"step": 1}, dict.fromkeys(values, 1))


def test_both_names_are_one_class() -> None:
    assert MemorySaver is InMemorySaver


def test_namespaces_are_found_the_way_people_look_for_them() -> None:
    saver = InMemorySaver()
    put(saver, "t", a=1)
    put(saver, "t", "child:x", a=1)
    put(saver, "u", a=1)
    assert sorted(ns for thread in saver.storage for ns in saver.storage[thread]) == ["", "", "child:x"]
    assert list(saver.storage) == ["t", "u"]
    assert len(saver.storage["t"]) == 2


def test_views_show_checkpoints_writes_and_bytes() -> None:
    saver = InMemorySaver()
    config = put(saver, "t", a=[1, 2])
    checkpoint_id = config["configurable"]["checkpoint_id"]
    saver.put_writes(config, [("a", 3)], "task")
    checkpoint, metadata, parent = saver.storage["t"][""][checkpoint_id]
    assert (checkpoint["channel_values"], metadata, parent) == ({"a": [1, 2]}, {"step": 1}, None)
    assert saver.writes["t"][""][checkpoint_id] == [("task", "a", 3)]
    assert isinstance(saver.blobs["t"][""][checkpoint_id], bytes)


def test_views_are_live_and_read_only() -> None:
    saver = InMemorySaver()
    storage: Any = saver.storage
    assert dict(storage) == {}
    put(saver, "t", a=1)
    assert list(storage) == ["t"]
    saver.delete_thread("t")
    assert list(storage) == []
    with pytest.raises(TypeError):
        storage["t"] = {}
    with pytest.raises(KeyError):
        storage["unknown"]
    with pytest.raises(AttributeError):
        saver.storage = {}  # type: ignore[misc]


def test_it_is_a_context_manager_that_does_nothing() -> None:
    with InMemorySaver() as saver:
        put(saver, "t", a=1)

    async def use() -> Any:
        async with saver as same:
            return await same.aget(at("t"))

    assert asyncio.run(use())["channel_values"] == {"a": 1}


def test_an_allowlist_makes_a_saver_over_the_same_data() -> None:
    saver = InMemorySaver()
    put(saver, "t", a=1)
    twin = saver.with_allowlist([("builtins", "dict")])
    assert twin is not saver
    assert twin.serde is not saver.serde
    found = twin.get_tuple(at("t"))
    assert found is not None
    put(saver, "u", a=2)
    assert twin.get_tuple(at("u")) is not None


def test_values_that_are_read_belong_to_the_reader() -> None:
    saver = InMemorySaver()
    config = put(saver, "t", a=[{"x": 1}], b={"y": [1]})
    first = saver.get_tuple(config)
    assert first is not None
    first.checkpoint["channel_values"]["a"][0]["x"] = 99
    first.checkpoint["channel_values"]["b"]["y"].append(99)
    second = saver.get_tuple(config)
    assert second is not None
    assert second.checkpoint["channel_values"] == {"a": [{"x": 1}], "b": {"y": [1]}}


def test_values_that_are_put_may_be_changed_afterwards() -> None:
    saver = InMemorySaver()
    value = [{"x": 1}] * 30 + [{"n": i} for i in range(30)]
    config = put(saver, "t", a=value)
    value[0]["x"] = 99
    value.append({"x": 2})
    found = saver.get_tuple(config)
    assert found is not None
    assert found.checkpoint["channel_values"]["a"][0] == {"x": 1}
    assert len(found.checkpoint["channel_values"]["a"]) == 60


def test_a_step_that_refers_to_what_was_deleted_is_refused() -> None:
    saver = InMemorySaver()
    log = [{"n": i, "text": "entry " * 10} for i in range(30)]
    config = put(saver, "t", log=log)
    own = next_checkpoint_id()
    changes = StepChanges(
        id=own,
        parent_id=config["configurable"]["checkpoint_id"],
        ts="",
        values={"log": [*log, "more"]},
        versions={"log": own},
        seen={},
        updated=None,
        returned=set(),
    )
    encoded = saver.encode_step(at("t"), changes, {"step": 1})
    saver.delete_thread("t")
    with pytest.raises(ThreadBusyError, match="pruned or deleted"):
        saver.store([encoded], durable=False)
    assert saver.get_tuple(at("t")) is None


def test_many_threads_write_read_list_and_prune_at_once() -> None:
    saver = InMemorySaver()
    faults: list[BaseException] = []
    stop = threading.Event()

    def write(thread: str, namespace: str) -> None:
        log: list[Any] = []
        head = None
        for i in range(150):
            log = [*log, {"n": i, "text": "entry " * 10}]
            own = next_checkpoint_id()
            changes = StepChanges(
                id=own,
                parent_id=head,
                ts="",
                values={"log": log},
                versions={"log": own},
                seen={},
                updated=None,
                returned=set(),
                expected_head=head,
            )
            if i % 3:
                saver.put_step(at(thread, namespace), changes, {"step": i})
            else:
                saver.store([saver.encode_step(at(thread, namespace), changes, {"step": i})], durable=False)
            saver.put_writes(at(thread, namespace, own), [("log", [i])], "task")
            head = own

    def read(thread: str) -> None:
        while not stop.is_set():
            found = saver.get_tuple(at(thread))
            if found is not None:
                log = found.checkpoint["channel_values"]["log"]
                assert [x["n"] for x in log] == list(range(len(log)))
            list(saver.list({"configurable": {"thread_id": thread}}, limit=5))

    def prune(thread: str) -> None:
        while not stop.is_set():
            saver.prune([thread])

    def guarded(work: Any, *args: Any) -> threading.Thread:
        def run() -> None:
            try:
                work(*args)
            except BaseException as error:
                faults.append(error)

        made = threading.Thread(target=run)
        made.start()
        return made

    writers = [guarded(write, str(i % 2), f"child:{i}" if i > 1 else "") for i in range(6)]
    others = [guarded(read, "0"), guarded(read, "1"), guarded(prune, "1")]
    for writer in writers:
        writer.join(60)
    stop.set()
    for other in others:
        other.join(60)
    assert faults == []
    assert not any(thread.is_alive() for thread in (*writers, *others))
    for i in range(6):
        found = saver.get_tuple(at(str(i % 2), f"child:{i}" if i > 1 else ""))
        assert found is not None
        assert [x["n"] for x in found.checkpoint["channel_values"]["log"]] == list(range(150))


def test_asynchronous_twins_take_what_the_others_take() -> None:
    async def use() -> list[str]:
        saver = InMemorySaver()
        for thread in ("a", "b"):
            config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
            for step in range(2):
                checkpoint = empty_checkpoint()
                metadata = {"source": "loop", "step": step, "parents": {}, "run_id": f"run-{step}"}
                config = await saver.aput(config, checkpoint, metadata, {})
        await saver.acopy_thread("a", "c")
        await saver.adelete_for_runs(["run-1"])
        await saver.aprune(["b"], strategy="delete", older_than=3600)
        await saver.aprune(["c"], strategy="delete", namespaces=[""])
        return [
            found.config["configurable"]["thread_id"]
            for thread in ("a", "b", "c")
            async for found in saver.alist({"configurable": {"thread_id": thread}})
        ]

    assert asyncio.run(use()) == ["a", "b"]
