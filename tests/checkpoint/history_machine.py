"""A person's work on one thread, step by step, beside a model that stores every checkpoint whole.

The machine writes steps the way the engine does: with live objects, some of which nodes changed in place and returned.
After every rule it reads a checkpoint back, and at the end all of them. Rules of the game: an object that was stored is
changed in place only if the step returns it.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from stepgraph.checkpoint.base import CheckpointTuple
from stepgraph.checkpoint.changes import StepChanges, add_returned
from stepgraph.checkpoint.growth import frames, mappings, tracker
from stepgraph.checkpoint.ids import next_checkpoint_id
from stepgraph.checkpoint.step_saver import StepSaver
from stepgraph.values.missing import MISSING

THREAD = "t"


@dataclass
class Expected:
    """A checkpoint as it must come back."""

    id: str
    parent: str | None
    run_id: str | None
    values: dict[str, Any]
    versions: dict[str, Any]
    seen: dict[str, dict[str, Any]]
    updated: list[str]
    metadata: dict[str, Any]
    writes: list[tuple[str, int, str, str, Any]] = field(default_factory=list)


def same(a: Any, b: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(same, a, b)) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


KEYS: list[Any] = ["a", "b", "c", "d", 1, ("p", 2)]


def an_item(rng: Random) -> Any:
    """Something to put into a list or dict."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice([None, True, False, 1.0, 0, 1, 2, -5])
    if kind == 1:
        return "".join(rng.choices("abc ", k=rng.randrange(60)))
    if kind == 2:
        return [rng.randrange(5) for _ in range(rng.randrange(4))]
    return {"id": rng.randrange(50), "text": "".join(rng.choices("xyz ", k=rng.randrange(5, 80)))}


def several(rng: Random) -> list[Any]:
    return [an_item(rng) for _ in range(rng.randrange(1, 6))]


def fresh(value: Any) -> Any:
    """A value whose objects are nobody else's."""
    return deepcopy(value)


ACTIONS = [
    "append",
    "prepend",
    "append_and_cap",
    "replace_one",
    "edit_in_place",
    "edit_behind_new_ones",
    "edit_and_cap",
    "return_untouched",
    "remove_some",
    "reorder",
    "overwrite",
    "return_whole_list",
    "merge_key",
    "merge_many_keys",
    "set_key_again",
    "drop_key",
    "move_key_to_end",
    "edit_value_in_place",
    "grow_inner_list",
    "set_inner_key",
    "write_text",
    "set_plain",
    "clear_plain",
]
"""What nodes do; each example has some of them."""


USUAL: dict[Any, dict[str, int]] = {
    tracker: {name: getattr(tracker, name) for name in ("SPAN", "MERGED_SPAN", "WORTH_TRACKING", "CHEAP")},
    frames: {"KEY_EVERY": frames.KEY_EVERY},
    mappings: {"WORTH_FOLLOWING": mappings.WORTH_FOLLOWING},
}
"""What decides when a difference is merged, a value stored whole, a record complete."""


class HistoryMachine(RuleBasedStateMachine):
    """Subclasses say which saver."""

    def make_saver(self) -> StepSaver:
        """The saver of a first process."""
        raise NotImplementedError

    def reopen(self, saver: StepSaver) -> StepSaver:
        """The saver of another process over the same data."""
        raise NotImplementedError

    # ---- the run at work

    @initialize(span=st.sampled_from([2, 3, 4, 16]), cheap=st.sampled_from([300, 3000, 100_000]))
    def set_limits(self, span: int, cheap: int) -> None:
        """Let merged differences, complete records and whole values come sooner than usual."""
        sooner = {
            "SPAN": span,
            "MERGED_SPAN": span + 1,
            "WORTH_TRACKING": 20,
            "CHEAP": cheap,
            "KEY_EVERY": span + 1,
            "WORTH_FOLLOWING": 2,
        }
        for module, limits in USUAL.items():
            for name in limits:
                setattr(module, name, sooner[name])

    @initialize(
        size=st.integers(0, 30),
        chosen=st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=4, unique=True),
    )
    def begin(self, size: int, chosen: list[str]) -> None:
        self.chosen = chosen
        self.saver = self.make_saver()
        self.expected: dict[str, Expected] = {}
        self.state: dict[str, Any] = {}
        self.versions: dict[str, Any] = {}
        self.seen: dict[str, dict[str, Any]] = {}
        self.head: str | None = None
        self.run_id = "run-0"
        self.runs = 0
        self.steps = 0
        self.clear()
        if size:
            self.pending["log"] = [{"n": i, "text": "some text " * 4} for i in range(size)]
            self.pending["whole"] = [{"n": i, "text": "some text " * 4} for i in range(size)]
            self.flush(False)

    def clear(self) -> None:
        self.pending: dict[str, Any] = {}
        self.pending_writes: list[tuple[str, str, list[tuple[str, Any]]]] = []
        self.returned: set[int] | None = set()

    def config(self, checkpoint_id: str | None = None) -> dict[str, Any]:
        where = {"thread_id": THREAD, "checkpoint_ns": ""}
        return {"configurable": where if checkpoint_id is None else {**where, "checkpoint_id": checkpoint_id}}

    def note(self, channel: str, value: Any, wrote: Any, by_task: bool = True) -> None:
        """A node wrote `wrote` to a channel, which now holds `value`."""
        self.pending[channel] = value
        if self.returned is not None:
            add_returned(self.returned, wrote)
        if by_task:
            self.pending_writes.append(
                (f"task-{self.runs}-{len(self.pending_writes)}", "~path", [(channel, wrote)])
            )

    def current(self, channel: str, default: Any) -> Any:
        if channel in self.pending:
            return self.pending[channel]
        return self.state.get(channel, default)

    # ---- what nodes do

    def append(self, rng: Random) -> None:
        new = several(rng)
        wrote = fresh(new)
        self.note("log", self.current("log", []) + wrote, wrote)

    def prepend(self, rng: Random) -> None:
        new = several(rng)
        wrote = fresh(new)
        self.note("front", wrote + self.current("front", []), wrote)

    def append_and_cap(self, rng: Random) -> None:
        new = several(rng)
        size = rng.randint(1, 25)
        wrote = fresh(new)
        self.note("window", (self.current("window", []) + wrote)[-size:], wrote)

    def replace_one(self, rng: Random) -> None:
        new = an_item(rng)
        now = list(self.current("log", []))
        wrote = fresh(new)
        if now:
            now[rng.randint(0, len(now) - 1)] = wrote
        else:
            now = [wrote]
        self.note("log", now, [wrote])

    def edit_in_place(self, rng: Random) -> None:
        """A node changes elements that are stored already, and returns them."""
        now = self.current("log", [])
        dicts = [x for x in now if type(x) is dict]
        if not dicts:
            return
        chosen = rng.sample(range(len(dicts)), min(len(dicts), rng.randint(1, 3)))
        for i in chosen:
            dicts[i]["text"] = rng.choice([f"edited {self.steps} {i}", "on", "off"])
        self.note("log", list(now), [dicts[i] for i in chosen])

    def edit_behind_new_ones(self, rng: Random) -> None:
        """Elements are put in front, and one behind them is changed in place."""
        now, wrote = self.current("front", []), several(rng)
        dicts = [x for x in now if type(x) is dict]
        if dicts:
            dicts[-1]["text"] = rng.choice(["on", "off"])
            self.note("front", list(now), dicts[-1:])
        self.note("front", wrote + now, wrote)

    def edit_and_cap(self, rng: Random) -> None:
        """A capped list loses its front, and an element that is kept is changed in place."""
        now, wrote = self.current("window", []), several(rng)
        dicts = [x for x in now if type(x) is dict]
        if dicts:
            dicts[-1]["text"] = rng.choice(["on", "off"])
        self.note("window", (now + wrote)[-20:], [*dicts[-1:], *wrote])

    def set_key_again(self, rng: Random) -> None:
        """A key is given another object, of a content that it had before."""
        wrote = {rng.choice(["a", "b"]): {"text": rng.choice(["on", "off"])}}
        self.note("table", {**self.current("table", {}), **wrote}, wrote)

    def return_untouched(self, rng: Random) -> None:
        now = self.current("log", [])
        if now:
            self.note("log", list(now), [now[rng.randint(0, len(now) - 1)]])

    def remove_some(self, rng: Random) -> None:
        now = list(self.current("log", []))
        for _ in range(min(len(now), rng.randint(1, 3))):
            del now[rng.randint(0, len(now) - 1)]
        self.note("log", now, ["removal"])

    def reorder(self, rng: Random) -> None:
        now = list(self.current("log", []))
        self.note("log", rng.sample(now, len(now)), ["reorder"])

    def overwrite(self, rng: Random) -> None:
        new = several(rng)
        wrote = fresh(new)
        self.note("log", wrote, wrote)

    def return_whole_list(self, rng: Random) -> None:
        """A plain field whose list a node returns as a whole, one longer, maybe with an element changed in place."""
        new = an_item(rng)
        edit = rng.random() < 0.5
        now = list(self.current("whole", []))
        if edit and now and type(now[0]) is dict:
            now[0]["text"] = f"seen {self.steps}"
        now.append(fresh(new))
        self.note("whole", now, now)

    def merge_key(self, rng: Random) -> None:
        key = rng.choice(KEYS)
        new = an_item(rng)
        wrote = {key: fresh(new)}
        self.note("table", {**self.current("table", {}), **wrote}, wrote)

    def merge_many_keys(self, rng: Random) -> None:
        count = rng.randint(1, 20)
        wrote = {f"k{self.steps}-{i}": {"text": "value " * 5, "n": i} for i in range(count)}
        self.note("table", {**self.current("table", {}), **wrote}, wrote)

    def drop_key(self, rng: Random) -> None:
        now = dict(self.current("table", {}))
        if now:
            del now[rng.choice(list(now))]
        self.note("table", now, {})

    def move_key_to_end(self, rng: Random) -> None:
        now = dict(self.current("table", {}))
        if now:
            key = rng.choice(list(now))
            now[key] = now.pop(key)
        self.note("table", now, {})

    def edit_value_in_place(self, rng: Random) -> None:
        now = self.current("table", {})
        dicts = [k for k, v in now.items() if type(v) is dict]
        if dicts:
            key = rng.choice(dicts)
            now[key]["text"] = rng.choice([f"edited {self.steps}", "on", "off"])
            self.note("table", dict(now), {key: now[key]})

    def grow_inner_list(self, rng: Random) -> None:
        key = rng.choice(["x", "y"])
        new = several(rng)
        in_place = rng.random() < 0.5
        now = dict(self.current("nested", {}))
        wrote = fresh(new)
        if in_place and key in now:
            now[key] += wrote
        else:
            now[key] = now.get(key, []) + wrote
        self.note("nested", now, {key: now[key]})

    def set_inner_key(self, rng: Random) -> None:
        key = rng.choice(["x", "y"])
        inner = rng.choice(KEYS)
        new = an_item(rng)
        now = dict(self.current("deep", {}))
        now[key] = {**now.get(key, {}), inner: fresh(new)}
        self.note("deep", now, {key: now[key]})

    def write_text(self, rng: Random) -> None:
        more = "".join(rng.choices("mno", k=rng.randint(1, 100)))
        again = rng.random() < 0.5
        now = more * 5 if again else self.current("text", "") + more * 5
        self.note("text", now, now)

    def set_plain(self, rng: Random) -> None:
        value = an_item(rng) if rng.random() < 0.5 else ("t" * rng.randint(250, 252), rng.randint(0, 1))
        wrote = fresh(value)
        self.note("plain", wrote, wrote)

    def clear_plain(self, rng: Random) -> None:
        self.pending["plain"] = MISSING

    # ---- steps

    @rule(
        seed=st.integers(0, 1 << 30),
        count=st.integers(1, 15),
        separately=st.booleans(),
        numbered=st.booleans(),
    )
    def work(self, seed: int, count: int, separately: bool, numbered: bool) -> None:
        """Supersteps, each with a node or two that write."""
        rng = Random(seed)
        for _ in range(count):
            for _ in range(rng.randint(1, 2)):
                getattr(self, rng.choice(self.chosen))(rng)
            if separately and self.head is not None:
                self.put_writes_first()
            self.flush(numbered)

    @rule()
    def work_without_knowing_what_is_returned(self) -> None:
        """The step that comes next does not tell which objects may have been changed in place."""
        self.returned = None

    def put_writes_first(self) -> None:
        """The tasks' writes are stored before the step is folded."""
        assert self.head is not None
        for task_id, path, pairs in self.pending_writes:
            self.saver.put_writes(self.config(self.head), pairs, task_id, path)
            self.expect_writes(self.head, task_id, path, pairs)
        self.pending_writes = []

    def expect_writes(
        self, checkpoint_id: str, task_id: str, path: str, pairs: list[tuple[str, Any]]
    ) -> None:
        held = self.expected[checkpoint_id].writes
        known = {(task, index) for task, index, *_ in held}
        for index, (channel, value) in enumerate(pairs):
            if (task_id, index) not in known:
                held.append((task_id, index, path, channel, deepcopy(value)))

    def flush(self, numbered: bool) -> None:
        own = next_checkpoint_id()
        self.steps += 1
        versions = dict.fromkeys(self.pending, f"{self.steps:05}" if numbered else own)
        versions["branch:to:n"] = own
        values = {name: value for name, value in self.pending.items() if value is not MISSING}
        if self.steps % 2:
            values["branch:to:n"] = None
        for name in versions:
            self.state.pop(name, None)
        self.state.update(values)
        seen = {"n": dict(self.versions)}
        self.versions.update(versions)
        self.seen.update(seen)
        writes = self.pending_writes if self.head is not None else []
        metadata = {"source": "loop", "step": self.steps, "parents": {}}
        changes = StepChanges(
            id=own,
            parent_id=self.head,
            ts="2026-01-01T00:00:00+00:00",
            values=values,
            versions=versions,
            seen=seen,
            updated=sorted(versions),
            writes=writes,
            returned=self.returned,
            run_id=self.run_id,
        )
        self.saver.put_step(self.config(), changes, metadata)
        for task_id, path, pairs in writes:
            assert self.head is not None
            self.expect_writes(self.head, task_id, path, pairs)
        self.expect(own, self.head, metadata, sorted(versions))
        self.head = own
        self.clear()

    def expect(self, own: str, parent: str | None, metadata: dict[str, Any], updated: list[str]) -> None:
        self.expected[own] = Expected(
            own,
            parent,
            self.run_id,
            deepcopy(self.state),
            dict(self.versions),
            deepcopy(self.seen),
            updated,
            metadata,
        )

    @precondition(lambda self: self.head is not None)
    @rule()
    def put_whole(self) -> None:
        """The standard protocol, between steps of our own."""
        own = next_checkpoint_id()
        self.steps += 1
        new = dict.fromkeys(self.pending, own)
        for name in new:
            self.state.pop(name, None)
        self.state.update({name: value for name, value in self.pending.items() if value is not MISSING})
        self.versions.update(new)
        metadata = {"source": "update", "step": self.steps, "parents": {}, "run_id": self.run_id}
        checkpoint: Any = {
            "v": 2,
            "id": own,
            "ts": "2026-01-01T00:00:00+00:00",
            "channel_values": self.state,
            "channel_versions": self.versions,
            "versions_seen": self.seen,
            "updated_channels": sorted(new),
        }
        self.saver.put(self.config(self.head), checkpoint, metadata, new)  # type: ignore[arg-type]
        self.expect(own, self.head, metadata, sorted(new))
        self.head = own
        self.clear()

    # ---- runs

    def adopt(self, found: CheckpointTuple) -> None:
        self.state = found.checkpoint["channel_values"]
        self.versions = found.checkpoint["channel_versions"]
        self.seen = {node: dict(seen) for node, seen in found.checkpoint["versions_seen"].items()}
        self.head = found.checkpoint["id"]
        self.clear()
        self.runs += 1
        self.run_id = f"run-{self.runs}"

    @precondition(lambda self: self.expected)
    @rule()
    def run_again(self) -> None:
        self.adopt(self.read(max(self.expected)))

    @precondition(lambda self: self.expected)
    @rule(place=st.floats(0, 0.99))
    def fork(self, place: float) -> None:
        self.adopt(self.read(self.at_place(place)))

    def at_place(self, place: float) -> str:
        return sorted(self.expected)[int(place * len(self.expected))]

    @precondition(lambda self: self.expected)
    @rule()
    def restart_process(self) -> None:
        self.saver = self.reopen(self.saver)
        self.adopt(self.read(max(self.expected)))

    @rule()
    def lose_memory(self) -> None:
        """What the saver remembers is a cache: the run goes on without it."""
        self.saver._lanes.forget((THREAD, ""))

    @precondition(lambda self: self.expected)
    @rule(place=st.floats(0, 0.99))
    def somebody_looks(self, place: float) -> None:
        self.read(self.at_place(place))

    # ---- keeping house

    @precondition(lambda self: len(self.expected) > 3)
    @rule()
    def prune(self) -> None:
        self.saver.prune([THREAD])
        newest = max(self.expected)
        self.expected = {newest: self.expected[newest]}
        self.expected[newest].parent = None
        self.adopt(self.read(newest))

    @precondition(lambda self: len(self.expected) > 3)
    @rule(place=st.floats(0, 0.99), count=st.integers(1, 2))
    def delete_runs(self, place: float, count: int) -> None:
        runs = sorted({e.run_id or "" for e in self.expected.values()})
        first = int(place * len(runs))
        doomed_runs = set(runs[first : first + count])
        doomed = {i for i, e in self.expected.items() if e.run_id in doomed_runs}
        if len(doomed) == len(self.expected):
            return
        self.saver.delete_for_runs(sorted(doomed_runs))
        self.forget(doomed)
        self.adopt(self.read(max(self.expected)))

    def forget(self, doomed: set[str]) -> None:
        gone = {i: self.expected[i] for i in doomed}
        folded_by: dict[str, list[str]] = {}
        for expected in self.expected.values():
            folded_by.setdefault(expected.parent or "", []).append(expected.id)
        for i in doomed:
            del self.expected[i]
        for expected in self.expected.values():
            parent = expected.parent
            while parent in gone:
                parent = gone[parent].parent
            expected.parent = parent
            if any(i in gone for i in folded_by.get(expected.id, ())):
                expected.writes = self.actual_writes(expected)

    def actual_writes(self, expected: Expected) -> list[tuple[str, int, str, str, Any]]:
        """Writes that a dropped checkpoint folded went with it: what is left must be a part of what was expected."""
        found = self.saver.get_tuple(self.config(expected.id))
        assert found is not None
        left: list[tuple[str, int, str, str, Any]] = []
        for task_id, channel, value in found.pending_writes or ():
            known = [w for w in expected.writes if w[0] == task_id and w[3] == channel and same(w[4], value)]
            assert known, f"{task_id} wrote {channel}={value!r} to {expected.id}: nobody did"
            left.append(known[0])
        return left

    @rule()
    def copy_and_compare(self) -> None:
        if not self.expected:
            return
        self.saver.copy_thread(THREAD, "copy")
        for checkpoint_id, expected in self.expected.items():
            where = {"thread_id": "copy", "checkpoint_ns": "", "checkpoint_id": checkpoint_id}
            self.compare(self.saver.get_tuple({"configurable": where}), expected)
        self.saver.delete_thread("copy")

    # ---- comparing

    def read(self, checkpoint_id: str) -> CheckpointTuple:
        found = self.saver.get_tuple(self.config(checkpoint_id))
        self.compare(found, self.expected[checkpoint_id])
        assert found is not None
        return found

    def compare(self, found: CheckpointTuple | None, expected: Expected) -> None:
        assert found is not None, expected.id
        checkpoint = found.checkpoint
        assert checkpoint["id"] == expected.id
        values = checkpoint["channel_values"]
        for name in {*values, *expected.values}:
            assert name in values, (name, expected.id)
            assert name in expected.values, (name, expected.id)
            assert same(values[name], expected.values[name]), (name, values[name], expected.values[name])
        assert checkpoint["channel_versions"] == expected.versions
        assert checkpoint["versions_seen"] == expected.seen
        assert checkpoint["updated_channels"] == expected.updated
        assert found.metadata == expected.metadata
        parent = found.parent_config and found.parent_config["configurable"]["checkpoint_id"]
        assert parent == expected.parent
        wanted = [(w[0], w[3], w[4]) for w in sorted(expected.writes, key=lambda w: (w[2], w[0], w[1]))]
        assert same(found.pending_writes, wanted), (found.pending_writes, wanted)

    def teardown(self) -> None:
        try:
            if getattr(self, "expected", None):
                self.compare_all()
        finally:
            for module, limits in USUAL.items():
                for name, value in limits.items():
                    setattr(module, name, value)

    def compare_all(self) -> None:
        self.saver = self.reopen(self.saver)
        listed = list(self.saver.list(self.config()))
        assert [t.checkpoint["id"] for t in listed] == sorted(self.expected, reverse=True)
        for found in listed:
            self.compare(found, self.expected[found.checkpoint["id"]])
        for checkpoint_id in self.expected:
            self.read(checkpoint_id)


EVENTS = [
    "run_again",
    "fork",
    "restart_process",
    "lose_memory",
    "somebody_looks",
    "prune",
    "delete_runs",
    "copy_and_compare",
    "put_whole",
    "work_without_knowing_what_is_returned",
]


def walk(machine: HistoryMachine, action: str, seed: int, length: int = 40) -> None:
    """A long work with one kind of node above all, others now and then, and everything that happens to threads.

    The state machine finds small examples of faults; this finds faults that need long histories of one kind.
    """
    rng = Random(f"{action} {seed}")
    machine.set_limits(rng.choice([2, 3, 4, 16]), rng.choice([300, 3000, 100_000]))
    try:
        machine.begin(rng.randint(0, 30), [action, action, action, *rng.sample(ACTIONS, 2)])
        for _ in range(length):
            if rng.random() < 0.6 or len(machine.expected) < 4:
                machine.work(
                    rng.randrange(1 << 30), rng.randint(1, 8), rng.random() < 0.3, rng.random() < 0.3
                )
                continue
            event = rng.choice(EVENTS)
            if event in ("fork", "somebody_looks"):
                getattr(machine, event)(rng.random())
            elif event == "delete_runs":
                machine.delete_runs(rng.random(), rng.randint(1, 2))
            else:
                getattr(machine, event)()
    finally:
        machine.teardown()
