"""Migrations at work: a stored checkpoint as it would be if the graph had always been what it is now.

Theory: a checkpoint names nodes in channels (`branch:to:x`, `join:a+b:c`), in what nodes have seen, in `Send`s and in pending
writes, and fields in its values, in pending writes, in the input of a run that has not begun, and as keys of what `Send`s
carry. All of these are changed; ids of tasks are not. A task of a renamed node keeps the id, the path and the namespace that
it was stored with (`former`), so what its siblings, its graph and its questions left is found again.

Rules: pure; what was loaded is not changed. A person's functions are called for values, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.channels.fold import overwrite_of
from stepgraph.checkpoint.base import CheckpointTuple
from stepgraph.checkpoint.shaped import shape_in
from stepgraph.pregel.shape import NOTHING, Shape
from stepgraph.values.commands import Overwrite, Send
from stepgraph.values.migrations import ConvertField, Migration, RemoveField, RenameField, RenameNode
from stepgraph.values.missing import MISSING
from stepgraph.values.names import BRANCH_TO, ERROR_SOURCE_NODE, GRAPH_SHAPE, JOIN, START, TASKS

if TYPE_CHECKING:
    from stepgraph.pregel.plan import Plan


class Refitted(CheckpointTuple):
    """A checkpoint that was changed to fit the graph of now.

    Attributes:
        former: Node that is due by a trigger, to the name that its task was stored with.
        former_sends: The names that the checkpoint's `Send`s were stored with, in order; None if they are the same.
        carried: What the next stored checkpoint must hold beside what its superstep changes; `MISSING`: no longer holds.
        carried_seen: The same for what nodes have seen.
        shape: As in `ShapedTuple`, of the graph that stored it.
        renamed: That shape in the names of now.
    """

    former: Mapping[str, str]
    former_sends: Sequence[str] | None
    carried: dict[str, Any]
    carried_seen: dict[str, dict[str, Any]]
    shape: tuple[Any, Any]
    renamed: Shape


class FailedConversionError(Exception):
    """A function that was given to `convert_field` raised; the cause is what it raised.

    Args:
        name: The field.
        value: What it was called with.
    """

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(name)
        self.name = name
        self.value = value


def refit(
    loaded: CheckpointTuple, shape: Shape | None, migrations: Sequence[Migration], plan: Plan
) -> tuple[CheckpointTuple, Shape]:
    """Apply the migrations that a checkpoint needs.

    Args:
        loaded: The checkpoint.
        shape: The shape of the graph that stored it, if it is known.
        migrations: All that hold for this graph, in order.
        plan: The graph of now.

    Returns:
        The checkpoint (the same, if nothing was to do) and its shape in the names of now, without converted fields.

    Raises:
        FailedConversionError: A function of a person failed.
    """
    applied = set(shape.applied) if shape is not None else set()
    work = _Work(loaded, shape or NOTHING)
    for migration in migrations:
        if migration.identity() not in applied:
            _STEPS[type(migration)](work, migration)
    work.match_joins(plan)
    return work.result(loaded), work.shape()


class _Work:
    """The parts of one checkpoint while migrations are applied to it."""

    def __init__(self, loaded: CheckpointTuple, shape: Shape) -> None:
        checkpoint = loaded.checkpoint
        self.values: dict[str, Any] = dict(checkpoint["channel_values"])
        self.versions: dict[str, Any] = dict(checkpoint["channel_versions"])
        self.seen: dict[str, dict[str, Any]] = {n: dict(s) for n, s in checkpoint["versions_seen"].items()}
        self.pending: list[tuple[str, str, Any]] = [tuple(write) for write in loaded.pending_writes or ()]
        self.former: dict[str, str] = {}
        sends = self.values.get(TASKS) or ()
        self.former_sends = [send.node for send in sends if isinstance(send, Send)]
        self._shape = shape
        self._blind = shape is NOTHING
        self.nodes = dict(shape.nodes)
        self.fields = dict(shape.fields)

    def shape(self) -> Shape:
        return Shape(self.nodes, self._shape.joins, self.fields, self._shape.applied)

    # ---- what all migrations are made of

    def move_channel(self, old: str, new: str) -> None:
        """Give a channel another name, wherever it is known; a value that is under the name already stays."""
        if old == new:
            return
        if old in self.versions:
            version = self.versions.pop(old)
            self.versions.setdefault(new, version)
        if old in self.values:
            value = self.values.pop(old)
            self.values.setdefault(new, value)
        for known in self.seen.values():
            if old in known:
                version = known.pop(old)
                known.setdefault(new, version)
        self.pending = [(task, new if channel == old else channel, v) for task, channel, v in self.pending]

    def each_send(self, change: Callable[[Send], Send]) -> None:
        """Change all `Send`s, stored and pending."""
        if self.values.get(TASKS):
            self.values[TASKS] = [change(s) if isinstance(s, Send) else s for s in self.values[TASKS]]
        self.pending = [
            (task, channel, change(value) if channel == TASKS and isinstance(value, Send) else value)
            for task, channel, value in self.pending
        ]

    def each_mapping(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Change what holds fields as keys: the input of a run that has not begun, and what `Send`s carry."""
        if type(self.values.get(START)) is dict:
            self.values[START] = change(self.values[START])
        self.each_send(lambda send: _with(send, arg=change(send.arg)) if type(send.arg) is dict else send)

    # ---- the migrations

    def rename_node(self, migration: RenameNode) -> None:
        old, new = migration.old, migration.new
        if not (self._blind or old in self.nodes):
            return
        alone = BRANCH_TO + new not in self.values
        self.move_channel(BRANCH_TO + old, BRANCH_TO + new)
        for channel in [name for name in self.versions if name.startswith(JOIN)]:
            self._rename_in_join(channel, old, new)
        if old in self.seen:
            self.seen[new] = {**self.seen.pop(old), **self.seen.get(new, {})}
        self.each_send(lambda send: _with(send, node=new) if send.node == old else send)
        self.pending = [
            (task, channel, new if channel == ERROR_SOURCE_NODE and value == old else value)
            for task, channel, value in self.pending
        ]
        stored = self.former.pop(old, old)
        if alone:
            self.former[new] = stored
        if old in self.nodes:
            self.nodes.setdefault(new, self.nodes.pop(old))

    def _rename_in_join(self, channel: str, old: str, new: str) -> None:
        sources, target = join_parts(channel)
        if old not in (*sources, target):
            return
        renamed = [new if name == old else name for name in sources]
        self.move_channel(channel, f"{JOIN}{'+'.join(renamed)}:{new if target == old else target}")
        for name, value in self.values.items():
            if name.startswith(JOIN) and value is not None:
                self.values[name] = _renamed_arrivals(value, old, new)

    def rename_field(self, migration: RenameField) -> None:
        old, new = migration.old, migration.new
        if not (self._blind or old in self.fields):
            return
        self.move_channel(old, new)
        self.each_mapping(
            lambda held: {new if k == old and new not in held else k: v for k, v in held.items()}
        )
        if old in self.fields:
            self.fields.setdefault(new, self.fields.pop(old))

    def convert_field(self, migration: ConvertField) -> None:
        name = migration.name
        if not (self._blind or name in self.fields):
            return

        def convert(value: Any) -> Any:
            replaces, inner = overwrite_of(value)
            try:
                return Overwrite(migration.function(inner)) if replaces else migration.function(value)
            except Exception as error:
                raise FailedConversionError(name, value) from error

        if name in self.values:
            self.values[name] = convert(self.values[name])
        self.each_mapping(lambda held: {k: convert(v) if k == name else v for k, v in held.items()})
        self.pending = [(t, c, convert(value) if c == name else value) for t, c, value in self.pending]
        self.fields.pop(name, None)

    def remove_field(self, migration: RemoveField) -> None:
        name = migration.name
        if not (self._blind or name in self.fields):
            return
        self.values.pop(name, None)
        self.versions.pop(name, None)
        for known in self.seen.values():
            known.pop(name, None)
        self.each_mapping(lambda held: {key: value for key, value in held.items() if key != name})
        self.pending = [write for write in self.pending if write[1] != name]
        self.fields.pop(name, None)

    # ---- the end

    def match_joins(self, plan: Plan) -> None:
        """A waiting edge of the same nodes is the same edge, in whatever order they are named now."""
        for channel in [name for name in self.values if name.startswith(JOIN) and name not in plan.joins]:
            sources, target = join_parts(channel)
            for join in plan.joins.values():
                if join.target.name == target and join.sources == set(sources):
                    self.move_channel(channel, join.channel)

    def result(self, loaded: CheckpointTuple) -> CheckpointTuple:
        """The checkpoint of now, and how it differs; the loaded one if it does not."""
        checkpoint = loaded.checkpoint
        before, versions, seen = (
            checkpoint["channel_values"],
            checkpoint["channel_versions"],
            checkpoint["versions_seen"],
        )
        carried: dict[str, Any] = {
            name: MISSING
            for name in versions
            if name not in self.versions or (name in before and name not in self.values)
        }
        carried.update({n: v for n, v in self.values.items() if before.get(n, MISSING) is not v})
        carried.pop(GRAPH_SHAPE, None)
        carried_seen = {node: s for node, s in self.seen.items() if seen.get(node) != s}
        carried_seen.update({node: {} for node in seen if node not in self.seen})
        pending = [tuple(write) for write in loaded.pending_writes or ()]
        if not carried and not carried_seen and not self.former and _same(pending, self.pending):
            return loaded
        changed: Any = {
            **checkpoint,
            "channel_values": self.values,
            "channel_versions": self.versions,
            "versions_seen": self.seen,
        }
        result = Refitted(loaded.config, changed, loaded.metadata, loaded.parent_config, self.pending)
        result.former = self.former
        sends = self.values.get(TASKS) or ()
        names = [send.node for send in sends if isinstance(send, Send)]
        result.former_sends = None if names == self.former_sends else self.former_sends
        result.carried, result.carried_seen = carried, carried_seen
        result.shape, result.renamed = (shape_in(loaded), None), self.shape()
        return result


_STEPS: dict[type, Callable[[_Work, Any], None]] = {
    RenameNode: _Work.rename_node,
    RenameField: _Work.rename_field,
    ConvertField: _Work.convert_field,
    RemoveField: _Work.remove_field,
}


def join_parts(channel: str) -> tuple[list[str], str]:
    """The sources and the target of a waiting edge's channel."""
    sources, _, target = channel[len(JOIN) :].rpartition(":")
    return sources.split("+"), target


def _renamed_arrivals(value: Any, old: str, new: str) -> Any:
    """Who has arrived at a waiting edge: a set of names, or a list of that and whether the run had ended."""
    if isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[1], bool):
        return [_renamed_arrivals(value[0], old, new), value[1]]
    return {new if name == old else name for name in value}


def _with(send: Send, **changes: Any) -> Send:
    """The same `Send` with another node or argument."""
    return Send(changes.get("node", send.node), changes.get("arg", send.arg), timeout=send.timeout)


def _same(before: Sequence[Any], after: Sequence[Any]) -> bool:
    return len(before) == len(after) and all(a[1] == b[1] and a[2] is b[2] for a, b in zip(before, after))
