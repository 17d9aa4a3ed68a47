"""Checks of `put_writes`: what tasks wrote that no checkpoint has folded yet."""

from __future__ import annotations

from stepgraph.testing.saver_checks.trial import Call, Steps, Trial, check


def writes_come_back(t: Trial) -> Steps:
    """`pending_writes` has each write as task, channel and value; those of one task in their order."""
    config = yield t.put(t.at(), a=1)
    yield Call("put_writes", (config, [("x", 1), ("y", [{"deep": (2,)}]), ("x", None)], "task-1", "~1"))
    got = t.found((yield t.get(config)), "The checkpoint")
    wanted = [("task-1", "x", 1), ("task-1", "y", [{"deep": (2,)}]), ("task-1", "x", None)]
    t.same([tuple(write) for write in got.pending_writes or ()], wanted, "The pending writes")


def writes_of_all_tasks_come_back(t: Trial) -> Steps:
    """Writes of several tasks are all kept."""
    config = yield t.put(t.at(), a=1)
    for number in range(12):
        yield Call("put_writes", (config, [("x", number)], f"task-{number:02}", f"~{number}"))
    got = t.found((yield t.get(config)), "The checkpoint")
    wanted = [(f"task-{number:02}", "x", number) for number in range(12)]
    t.same(sorted(tuple(write) for write in got.pending_writes or ()), wanted, "The pending writes")


def a_task_is_stored_once(t: Trial) -> Steps:
    """Storing the writes of a task again changes nothing: not their number, not their values."""
    config = yield t.put(t.at(), a=1)
    for value in (1, 1, 2):
        yield Call("put_writes", (config, [("x", value), ("y", value)], "task-1"))
    got = t.found((yield t.get(config)), "The checkpoint")
    wanted = [("task-1", "x", 1), ("task-1", "y", 1)]
    t.same([tuple(write) for write in got.pending_writes or ()], wanted, "The pending writes")


def answers_replace_answers(t: Trial) -> Steps:
    """Special writes (of `WRITES_IDX_MAP`: errors, interrupts, answers) replace the ones of their kind and task."""
    config = yield t.put(t.at(), a=1)
    for answers in (["yes"], ["yes", "no"]):
        yield Call("put_writes", (config, [("__resume__", answers)], "task-1"))
    got = t.found((yield t.get(config)), "The checkpoint")
    wanted = [("task-1", "__resume__", ["yes", "no"])]
    t.same([tuple(write) for write in got.pending_writes or ()], wanted, "The pending writes")


def special_and_ordinary_writes_stand_side_by_side(t: Trial) -> Steps:
    """A task's error, question and ordinary writes do not push each other out."""
    config = yield t.put(t.at(), a=1)
    yield Call("put_writes", (config, [("x", 1)], "task-1"))
    yield Call("put_writes", (config, [("__interrupt__", "sure?")], "task-1"))
    yield Call("put_writes", (config, [("__error__", "boom")], "task-2"))
    got = t.found((yield t.get(config)), "The checkpoint")
    wanted = [("task-1", "__interrupt__", "sure?"), ("task-1", "x", 1), ("task-2", "__error__", "boom")]
    t.same(sorted(tuple(write) for write in got.pending_writes or ()), wanted, "The pending writes")


def writes_belong_to_their_checkpoint(t: Trial) -> Steps:
    """Pending writes are those of one checkpoint, in one namespace, of one thread."""
    first = yield t.put(t.at(), a=1)
    child = yield t.put(t.at("child"), a=1)
    yield Call("put_writes", (first, [("x", "first")], "task-1"))
    yield Call("put_writes", (child, [("x", "child")], "task-1"))
    second = yield t.put(first, a=2)
    for config, wanted in ((first, ["first"]), (child, ["child"]), (second, [])):
        got = t.found((yield t.get(config)), "A checkpoint")
        t.same([write[2] for write in got.pending_writes or ()], wanted, "Its pending writes")


def writes_are_shown_in_lists(t: Trial) -> Steps:
    """`list` gives checkpoints with their pending writes."""
    config = yield t.put(t.at(), a=1)
    yield Call("put_writes", (config, [("x", 1)], "task-1"))
    got = yield t.list(t.at())
    t.same(
        [[tuple(w) for w in one.pending_writes or ()] for one in got], [[("task-1", "x", 1)]], "The writes"
    )


CHECKS = tuple(
    check("base", steps)
    for steps in (
        writes_come_back,
        writes_of_all_tasks_come_back,
        a_task_is_stored_once,
        answers_replace_answers,
        special_and_ordinary_writes_stand_side_by_side,
        writes_belong_to_their_checkpoint,
        writes_are_shown_in_lists,
    )
)
