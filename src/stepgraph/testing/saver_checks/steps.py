"""Checks of `put_step` and of storing in two halves (`encode_step`, `encode_writes`, `store`), as the engine does it."""

from __future__ import annotations

from typing import Any

from stepgraph.checkpoint.changes import StepChanges, add_returned
from stepgraph.checkpoint.ids import next_checkpoint_id
from stepgraph.errors import ThreadBusyError
from stepgraph.testing.saver_checks.trial import Call, Steps, Trial, check, id_of
from stepgraph.values.missing import MISSING


def _step(parent: str | None, /, head: Any = MISSING, **values: Any) -> StepChanges:
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
    )


def _put(t: Trial, changes: StepChanges, step: int = 0) -> Call:
    return Call("put_step", (t.at(), changes, {"source": "loop", "step": step, "parents": {}}))


def a_step_is_a_difference(t: Trial) -> Steps:
    """A checkpoint made by `put_step` has the changed channels' values and its parent's others, whatever order is read."""
    log: list[Any] = []
    parent, configs = None, []
    for number in range(40):
        log = [*log, {"number": number, "text": "entry " * 10}]
        changes = _step(parent, log=log, **({"kept": "same"} if parent is None else {}))
        yield _put(t, changes, number)
        parent = changes.id
        configs.append(t.at(checkpoint_id=changes.id))
    for number in (39, 0, 20, 38, 1):
        values = yield from t.values(configs[number], f"Checkpoint {number}")
        t.same(values, {"log": log[: number + 1], "kept": "same"}, f"The values of checkpoint {number}")


def a_step_may_clear_a_channel(t: Trial) -> Steps:
    """A channel with a version and no value in the changes holds nothing from then on."""
    first = _step(None, a=1, b=2)
    yield _put(t, first)
    second = _step(first.id, a=3)
    second.versions["b"] = second.id
    yield _put(t, second)
    t.same((yield from t.values(t.at(), "The second checkpoint")), {"a": 3}, "Its values")


def a_step_brings_the_writes_of_its_tasks(t: Trial) -> Steps:
    """`changes.writes` become the pending writes of the checkpoint that the step differs from."""
    first = _step(None, log=["a"])
    yield _put(t, first)
    second = _step(first.id, log=["a", "b"], other=1)
    second.writes = [("task-1", "~1", [("log", ["b"])]), ("task-2", "~2", [("other", 1)])]
    yield _put(t, second, 1)
    got = t.found((yield t.get(t.at(checkpoint_id=first.id))), "The first checkpoint")
    wanted = [("task-1", "log", ["b"]), ("task-2", "other", 1)]
    t.same([tuple(write) for write in got.pending_writes or ()], wanted, "The pending writes of the first")
    got = t.found((yield t.get(t.at())), "The second checkpoint")
    t.same([tuple(write) for write in got.pending_writes or ()], [], "The pending writes of the second")


def returned_objects_may_have_changed_in_place(t: Trial) -> Steps:
    """An object that `changes.returned` names is stored as it is now, although it is the very object stored before."""
    entries = [{"number": number, "text": "entry " * 10} for number in range(20)]
    first = _step(None, log=entries)
    yield _put(t, first)
    entries[3]["text"] = "edited"
    second = _step(first.id, log=list(entries))
    add_returned(second.returned, [entries[3]])  # type: ignore[arg-type]
    yield _put(t, second, 1)
    values = yield from t.values(t.at(), "The second checkpoint")
    t.same(values["log"][3]["text"], "edited", "An element that was changed in place and returned")
    before = yield from t.values(t.at(checkpoint_id=first.id), "The first checkpoint")
    t.same(before["log"][3]["text"], "entry " * 10, "The same element in the checkpoint before")


def both_ways_of_storing_mix(t: Trial) -> Steps:
    """`put` may go on from a checkpoint of `put_step`, and the other way round."""
    log = [{"number": number, "text": "entry " * 10} for number in range(30)]
    first = _step(None, log=log)
    yield _put(t, first)
    made = t.put(t.at(checkpoint_id=first.id), "x", step=1, log=[*log, "second"])
    second = yield made
    third = _step(id_of(second), log=[*log, "second", "third"])
    yield _put(t, third, 2)
    found = yield t.list(t.at())
    tails = [item.checkpoint["channel_values"]["log"][30:] for item in found]
    t.same(tails, [["second", "third"], ["second"], []], "The ends of the lists, newest first")


def what_is_encoded_cannot_change(t: Trial) -> Steps:
    """A value that changes between `encode_step` and `store` is stored as it was when it was encoded."""
    value = {"text": "as it was"}
    metadata = {"source": "loop", "step": 0, "parents": {}}
    encoded = t.saver.encode_step(t.at(), _step(None, a=value), metadata)
    value["text"] = "changed"
    yield Call("store", ([encoded],), {"durable": True})
    values = yield from t.values(t.at(), "The checkpoint")
    t.same(values["a"], {"text": "as it was"}, "The value")


def a_batch_is_stored_in_order(t: Trial) -> Steps:
    """`store` takes several steps and writes at once; each may go on from the one before."""
    metadata = {"source": "loop", "step": 0, "parents": {}}
    first = _step(None, log=["a"])
    second = _step(first.id, log=["a", "b"])
    batch = [
        t.saver.encode_step(t.at(), first, metadata),
        t.saver.encode_writes(t.at(checkpoint_id=first.id), [("log", ["b"])], "task-1"),
        t.saver.encode_step(t.at(), second, {**metadata, "step": 1}),
    ]
    yield Call("store", (batch,), {"durable": False})
    found = yield t.list(t.at())
    t.same([item.metadata["step"] for item in found], [1, 0], "The steps")
    t.same(found[0].checkpoint["channel_values"], {"log": ["a", "b"]}, "The newest values")
    t.same([tuple(w) for w in found[1].pending_writes], [("task-1", "log", ["b"])], "The pending writes")


def a_batch_is_stored_as_a_whole_or_not_at_all(t: Trial) -> Steps:
    """If a step of a batch is refused, nothing of the batch is stored."""
    metadata = {"source": "loop", "step": 0, "parents": {}}
    yield t.put(t.at("other"), a=1)
    good = t.saver.encode_step(t.at(), _step(None, a=1), metadata)
    bad = t.saver.encode_step(t.at("other"), _step(None, head=None, a=2), metadata)
    call = Call("store", ([good, bad],), {"durable": True})
    yield from t.refused(call, ThreadBusyError, what="A batch with a step that expects another head")
    t.same((yield t.get(t.at())), None, "What is stored of the first step")


CHECKS = tuple(
    check("put_step", steps)
    for steps in (
        a_step_is_a_difference,
        a_step_may_clear_a_channel,
        a_step_brings_the_writes_of_its_tasks,
        returned_objects_may_have_changed_in_place,
        both_ways_of_storing_mix,
        what_is_encoded_cannot_change,
        a_batch_is_stored_in_order,
        a_batch_is_stored_as_a_whole_or_not_at_all,
    )
)
