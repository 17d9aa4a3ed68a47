"""Checks of `delete_thread`, `copy_thread`, `prune` and `delete_for_runs`."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from typing import Any

from stepgraph.testing.saver_checks.trial import Call, Steps, Trial, check, id_of

LEVELS = ("", "child:1")


def _grow(t: Trial, thread: str) -> Generator[Any, Any, dict[str, list[dict[str, Any]]]]:
    """Three checkpoints a level, each the last one's list and one more, the newest with a pending write."""
    made: dict[str, list[dict[str, Any]]] = {}
    for namespace in LEVELS:
        config = t.at(namespace, thread_id=thread)
        log: list[Any] = []
        made[namespace] = []
        for step in range(3):
            log = [*log, {"step": step, "text": "entry " * 20}]
            call = t.put(config, str(step), step=step, log=log, kept="same")
            call.args[1]["channel_versions"]["kept"] = "0"
            new = {"log": str(step)} if step else {"log": "0", "kept": "0"}
            config = yield call._replace(args=(*call.args[:3], new))
            made[namespace].append(config)
        yield Call("put_writes", (config, [("log", ["pending"])], "task-1"))
    return made


def _steps(t: Trial, thread: str, namespace: str) -> Generator[Any, Any, list[int]]:
    found = yield t.list(t.at(namespace, thread_id=thread))
    return [item.metadata["step"] for item in found]


def _whole(t: Trial, config: dict[str, Any], size: int, what: str) -> Steps:
    """The checkpoint is as `_grow` made it."""
    got = t.found((yield t.get(config)), what)
    values = got.checkpoint["channel_values"]
    log = [{"step": step, "text": "entry " * 20} for step in range(size)]
    t.same(values, {"log": log, "kept": "same"}, f"{what}: its values")
    pending = [("task-1", "log", ["pending"])] if size == 3 else []
    t.same([tuple(write) for write in got.pending_writes or ()], pending, f"{what}: its pending writes")


def a_deleted_thread_is_gone_at_every_level(t: Trial) -> Steps:
    """`delete_thread` deletes checkpoints and writes of all namespaces, of that thread only."""
    made = yield from _grow(t, t.thread)
    other = yield from _grow(t, t.other())
    yield Call("delete_thread", (t.thread,))
    for namespace in LEVELS:
        t.same((yield t.get(t.at(namespace))), None, f"The newest of namespace {namespace!r}")
        t.same((yield t.get(made[namespace][0])), None, f"A checkpoint of namespace {namespace!r}")
        yield from _whole(t, other[namespace][2], 3, "The newest of another thread")
    t.same((yield t.list({"configurable": {"thread_id": t.thread}})), [], "The list")


def a_deleted_thread_may_begin_again(t: Trial) -> Steps:
    """After `delete_thread` the thread is like one that never was: nothing comes back. Deleting what is not there is fine."""
    yield Call("delete_thread", (t.thread,))
    call = t.put(t.at(), a=1)
    config = yield call
    yield Call("put_writes", (config, [("x", 1)], "task-1"))
    yield Call("delete_thread", (t.thread,))
    yield call
    got = t.found((yield t.get(t.at())), "The checkpoint that was put afterwards")
    t.same(got.checkpoint["channel_values"], {"a": 1}, "Its values")
    t.same([tuple(write) for write in got.pending_writes or ()], [], "Its pending writes")


def a_copy_has_everything(t: Trial) -> Steps:
    """`copy_thread` copies every namespace: ids, values, metadata, parents and pending writes."""
    made = yield from _grow(t, t.thread)
    yield Call("copy_thread", (t.thread, t.other()))
    for namespace in LEVELS:
        before = yield t.list(t.at(namespace))
        after = yield t.list(t.at(namespace, thread_id=t.other()))
        t.same([id_of(item.config) for item in after], [id_of(item.config) for item in before], "The ids")
        t.same([item.metadata for item in after], [item.metadata for item in before], "The metadata")
        for size, config in enumerate(made[namespace], 1):
            place = t.at(namespace, id_of(config), thread_id=t.other())
            yield from _whole(t, place, size, "A copied checkpoint")
            parent = t.found((yield t.get(place)), "A copied checkpoint").parent_config
            owner = parent["configurable"]["thread_id"] if parent else None
            t.same(owner, t.other() if size > 1 else None, "The thread of a copied checkpoint's parent")


def a_copy_is_a_thread_of_its_own(t: Trial) -> Steps:
    """After `copy_thread` what is done to one thread does not show in the other."""
    made = yield from _grow(t, t.thread)
    yield Call("copy_thread", (t.thread, t.other()))
    yield t.put(t.at(thread_id=t.other()), "9", step=9, a=1)
    yield from _whole(t, t.at(), 3, "The newest of the source")
    yield Call("delete_thread", (t.thread,))
    copied = t.at(checkpoint_id=id_of(made[""][2]), thread_id=t.other())
    yield from _whole(t, copied, 3, "A copied checkpoint after its source was deleted")


def pruning_keeps_the_newest_of_each_level(t: Trial) -> Steps:
    """`prune` keeps the newest checkpoint of each namespace, whole and with its writes, and leaves other threads alone."""
    made = yield from _grow(t, t.thread)
    other = yield from _grow(t, t.other())
    yield Call("prune", ([t.thread],))
    for namespace in LEVELS:
        t.same((yield from _steps(t, t.thread, namespace)), [2], "The steps that are left")
        yield from _whole(t, made[namespace][2], 3, "The newest checkpoint")
        t.same((yield from _steps(t, t.other(), namespace)), [2, 1, 0], "The steps of another thread")
        yield from _whole(t, other[namespace][0], 1, "The oldest checkpoint of another thread")


def pruning_may_keep_nothing(t: Trial) -> Steps:
    """`prune(strategy="delete")` deletes all of the threads it names, and nothing of others."""
    yield from _grow(t, t.thread)
    yield from _grow(t, t.other())
    other = yield from _grow(t, t.other("third"))
    yield Call("prune", ([t.thread, t.other()],), {"strategy": "delete"})
    for thread in (t.thread, t.other()):
        t.same((yield t.list({"configurable": {"thread_id": thread}})), [], "The list of a pruned thread")
    yield from _whole(t, other[""][2], 3, "The newest checkpoint of another thread")


def work_goes_on_after_pruning(t: Trial) -> Steps:
    """A checkpoint that is put after `prune`, with the newest as its parent, is read whole."""
    made = yield from _grow(t, t.thread)
    yield Call("prune", ([t.thread],))
    call = t.put(made[""][2], "3", step=3, log=["new"], kept="same")
    call.args[1]["channel_versions"]["kept"] = "0"
    config = yield call._replace(args=(*call.args[:3], {"log": "3"}))
    values = yield from t.values(config, "The checkpoint after pruning")
    t.same(values, {"log": ["new"], "kept": "same"}, "Its values")


def pruning_by_age_keeps_what_is_younger(t: Trial) -> Steps:
    """`prune(older_than=...)` deletes only what is older: a time, a time span, or seconds."""
    made = yield from _grow(t, t.thread)
    long_ago = datetime.now(UTC) - timedelta(days=1)
    for older_than in (long_ago, timedelta(days=1), 86400.0):
        yield Call("prune", ([t.thread],), {"older_than": older_than})
        t.same((yield from _steps(t, t.thread, "")), [2, 1, 0], f"The steps with older_than={older_than!r}")
    yield Call("prune", ([t.thread],), {"older_than": datetime.now(UTC) + timedelta(hours=1)})
    t.same((yield from _steps(t, t.thread, "")), [2], "The steps after pruning what is older than in an hour")
    yield from _whole(t, made[""][2], 3, "The newest checkpoint")


def pruning_may_name_levels(t: Trial) -> Steps:
    """`prune(namespaces=...)` touches only these namespaces."""
    yield from _grow(t, t.thread)
    yield Call("prune", ([t.thread],), {"namespaces": ["child:1"]})
    t.same((yield from _steps(t, t.thread, "")), [2, 1, 0], "The steps of another namespace")
    t.same((yield from _steps(t, t.thread, "child:1")), [2], "The steps of the namespace that was named")


def _two_runs(t: Trial) -> Generator[Any, Any, tuple[list[dict[str, Any]], str, str]]:
    """Checkpoints of two runs in turn, each the last one's list and one more."""
    runs = (t.other("run-a"), t.other("run-b"))
    config, made = t.at(), []
    log: list[Any] = []
    for step in range(4):
        log = [*log, {"step": step, "text": "entry " * 20}]
        checkpoint = t.checkpoint(str(step), log=log)
        metadata = {"source": "loop", "step": step, "run_id": runs[step % 2]}
        config = yield Call("put", (config, checkpoint, metadata, {"log": str(step)}))
        made.append(config)
    return made, *runs


def runs_are_deleted(t: Trial) -> Steps:
    """`delete_for_runs` deletes the checkpoints whose metadata names one of these runs, and no others."""
    _, first, second = yield from _two_runs(t)
    yield Call("delete_for_runs", ([first, t.other("unknown")],))
    t.same((yield from _steps(t, t.thread, "")), [3, 1], "The steps that are left")
    yield Call("delete_for_runs", ([second],))
    t.same((yield from _steps(t, t.thread, "")), [], "The steps that are left of both runs")


def what_other_runs_made_stays_whole(t: Trial) -> Steps:
    """After `delete_for_runs` the checkpoints of other runs are read as before."""
    made, first, _ = yield from _two_runs(t)
    yield Call("delete_for_runs", ([first],))
    for step in (1, 3):
        values = yield from t.values(made[step], f"Checkpoint {step} of the run that was kept")
        wanted = [{"step": number, "text": "entry " * 20} for number in range(step + 1)]
        t.same(values, {"log": wanted}, f"The values of checkpoint {step}")


CHECKS = (
    check("delete_thread", a_deleted_thread_is_gone_at_every_level),
    check("delete_thread", a_deleted_thread_may_begin_again),
    check("copy_thread", a_copy_has_everything),
    check("copy_thread", a_copy_is_a_thread_of_its_own),
    check("prune", pruning_keeps_the_newest_of_each_level),
    check("prune", pruning_may_keep_nothing),
    check("prune", work_goes_on_after_pruning),
    check("prune_by_age", pruning_by_age_keeps_what_is_younger),
    check("prune_namespaces", pruning_may_name_levels),
    check("delete_for_runs", runs_are_deleted),
    check("delete_for_runs", what_other_runs_made_stays_whole),
)
