"""What is stored: versions of channels, and the difference that each superstep makes.

Theory of operation. A commit is turned into one `StepChanges` record that holds only what changed: values, versions of
changed channels, and the "seen" maps of nodes that ran. One time-ordered checkpoint id serves as the version of every
channel that changed in its step, unless the saver makes versions of its own. A node is due if one of its trigger
channels has a version newer than the one it last saw; during a run that follows from the writes, and the comparison is
made only after loading.

Rules of this file: pure bookkeeping; records leave through the recorder, which does the I/O. In `exit` durability
nothing leaves before `flush`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.changes import EVERYTHING, StepChanges, StepShape, TaskWrites
from stepgraph.checkpoint.placed import FanWrites, Placed, PlacedWrites
from stepgraph.pregel.placing import MANY_TASKS, are_same, fan_writes, note_values
from stepgraph.pregel.results import wire_writes, writes_without_sends
from stepgraph.pregel.untracked import storable_input, storable_send, storable_writes
from stepgraph.values.missing import MISSING
from stepgraph.values.names import BRANCH_TO, START, TASKS

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.plan import JoinPlan, NodePlan
    from stepgraph.pregel.task import Task
    from stepgraph.values.commands import Send

Version = str | int | float


class RecorderPort:
    """What the ledger needs of a recorder; see `pregel/drivers/recorder.py`.

    `holds` says that finished tasks' writes may wait for their superstep: nothing but an error, which the machine is
    told of, can come between. `derives` says that tasks' writes may come without their ids, and that all of a step has
    been read when `step` returns.
    """

    holds = False
    derives = False

    def step(self, namespace: str, changes: StepChanges, metadata: dict[str, Any]) -> None:
        raise NotImplementedError

    def writes(
        self, namespace: str, checkpoint_id: str, pairs: Sequence[tuple[str, Any]], task_id: str, path: str
    ) -> None:
        raise NotImplementedError


class Ledger:
    """The stored side of one level of one run.

    `head` is the checkpoint that the running step starts from, `stored` the newest one that was handed to the recorder
    (they differ in `exit` durability). `live` names the control channels that hold a value now.
    """

    __slots__ = (
        "at_exit",
        "carried",
        "carried_seen",
        "head",
        "held",
        "held_writes",
        "holds",
        "last_metadata",
        "live",
        "metadata",
        "namespace",
        "new_id",
        "next_version",
        "pending",
        "plain",
        "previous",
        "quick",
        "recorder",
        "returned",
        "run_id",
        "seen",
        "source",
        "stored",
        "tip",
        "untracked",
        "versions",
    )

    def __init__(
        self, machine: Machine, recorder: RecorderPort, next_version: Callable[[Any], Version] | None
    ) -> None:
        scope = machine.scope
        self.recorder = recorder
        self.namespace = machine.namespace
        self.new_id = scope.new_id
        self.next_version = next_version
        self.at_exit = scope.durability == "exit"
        self.holds = recorder.holds or self.at_exit
        self.run_id = scope.writer_id
        self.metadata: dict[str, Any] = {"parents": machine.level.parents, **scope.metadata}
        self.versions: dict[str, Version] = {}
        self.seen: dict[str, dict[str, Version]] = {}
        self.live: dict[str, Any] = {}
        self.head = ""
        self.previous: str | None = None
        self.last_metadata: dict[str, Any] = {}
        self.carried: dict[str, Any] = {}
        self.carried_seen: dict[str, dict[str, Version]] = {}
        self.pending: Mapping[str, Sequence[tuple[str, Any]]] | None = None
        self.stored: str | None = None
        self.tip: Any = MISSING
        self.held: StepChanges | None = None
        self.held_writes: list[tuple[list[tuple[str, Any]], str, str]] = []
        self.returned: set[int] | None = set()
        self.source = "loop"
        self.quick: StepChanges | None = None
        plan = machine.plan
        self.untracked = plan.untracked
        self.plain = recorder.derives and next_version is None and not (plan.unusual or plan.untracked)

    # ---- one superstep

    def record_input(self, machine: Machine, input: Any) -> None:
        """The run's input, before its first node starts."""
        self._discard_pending(machine)
        before = self.live
        self.live = {START: None}
        values = {START: storable_input(self.untracked, input) if self.untracked else input}
        cleared = [channel for channel in before if channel not in values]
        self._put(machine, "input", values, cleared, {"__input__": {}}, [START], ())
        machine.step += 1

    def record_fork(self, machine: Machine) -> None:
        """A run that replays an old checkpoint begins with a copy of it."""
        self._put(machine, "fork", {}, [], {}, [], ())
        machine.step += 1

    def record_copy(self, machine: Machine, source: str) -> None:
        """A checkpoint that is as its parent is."""
        self._put(machine, source, {}, [], {}, [], ())

    def record_cleared(self, machine: Machine, tasks: Sequence[Task]) -> None:
        """Nothing is due any more: pending triggers count as seen."""
        self._discard_pending(machine)
        cleared = [channel for channel in self.live if channel != TASKS]
        values: dict[str, Any] = {TASKS: []} if TASKS in self.live else {}
        self.live = {}
        seen = {task.node.name: self.seen.get(task.node.name, {}) for task in tasks}
        self._put(machine, "update", values, cleared, seen, [], ())

    def record_channels(
        self, machine: Machine, folded: dict[str, Any], changed: set[str], pulls: Sequence[NodePlan]
    ) -> None:
        """The input of a low-level graph, written to its channels directly."""
        self._discard_pending(machine)
        self.live = {}
        values = self._stored_values(machine, folded, changed)
        cleared = [channel for channel in changed if channel not in values]
        self._put(machine, "input", values, cleared, {"__input__": {}}, [*folded], ())
        machine.step += 1

    def record_step(
        self,
        machine: Machine,
        tasks: Sequence[Task],
        folded: dict[str, Any],
        changed_objects: set[str] | None,
        pulls: Sequence[NodePlan],
        sends: Sequence[Send] | None,
        joined: Sequence[JoinPlan],
    ) -> None:
        """One commit: new values, versions of all that changed, and what each node has now seen."""
        plan = machine.plan
        seen = self._mark_seen(tasks)
        values = self._stored_values(machine, folded, changed_objects)
        if plan.joins or plan.has_deferred:
            live = self._control_values(machine, tasks, pulls, joined, values)
        else:
            live = {node.trigger: None for node in pulls if node.trigger not in plan.reader_triggers}
            values.update(live)
        if sends:
            untracked = self.untracked
            values[TASKS] = [storable_send(untracked, s) for s in sends] if untracked else list(sends)
            live[TASKS] = None
        elif TASKS in self.live:
            values[TASKS] = []
        cleared = [channel for channel in self.live if channel not in values and channel not in live]
        if changed_objects:
            cleared += [name for name in changed_objects if name not in values]
        self.live = live
        writes, placed = self._unstored_writes(machine, tasks)
        if self.returned is not None:
            self._note_returned(tasks, placed)
        available = [channel for channel in live if channel in values and not _waits(values[channel])]
        self._put(machine, self.source, values, cleared, seen, [*folded, *available], writes, placed)

    def record_lone(self, machine: Machine, task: Task, folded: dict[str, Any]) -> None:
        """The same for a lone task of a graph of plain fields and edges, where only plain edges lead on."""
        node, targets, versions = task.node, task.targets, self.versions
        shape: StepShape | None = None
        if self.plain and task.sends is None and not task.saved:
            key = (node, *self.live, None, *folded, None, *targets)
            shape = machine.plan.shapes.get(key) or self._new_shape(machine, task, folded, key)
        if shape is None or shape.trigger not in versions or self.carried or self.source != "loop":
            self.record_step(machine, (task,), folded, None, targets, task.sends, ())
            return
        task.saved = True
        control, stored, step = shape.control, self.stored, machine.step
        last = versions[shape.trigger]
        seen = self.seen[node.name] = {shape.trigger: last}
        updates = task.updates
        if updates and self.returned is not None:
            self._note_returned((task,))
        self.live = control
        self.previous = self.head
        self.head = head = self.new_id()
        changed: dict[str, Version] = dict.fromkeys(shape.names, head)
        versions.update(changed)
        values = {**folded, **control}
        if self.at_exit and self.held is not None:
            self._hold_more("loop", step, values, changed, {node.name: seen}, shape.updated)
            return
        changes = self.quick
        if changes is None:
            changes = self._quick_changes()
        changes.id, changes.parent_id, changes.returned = head, stored, self.returned
        changes.values, changes.versions, changes.seen = values, changed, {node.name: seen}
        changes.updated, changes.cleared = shape.updated, shape.cleared
        changes.shape = shape if last == stored else None
        if changes.placed:
            lone: Any = changes.placed[0]
            same = len(targets) == len(control) and (not updates or are_same(updates, folded))
            lone.step, lone.name, lone.pairs = step, node.name, None if same else wire_writes(task)
        self._pass_on(step, changes, "loop")

    def _quick_changes(self) -> StepChanges:
        """What `record_lone` fills in; used again where the recorder has read it when `step` returns."""
        changes = StepChanges(
            id="",
            parent_id=None,
            ts="",
            values={},
            versions={},
            seen={},
            updated=None,
            run_id=self.run_id,
            placed=() if self.at_exit else (PlacedWrites(0, "", None),),
            common=self.metadata,
        )
        if not self.at_exit:
            self.quick = changes
        return changes

    def _new_shape(
        self, machine: Machine, task: Task, folded: dict[str, Any], key: tuple[Any, ...]
    ) -> StepShape | None:
        """What a step like this one has in common with others; None where it is no plain one."""
        node = task.node
        if len(node.triggers) > 1 or TASKS in self.live or task.index >= 0 or task.call_path or task.handler:
            return None
        control: dict[str, Any] = {target.trigger: None for target in task.targets}
        cleared = [channel for channel in self.live if channel not in control]
        updated = sorted((*folded, *control))
        shape = StepShape((*folded, *control, *cleared), cleared, updated, node.triggers[0], control)
        if len(machine.plan.shapes) < MOST_SHAPES:
            machine.plan.shapes[key] = shape
        return shape

    def _mark_seen(self, tasks: Sequence[Task]) -> dict[str, dict[str, Version]]:
        """Nodes that ran have seen their triggers as they are now; the maps are made anew, never changed."""
        versions, known = self.versions, self.seen
        seen: dict[str, dict[str, Version]] = {}
        for task in tasks:
            node = task.node
            name = node.name
            if task.index >= 0:
                if name not in seen:
                    seen[name] = known.get(name) or {}
                continue
            now = {channel: versions[channel] for channel in node.triggers if channel in versions}
            before = known.get(name)
            if before and len(node.triggers) > 1:
                now = {**before, **now}
            seen[name] = known[name] = now
        return seen

    def _unstored_writes(
        self, machine: Machine, tasks: Sequence[Task]
    ) -> tuple[Sequence[TaskWrites], Sequence[Placed]]:
        """Writes that go with the step, because nothing can come between: of a lone task, and where the recorder holds.

        The second answer is of tasks whose ids follow from where they ran.
        """
        unsaved = [task for task in tasks if not task.saved]
        for task in unsaved:
            task.saved = True
        if self.at_exit or not (machine.alone or self.holds or self.source == "update"):
            return (), ()
        if self.untracked:
            untracked = self.untracked
            return [(t.id, t.path_text, storable_writes(untracked, wire_writes(t))) for t in unsaved], ()
        if not self.recorder.derives or self.source == "update":
            return [(task.id, task.path_text, wire_writes(task)) for task in unsaved], ()
        placed: list[Placed] = []
        if len(unsaved) > MANY_TASKS:
            first = next((i for i, task in enumerate(unsaved) if task.index >= 0), len(unsaved))
            fan = fan_writes(machine.step, unsaved[first:])
            if fan is not None:
                unsaved = unsaved[:first]
                placed.append(fan)
        step = machine.step
        placed += [
            PlacedWrites(step, t.node.name, writes_without_sends(t), t.index, t.sends or ()) for t in unsaved
        ]
        return (), placed

    def release(self, tasks: Sequence[Task]) -> None:
        """The superstep will not be committed now: store what its finished tasks wrote."""
        if self.holds:
            for task in tasks:
                if task.finished and not task.saved:
                    task.saved = True
                    self.write(task, wire_writes(task))

    def _stored_values(
        self, machine: Machine, folded: dict[str, Any], changed_objects: set[str] | None
    ) -> dict[str, Any]:
        plan = machine.plan
        if not plan.objects and not plan.untracked:
            return dict(folded)
        values = {k: v for k, v in folded.items() if k not in plan.untracked and k not in plan.objects}
        for name in changed_objects or ():
            if name not in plan.untracked:
                value = machine.objects[name].checkpoint()
                if value is not MISSING:
                    values[name] = value
        return values

    def _control_values(
        self,
        machine: Machine,
        tasks: Sequence[Task],
        pulls: Sequence[NodePlan],
        joined: Sequence[JoinPlan],
        values: dict[str, Any],
    ) -> dict[str, Any]:
        """Values of control channels where waiting edges and deferred nodes take part; answers which are live."""
        before = self.live
        live: dict[str, Any] = {}
        targeted = {node.trigger for task in tasks for node in task.targets}
        for node in pulls:
            if node.trigger in targeted or node.trigger in before:
                live[node.trigger] = None
                values[node.trigger] = [None, True] if node.deferred else None
        for node in machine.deferred.values():
            if node.trigger in targeted or node.trigger in before:
                live[node.trigger] = None
                if node.trigger not in before:
                    values[node.trigger] = [None, False]
        fired = [join for join in joined if not join.deferred]
        fired += machine.finished_joins
        machine.finished_joins = []
        for join in fired:
            live[join.channel] = None
            values[join.channel] = [set(join.sources), True] if join.deferred else set(join.sources)
        touched = {join.channel: join for task in tasks for join in task.node.joins}
        joins = machine.plan.joins
        touched.update({channel: joins[channel] for channel in before if channel in joins})
        for channel, join in touched.items():
            if channel not in live:
                arrived = set(machine.joins.get(channel, ()))
                values[channel] = [arrived, False] if join.deferred else arrived
        return live

    def _discard_pending(self, machine: Machine) -> None:
        """Tasks that were due before this input are dropped: their triggers count as seen."""
        for channel in self.live:
            for node in machine.plan.triggers.get(channel, ()):
                version = self.versions.get(channel)
                if version is not None:
                    self.seen[node.name] = {**self.seen.get(node.name, {}), channel: version}

    def _note_returned(self, tasks: Sequence[Task], placed: Sequence[Placed] = ()) -> None:
        """Ids of objects that nodes handed back: they may have been changed in place since they were stored."""
        returned = self.returned
        assert returned is not None
        if self.at_exit and self.stored is None:
            # Nothing is stored yet to compare with, so which objects came back makes no difference.
            self.returned = EVERYTHING
            return
        fan = placed[0] if placed else None
        if isinstance(fan, FanWrites) and len(fan) == len(tasks):
            for _, column in fan.columns:
                if set(map(type, column)) == {list}:
                    returned.update(map(id, chain.from_iterable(column)))
                else:
                    note_values(returned, column)
            return
        for task in tasks:
            updates = task.updates
            values = updates.values() if isinstance(updates, dict) else [value for _, value in updates]
            note_values(returned, values)

    def _put(
        self,
        machine: Machine,
        source: str,
        values: dict[str, Any],
        cleared: list[str],
        seen: dict[str, dict[str, Version]],
        updated: list[str],
        writes: Sequence[TaskWrites],
        placed: Sequence[Placed] = (),
    ) -> None:
        if self.carried:
            values, cleared, seen = self._with_carried(values, cleared, seen)
        head = self.new_id()
        version: Version = head
        if self.next_version is not None:
            version = self.next_version(max(self.versions.values(), key=_sortable) if self.versions else None)
        stored_versions = dict.fromkeys((*values, *cleared), version)
        self.versions.update(stored_versions)
        self.previous = self.head or None
        self.head = head
        updated = sorted(updated) if len(updated) > 1 else updated
        if self.at_exit and self.held is not None:
            self._hold_more(source, machine.step, values, stored_versions, seen, updated)
            return
        self._pass_on(
            machine.step,
            StepChanges(
                id=head,
                parent_id=self.stored,
                ts="",
                values=values,
                versions=stored_versions,
                seen=seen,
                updated=updated,
                writes=writes,
                placed=placed,
                returned=self.returned,
                run_id=self.run_id,
                cleared=cleared if self.next_version is None else None,
                common=self.metadata,
            ),
            source,
        )

    def _pass_on(self, step: int, changes: StepChanges, source: str) -> None:
        self.last_metadata = {"source": source, "step": step, **self.metadata}
        if self.at_exit:
            self._hold(changes)
            return
        if self.returned or self.returned is None:
            self.returned = set()
        self._hand_over(changes)

    def _with_carried(
        self, values: dict[str, Any], cleared: list[str], seen: dict[str, dict[str, Version]]
    ) -> tuple[dict[str, Any], list[str], dict[str, dict[str, Version]]]:
        """Add what the next checkpoint must hold beside what its step changes; a trigger only if it is still live."""
        carried, self.carried = self.carried, {}
        for channel in carried:
            if channel not in self.live and (channel == START or channel.startswith(BRANCH_TO)):
                carried[channel] = MISSING
        kept = {channel: value for channel, value in carried.items() if value is not MISSING}
        gone = [c for c in carried if c not in kept and c not in values and c not in cleared]
        cleared = [channel for channel in cleared if channel not in kept] + gone
        seen = {**self.carried_seen, **seen}
        self.carried_seen = {}
        return {**kept, **values}, cleared, seen

    def shown_metadata(self) -> dict[str, Any]:
        """The metadata of the newest checkpoint, as a person sees it."""
        return {key: value for key, value in self.last_metadata.items() if not key.startswith("__")}

    # ---- durability "exit"

    def _hand_over(self, changes: StepChanges) -> None:
        if self.tip is not MISSING:
            changes.expected_head = self.tip
            self.tip = changes.id
        self.recorder.step(self.namespace, changes, self.last_metadata)
        self.stored = changes.id

    def _hold(self, changes: StepChanges) -> None:
        """Begin to gather what the run changes, to be stored as one checkpoint when it ends."""
        changes.shape = changes.cleared = None
        self.held = changes
        if self.held_writes:
            self.held_writes = []

    def _hold_more(
        self,
        source: str,
        step: int,
        values: dict[str, Any],
        versions: dict[str, Version],
        seen: dict[str, dict[str, Version]],
        updated: list[str],
    ) -> None:
        """Add a step to what is held."""
        held = self.held
        assert held is not None
        for channel in versions:
            held.values.pop(channel, None)
        held.values.update(values)
        held.versions.update(versions)
        held.seen.update(seen)
        held.id, held.updated = self.head, updated
        self.last_metadata["source"], self.last_metadata["step"] = source, step
        if self.held_writes:
            self.held_writes = []

    def flush(self) -> None:
        """Store what was held back, then the pending writes that belong to it."""
        if not self.at_exit:
            return
        held, self.held = self.held, None
        if held is not None:
            held.returned = self.returned
            self.returned = set()
            self._hand_over(held)
        writes, self.held_writes = self.held_writes, []
        for pairs, task_id, path in writes:
            self.recorder.writes(self.namespace, self.head, pairs, task_id, path)

    # ---- pending writes

    def write(self, task: Task, pairs: Sequence[tuple[str, Any]]) -> None:
        """One task's pending writes against the current checkpoint; may be called from a worker thread."""
        self.write_as(task.id, task.path_text, pairs)

    def write_as(self, task_id: str, path: str, pairs: Sequence[tuple[str, Any]]) -> None:
        if self.untracked:
            pairs = storable_writes(self.untracked, pairs)
        if self.at_exit:
            self.held_writes.append((list(pairs), task_id, path))
        else:
            self.recorder.writes(self.namespace, self.head, pairs, task_id, path)


MOST_SHAPES = 512
"""So many kinds of steps are remembered of a graph."""


def _waits(value: Any) -> bool:
    """Whether a control channel's value is that of a deferred node that waits for the end."""
    return type(value) is list and len(value) == 2 and value[1] is False


def _sortable(version: Version) -> tuple[int, Any]:
    return (1, version) if isinstance(version, str) else (0, version)
