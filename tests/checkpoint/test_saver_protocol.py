"""What every saver of ours does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checkpoint.savers import KINDS, Face, open_saver
from stepgraph.checkpoint.base import Checkpoint, empty_checkpoint
from stepgraph.checkpoint.changes import StepChanges
from stepgraph.checkpoint.ids import next_checkpoint_id
from stepgraph.checkpoint.serde.errors import NotStorableError
from stepgraph.errors import ThreadBusyError
from stepgraph.values.missing import MISSING


@pytest.fixture(params=KINDS)
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Face]:
    with open_saver(request.param, tmp_path) as face:
        yield face


def at(
    thread: str = "1", namespace: str = "", checkpoint_id: str | None = None, **more: Any
) -> dict[str, Any]:
    where = {"thread_id": thread, "checkpoint_ns": namespace, **more}
    return {"configurable": where if checkpoint_id is None else {**where, "checkpoint_id": checkpoint_id}}


def a_checkpoint(version: Any = 1, /, **values: Any) -> Checkpoint:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = dict.fromkeys(values, version)
    return checkpoint


def put(
    saver: Face, config: dict[str, Any], version: Any = 1, /, *, step: int = 0, **values: Any
) -> dict[str, Any]:
    checkpoint = a_checkpoint(version, **values)
    metadata = {"source": "loop", "step": step, "parents": {}}
    stored: dict[str, Any] = saver.put(config, checkpoint, metadata, dict(checkpoint["channel_versions"]))
    return stored


def a_step(parent: str | None, /, head: Any = MISSING, run: str | None = None, **values: Any) -> StepChanges:
    own = next_checkpoint_id()
    return StepChanges(
        id=own,
        parent_id=parent,
        ts="2026-01-01T00:00:00+00:00",
        values=values,
        versions=dict.fromkeys(values, own),
        seen={},
        updated=sorted(values),
        returned=set(),
        expected_head=head,
        run_id=run,
    )


def id_of(config: dict[str, Any]) -> str:
    return str(config["configurable"]["checkpoint_id"])


def test_what_was_put_comes_back(saver: Face) -> None:
    checkpoint = a_checkpoint("v1", a=[1, {"x": (2, 3)}], b=None)
    checkpoint["versions_seen"] = {"n": {"a": "v0"}}
    checkpoint["updated_channels"] = ["a"]
    config = saver.put(
        at(), checkpoint, {"source": "input", "step": -1, "parents": {}}, {"a": "v1", "b": "v1"}
    )
    assert config == at(checkpoint_id=checkpoint["id"])
    found = saver.get_tuple(at())
    assert found.checkpoint == checkpoint
    assert type(found.checkpoint["channel_values"]["a"][1]["x"]) is tuple
    assert (found.config, found.parent_config, found.pending_writes) == (config, None, [])
    assert found.metadata == {"source": "input", "step": -1, "parents": {}}
    assert saver.get(config) == checkpoint


def test_nothing_is_found_where_nothing_is(saver: Face) -> None:
    assert saver.get_tuple(at()) is None
    put(saver, at(), a=1)
    assert saver.get_tuple(at("2")) is None
    assert saver.get_tuple(at("1", "child")) is None
    assert saver.get_tuple(at(checkpoint_id="unknown")) is None
    assert saver.get(at("2")) is None


def test_the_newest_is_the_one_with_the_greatest_id(saver: Face) -> None:
    late, early = a_checkpoint(a="late"), a_checkpoint(a="early")
    late["id"], early["id"] = "2", "1"
    saver.put(at(), late, {}, {"a": 1})
    saver.put(at(), early, {}, {"a": 1})
    assert saver.get_tuple(at()).checkpoint["id"] == "2"


def test_a_thread_id_may_be_a_number(saver: Face) -> None:
    put(saver, at(7), a=1)  # type: ignore[arg-type]
    assert saver.get_tuple(at("7")).config["configurable"]["thread_id"] == "7"


def test_a_config_without_a_thread_is_refused(saver: Face) -> None:
    with pytest.raises(ValueError, match="thread_id"):
        saver.get_tuple({"configurable": {}})


def test_writes_without_a_checkpoint_are_refused(saver: Face) -> None:
    with pytest.raises(ValueError, match="checkpoint_id"):
        saver.put_writes(at(), [("a", 1)], "task")


def test_only_what_is_new_is_stored_and_the_rest_is_found(saver: Face) -> None:
    big = ["x" * 400] * 50
    first = put(saver, at(), "1", big=big, small=1)
    second = a_checkpoint(None, big=big, small=2)
    second["channel_versions"] = {"big": "1", "small": "2"}
    config = saver.put(first, second, {}, {"small": "2"})
    assert saver.get_tuple(config).checkpoint["channel_values"] == {"big": big, "small": 2}
    assert saver.get_tuple(first).checkpoint["channel_values"] == {"big": big, "small": 1}


def test_a_channel_can_be_emptied_and_dropped(saver: Face) -> None:
    first = put(saver, at(), "1", a=1, b=2, c=3)
    second = a_checkpoint("2", a=1)
    second["channel_versions"] = {"a": "1", "b": "2"}
    found = saver.get_tuple(saver.put(first, second, {}, {"b": "2"}))
    assert found.checkpoint["channel_values"] == {"a": 1}
    assert found.checkpoint["channel_versions"] == {"a": "1", "b": "2"}


def test_values_without_versions_are_kept(saver: Face) -> None:
    checkpoint = a_checkpoint(a=1)
    checkpoint["channel_versions"] = {}
    found = saver.get_tuple(saver.put(at(), checkpoint, {}, {}))
    assert (found.checkpoint["channel_values"], found.checkpoint["channel_versions"]) == ({"a": 1}, {})


def test_a_checkpoint_can_be_put_again_under_its_id(saver: Face) -> None:
    log = [{"text": "entry " * 10, "n": i} for i in range(30)]
    first = a_checkpoint("1", log=log)
    config = saver.put(at(), first, {"step": 0}, {"log": "1"})
    child = put(saver, config, "2", log=[*log, "more"])
    again = {**first, "channel_values": {"log": ["another"]}}
    saver.put(at(), again, {"step": 9}, {"log": "1"})
    assert saver.get_tuple(config).checkpoint["channel_values"] == {"log": ["another"]}
    assert saver.get_tuple(config).metadata == {"step": 9}
    found = saver.get_tuple(child)
    assert found.checkpoint["channel_values"] == {"log": [*log, "more"]}
    assert found.parent_config == config
    assert len(list(saver.list(at()))) == 2


# ---- pending writes


def test_writes_come_back_by_path_task_and_index(saver: Face) -> None:
    config = put(saver, at(), a=1)
    saver.put_writes(config, [("x", 1), ("y", [2])], "t2", "~2")
    saver.put_writes(config, [("x", 3)], "t3", "~1")
    saver.put_writes(config, [("__error__", "boom"), ("x", 4)], "t1", "~2")
    assert saver.get_tuple(config).pending_writes == [
        ("t3", "x", 3),
        ("t1", "__error__", "boom"),
        ("t1", "x", 4),
        ("t2", "x", 1),
        ("t2", "y", [2]),
    ]


def test_an_ordinary_write_is_not_replaced(saver: Face) -> None:
    config = put(saver, at(), a=1)
    saver.put_writes(config, [("x", 1), ("y", 2)], "t")
    saver.put_writes(config, [("x", 10), ("y", 20), ("z", 30)], "t")
    assert saver.get_tuple(config).pending_writes == [("t", "x", 1), ("t", "y", 2), ("t", "z", 30)]


def test_a_special_write_is_replaced(saver: Face) -> None:
    config = put(saver, at(), a=1)
    for answers in (["a"], ["a", "b"]):
        saver.put_writes(config, [("__resume__", answers)], "t")
    saver.put_writes(config, [("__interrupt__", "first?")], "t")
    saver.put_writes(config, [("__interrupt__", "second?")], "t")
    assert saver.get_tuple(config).pending_writes == [
        ("t", "__resume__", ["a", "b"]),
        ("t", "__interrupt__", "second?"),
    ]


def test_a_step_brings_the_writes_of_its_tasks(saver: Face) -> None:
    first = a_step(None, log=["a"], table={"k": 1})
    saver.put_step(at(), first, {"step": 0})
    more, entry = [{"text": "entry " * 20}], {"deep": {"value": "v" * 100}}
    second = a_step(first.id, log=["a", *more], table={"k": 1, **entry}, plain="p" * 500)
    second.writes = [
        ("t1", "~1", [("log", more), ("table", entry)]),
        ("t2", "~2", [("plain", second.values["plain"]), ("branch", None)]),
    ]
    saver.put_step(at(), second, {"step": 1})
    assert saver.get_tuple(at(checkpoint_id=first.id)).pending_writes == [
        ("t1", "log", more),
        ("t1", "table", entry),
        ("t2", "plain", "p" * 500),
        ("t2", "branch", None),
    ]
    assert saver.get_tuple(at()).pending_writes == []


def test_both_protocols_work_on_one_thread(saver: Face) -> None:
    log = [{"n": i, "text": "entry " * 10} for i in range(40)]
    first = a_step(None, log=log)
    saver.put_step(at(), first, {"step": 0})
    second = put(saver, at(checkpoint_id=first.id), "x", log=[*log, "second"])
    third = a_step(id_of(second), log=[*log, "second", "third"])
    saver.put_step(at(), third, {"step": 2})
    values = [t.checkpoint["channel_values"]["log"][40:] for t in saver.list(at())]
    assert values == [["second", "third"], ["second"], []]


# ---- metadata


def test_metadata_may_hold_any_object(saver: Face) -> None:
    metadata = {
        "source": "loop",
        "step": 1,
        "parents": {"": "x"},
        "who": Person("Ann"),
        "nan": {1: {2, 3}},
        "t": (1,),
    }
    config = saver.put(at(), a_checkpoint(a=1), metadata, {"a": 1})
    assert saver.get_tuple(config).metadata == metadata
    assert [t.metadata for t in saver.list(None, filter={"who": Person("Ann")})] == [metadata]
    assert list(saver.list(None, filter={"who": Person("Bob")})) == []


@dataclass
class Person:
    name: str


def test_metadata_gets_what_the_config_says(saver: Face) -> None:
    config = {**at(tenant="acme", __private=1), "metadata": {"user": "ann"}}
    saver.put(config, a_checkpoint(a=1), {"step": 1}, {"a": 1})
    saver.put_step(config, a_step(None, a=1), {"step": 2})
    assert [t.metadata for t in saver.list(at())] == [
        {"step": 2, "tenant": "acme", "user": "ann"},
        {"step": 1, "tenant": "acme", "user": "ann"},
    ]


def test_metadata_that_changes_from_step_to_step_is_kept_apart(saver: Face) -> None:
    parents = {"": "first"}
    before = a_step(None, a=1)
    saver.put_step(at(), before, {"source": "loop", "step": 0, "parents": parents, "n": 1})
    parents[""] = "second"
    saver.put_step(at(), a_step(before.id, a=2), {"source": "loop", "step": 1, "parents": parents, "n": True})
    newest, oldest = [t.metadata for t in saver.list(at())]
    assert newest == {"source": "loop", "step": 1, "parents": {"": "second"}, "n": True}
    assert oldest == {"source": "loop", "step": 0, "parents": {"": "first"}, "n": 1}
    assert (newest["n"], type(oldest["n"])) == (True, int)


def test_a_list_shows_no_metadata_of_ours(saver: Face) -> None:
    saver.put_step(at(), a_step(None, a=1), {"step": 1, "__fingerprint": "f"})
    assert [t.metadata for t in saver.list(at())] == [{"step": 1}]
    assert saver.get_tuple(at()).metadata == {"step": 1, "__fingerprint": "f"}


# ---- lists


def steps(found: Any) -> list[int]:
    return [t.metadata["step"] for t in found]


def test_a_list_is_newest_first_and_ends_at_its_limit(saver: Face) -> None:
    config = at()
    for i in range(20):
        config = put(saver, config, step=i, a=i)
    assert steps(saver.list(at())) == list(range(19, -1, -1))
    assert steps(saver.list(at(), limit=3)) == [19, 18, 17]
    assert steps(saver.list(at(), limit=0)) == []
    assert steps(saver.list(config)) == [19]


def test_a_list_before_a_checkpoint(saver: Face) -> None:
    configs = [put(saver, at(), step=i, a=i) for i in range(4)]
    assert steps(saver.list(at(), before=configs[2])) == [1, 0]
    assert steps(saver.list(at(), before=configs[2], limit=1)) == [1]
    assert steps(saver.list(at(), before=configs[0])) == []


def test_a_list_of_a_namespace_or_of_all(saver: Face) -> None:
    put(saver, at("1"), step=1, a=1)
    put(saver, at("1", "child:x"), step=2, a=1)
    put(saver, at("2"), step=3, a=1)
    assert steps(saver.list(at("1"))) == [1]
    assert steps(saver.list(at("1", "child:x"))) == [2]
    assert steps(saver.list({"configurable": {"thread_id": "1"}})) == [2, 1]
    assert steps(saver.list(None)) == [3, 2, 1]


def test_a_list_with_a_filter(saver: Face) -> None:
    for i in range(30):
        metadata = {"source": "loop" if i % 3 else "input", "step": i, "even": i % 2 == 0, "half": i / 2}
        saver.put(at(), a_checkpoint(a=1), metadata, {"a": 1})
    assert steps(saver.list(at(), filter={"source": "input", "even": True})) == [24, 18, 12, 6, 0]
    assert steps(saver.list(at(), filter={"source": "input"}, limit=2)) == [27, 24]
    assert steps(saver.list(at(), filter={"half": 3.5})) == [7]
    assert steps(saver.list(at(), filter={"missing": None}, limit=1)) == [29]
    assert steps(saver.list(at(), filter={"missing": 1})) == []


@pytest.mark.parametrize(
    "key",
    [
        "x') OR 1=1 --",
        '$."source"',
        "a.b",
        'quo"te',
        "source' = 'loop",
        "%",
        "ключ",
        "nul\0",
        "\ud800",
        "",
        7,
    ],
)
def test_keys_and_values_of_filters_are_never_text_of_a_statement(saver: Face, key: Any) -> None:
    saver.put(at(), a_checkpoint(a=1), {"source": "loop", "step": 0}, {"a": 1})
    saver.put(at(), a_checkpoint(a=1), {"source": "loop", "step": 1, key: key}, {"a": 1})
    assert list(saver.list(None, filter={key: "another"})) == []
    assert steps(saver.list(None, filter={key: key})) == [1]


def test_names_of_threads_and_namespaces_are_never_text_of_a_statement(saver: Face) -> None:
    put(saver, at("1"), a=1)
    for evil in ("' OR 1=1 --", "1'; DROP TABLE stepgraph_checkpoints; --", '"', "%"):
        assert saver.get_tuple(at(evil)) is None
        assert list(saver.list(at(evil))) == []
        put(saver, at(evil, evil), a=evil)
        assert saver.get_tuple(at(evil, evil)).checkpoint["channel_values"] == {"a": evil}
        saver.delete_thread(evil)
    assert len(list(saver.list(None))) == 1


def test_listed_values_are_containers_of_their_own(saver: Face) -> None:
    log: list[int] = []
    parent = None
    for i in range(5):
        log = [*log, i * 100_000]
        step = a_step(parent, log=log, table={"n": i, "text": "t" * 300})
        saver.put_step(at(), step, {"step": i})
        parent = step.id
    found = list(saver.list(at()))
    found[0].checkpoint["channel_values"]["log"].append("mine")
    found[0].checkpoint["channel_values"]["table"]["mine"] = 1
    assert [len(t.checkpoint["channel_values"]["log"]) for t in found[1:]] == [4, 3, 2, 1]
    assert len(saver.get_tuple(at()).checkpoint["channel_values"]["log"]) == 5


# ---- one writer


def test_a_step_that_expects_the_newest_checkpoint_is_stored(saver: Face) -> None:
    first = a_step(None, None, "r", a=1)
    saver.put_step(at(), first, {"step": 0})
    saver.put_step(at(), a_step(first.id, first.id, "r", a=2), {"step": 1})
    assert steps(saver.list(at())) == [1, 0]


def test_a_step_is_refused_if_another_run_was_ahead(saver: Face) -> None:
    first = a_step(None, None, "mine", log=["x" * 300])
    saver.put_step(at(), first, {"step": 0})
    theirs = a_step(first.id, first.id, "theirs", log=["x" * 300, "theirs"])
    saver.put_step(at(), theirs, {"step": 1})
    late = a_step(first.id, first.id, "mine", log=["x" * 300, "mine"])
    with pytest.raises(ThreadBusyError, match=r"mine.*its last saved step: 0") as caught:
        saver.put_step(at(), late, {"step": 1})
    error = caught.value
    assert (error.thread_id, error.namespace, error.run_id, error.other_run_id) == ("1", "", "mine", "theirs")
    assert saver.get_tuple(at()).checkpoint["id"] == theirs.id
    assert steps(saver.list(at())) == [1, 0]


def test_a_first_step_is_refused_if_there_is_a_checkpoint(saver: Face) -> None:
    put(saver, at(), a=1)
    with pytest.raises(ThreadBusyError):
        saver.put_step(at(), a_step(None, None, a=1), {"step": 0})


def test_each_namespace_has_a_head_of_its_own(saver: Face) -> None:
    put(saver, at("1", "child"), a=1)
    saver.put_step(at("1", ""), a_step(None, None, a=1), {"step": 0})
    assert len(list(saver.list({"configurable": {"thread_id": "1"}}))) == 2


def test_put_honours_an_expected_head(saver: Face) -> None:
    config = put(saver, at(), a=1)
    put(saver, config, a=2)
    with pytest.raises(ThreadBusyError):
        put(saver, at(checkpoint_id=id_of(config), __pregel_expected_head=id_of(config)), a=3)


def test_a_batch_is_stored_as_a_whole_or_not_at_all(saver: Face) -> None:
    first = a_step(None, None, "r", a=1)
    second = a_step(first.id, first.id, "r", a=2)
    wrong = a_step(second.id, first.id, "r", a=3)
    batch = [
        saver.encode_step(at(), first, {"step": 0}),
        saver.encode_writes(at(checkpoint_id=first.id), [("a", 2)], "t"),
        saver.encode_step(at(), second, {"step": 1}),
        saver.encode_step(at(), wrong, {"step": 2}),
    ]
    assert all(item.size > 0 for item in batch)
    with pytest.raises(ThreadBusyError):
        saver.store(batch, durable=False)
    assert saver.get_tuple(at()) is None


def test_a_batch_is_stored_in_order(saver: Face) -> None:
    first = a_step(None, None, "r", log=["x" * 300])
    second = a_step(first.id, first.id, "r", log=[*first.values["log"], "second"])
    batch = [
        saver.encode_step(at(), first, {"step": 0}),
        saver.encode_writes(at(checkpoint_id=first.id), [("log", ["second"])], "t", "~1"),
        saver.encode_step(at(), second, {"step": 1}),
    ]
    saver.store(batch, durable=True)
    assert saver.get_tuple(at()).checkpoint["channel_values"]["log"] == ["x" * 300, "second"]
    assert saver.get_tuple(at(checkpoint_id=first.id)).pending_writes == [("t", "log", ["second"])]


# ---- faults of values


def test_a_value_that_cannot_be_stored_names_its_channel(saver: Face) -> None:
    log = [{"n": i, "text": "entry " * 10} for i in range(20)]
    first = a_step(None, log=log)
    saver.put_step(at(), first, {"step": 0})
    bad = a_step(first.id, log=[*log, "new"], broken=open_handle())
    with pytest.raises(NotStorableError, match="'broken'"):
        saver.put_step(at(), bad, {"step": 1})
    good = a_step(first.id, log=[*log, "good"])
    saver.put_step(at(), good, {"step": 1})
    assert saver.get_tuple(at()).checkpoint["channel_values"]["log"] == [*log, "good"]


def test_a_write_that_cannot_be_stored_names_its_channel(saver: Face) -> None:
    config = put(saver, at(), a=1)
    with pytest.raises(NotStorableError, match="'broken'"):
        saver.put_writes(config, [("broken", open_handle())], "t")


def open_handle() -> Any:
    return (i for i in range(3))


# ---- keeping house


def a_history(saver: Face, thread: str = "1", namespace: str = "", count: int = 6) -> list[str]:
    log: list[Any] = []
    parent, ids = None, []
    for i in range(count):
        new = [{"n": i, "text": "entry " * 20}]
        log = log + new
        step = a_step(parent, run=f"run-{i // 2}", log=log, i=i)
        if parent is not None:
            step.writes = [(f"task-{i}", "~1", [("log", new)])]
        saver.put_step(at(thread, namespace), step, {"source": "loop", "step": i})
        parent = step.id
        ids.append(step.id)
    return ids


def test_deleting_a_thread_deletes_all_levels(saver: Face) -> None:
    for thread, namespace in (("1", ""), ("1", "child:a"), ("1", "child:a|b:c"), ("2", "")):
        config = put(saver, at(thread, namespace), a=1)
        saver.put_writes(config, [("a", 1)], "t")
    saver.delete_thread("1")
    assert [t.config["configurable"]["thread_id"] for t in saver.list(None)] == ["2"]
    assert saver.get_tuple(at("2")).pending_writes == [("t", "a", 1)]
    saver.delete_thread("unknown")


def test_a_deleted_thread_can_begin_again(saver: Face) -> None:
    a_history(saver)
    saver.delete_thread("1")
    ids = a_history(saver, count=3)
    assert [t.checkpoint["id"] for t in saver.list(at())] == ids[::-1]
    assert saver.get_tuple(at(checkpoint_id=ids[0])).pending_writes[0][0] == "task-1"


def test_pruning_keeps_the_newest_of_each_namespace(saver: Face) -> None:
    a_history(saver)
    a_history(saver, "1", "child")
    a_history(saver, "2")
    before = saver.get_tuple(at())
    saver.put_writes(before.config, [("log", [*before.checkpoint["channel_values"]["log"], "more"])], "t")
    saver.prune(["1"])
    found = saver.get_tuple(at())
    assert (found.checkpoint, found.metadata, found.parent_config) == (
        before.checkpoint,
        before.metadata,
        None,
    )
    assert found.pending_writes[0][2][-1] == "more"
    assert steps(saver.list({"configurable": {"thread_id": "1"}})) == [5, 5]
    assert len(list(saver.list(at("2")))) == 6


def test_work_goes_on_after_pruning(saver: Face) -> None:
    ids = a_history(saver, count=20)
    saver.prune(["1"])
    values = saver.get_tuple(at()).checkpoint["channel_values"]
    step = a_step(ids[-1], ids[-1], log=[*values["log"], "after"])
    saver.put_step(at(), step, {"step": 20})
    assert len(saver.get_tuple(at()).checkpoint["channel_values"]["log"]) == 21
    assert steps(saver.list(at())) == [20, 19]


def test_pruning_may_delete_all_or_only_some_namespaces(saver: Face) -> None:
    for namespace in ("", "child"):
        a_history(saver, "1", namespace)
    saver.prune(["1"], strategy="delete", namespaces=["child"])
    assert (len(list(saver.list(at()))), len(list(saver.list(at("1", "child"))))) == (6, 0)
    saver.prune(["1"], strategy="delete")
    assert list(saver.list(None)) == []


def test_pruning_by_age_keeps_what_is_younger(saver: Face) -> None:
    ids = a_history(saver)
    old = a_checkpoint(a=1)
    old["id"], old["ts"] = "0", "2020-01-01T00:00:00+00:00"
    saver.put(at(), old, {"step": -1}, {"a": 1})
    saver.prune(["1"], older_than=3600)
    assert [t.checkpoint["id"] for t in saver.list(at())] == ids[::-1]
    saver.prune(["1"], strategy="delete", older_than=-3600)
    assert list(saver.list(at())) == []


def test_an_unknown_strategy_is_refused(saver: Face) -> None:
    with pytest.raises(ValueError, match="keep_latest"):
        saver.prune(["1"], strategy="some")


def test_deleting_runs_keeps_the_checkpoints_of_others_as_they_are(saver: Face) -> None:
    ids = a_history(saver)
    before = {t.checkpoint["id"]: t for t in saver.list(at())}
    saver.delete_for_runs(["run-0", "run-1"])
    found = list(saver.list(at()))
    assert [t.checkpoint["id"] for t in found] == [ids[5], ids[4]]
    assert all(t.checkpoint == before[t.checkpoint["id"]].checkpoint for t in found)
    assert [t.parent_config for t in found] == [at(checkpoint_id=ids[4]), None]
    assert found[1].pending_writes == before[ids[4]].pending_writes
    saver.delete_for_runs(["run-2"])
    assert list(saver.list(None)) == []


def test_deleting_runs_in_between_links_the_rest(saver: Face) -> None:
    ids = a_history(saver)
    before = {t.checkpoint["id"]: t for t in saver.list(at())}
    saver.delete_for_runs(["run-1"])
    found = list(saver.list(at()))
    assert [t.checkpoint["id"] for t in found] == [ids[5], ids[4], ids[1], ids[0]]
    assert all(t.checkpoint == before[t.checkpoint["id"]].checkpoint for t in found)
    assert found[1].parent_config == at(checkpoint_id=ids[1])
    assert found[2].pending_writes == []
    assert found[3].pending_writes == before[ids[0]].pending_writes


def test_a_copied_thread_is_a_thread_of_its_own(saver: Face) -> None:
    a_history(saver)
    put(saver, at("1", "child"), a=1)
    saver.put_writes(saver.get_tuple(at()).config, [("log", ["pending"])], "t")
    saver.copy_thread("1", "2")
    saver.delete_thread("1")
    found = saver.get_tuple(at("2"))
    assert [x["n"] for x in found.checkpoint["channel_values"]["log"]] == list(range(6))
    assert found.parent_config["configurable"]["thread_id"] == "2"
    assert found.pending_writes == [("t", "log", ["pending"])]
    assert len(list(saver.list({"configurable": {"thread_id": "2"}}))) == 7


def test_a_thread_is_not_copied_over_another(saver: Face) -> None:
    put(saver, at("1"), a=1)
    put(saver, at("2"), a=2)
    with pytest.raises(ValueError, match="'2' has checkpoints"):
        saver.copy_thread("1", "2")
    assert saver.get_tuple(at("2")).checkpoint["channel_values"] == {"a": 2}


def test_histories_fork(saver: Face) -> None:
    ids = a_history(saver)
    loaded = saver.get_tuple(at(checkpoint_id=ids[2])).checkpoint["channel_values"]
    fork = a_step(ids[2], log=[*loaded["log"], "fork"])
    saver.put_step(at(), fork, {"source": "fork", "step": 3})
    again = saver.get_tuple(at(checkpoint_id=fork.id)).checkpoint["channel_values"]
    assert [x if x == "fork" else x["n"] for x in again["log"]] == [0, 1, 2, "fork"]
    assert len(saver.get_tuple(at(checkpoint_id=ids[5])).checkpoint["channel_values"]["log"]) == 6


def test_a_checkpoint_keeps_the_number_of_its_form(saver: Face) -> None:
    config = at()
    for form in (1, 4, 1):
        checkpoint = {**a_checkpoint(x=form), "v": form}
        config = saver.put(config, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {"x": 1})
        assert saver.get_tuple(config).checkpoint["v"] == form
    assert [found.checkpoint["v"] for found in saver.list(at())] == [1, 4, 1]
    assert [found.checkpoint["ts"] != "" for found in saver.list(at())] == [True, True, True]
    saver.prune(["1"])
    assert [found.checkpoint["v"] for found in saver.list(at())] == [1]
