"""What a stored checkpoint needs and the graph of now does not have.

Rules: pure; it finds and describes, and does not decide what follows from it. Only what a thread would trip over is found:
a node that is due, a field that holds a value, a waiting edge that is half filled, a graph that is paused inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.errors import GraphChange
from stepgraph.pregel.identity import interrupt_id, task_id
from stepgraph.pregel.migrate import join_parts
from stepgraph.pregel.restore import interrupts_of, newer, pending_by_task
from stepgraph.pregel.shape import Field, Shape, fields_of
from stepgraph.schema.type_names import fits
from stepgraph.values.commands import Send
from stepgraph.values.names import BRANCH_TO, INTERRUPT, JOIN, PULL, PUSH, TASKS
from stepgraph.values.task_ids import pull_path, push_path

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import CheckpointTuple
    from stepgraph.pregel.plan import NodePlan, Plan


class Place:
    """Where a checkpoint is: what ids of tasks are made of, and how migrations name the level."""

    def __init__(self, namespace: str, step: int, at: str) -> None:
        self.namespace = namespace
        self.step = step
        self.at = f", at={at!r}" if at else ""


def changes_of(plan: Plan, loaded: CheckpointTuple, shape: Shape, place: Place) -> list[GraphChange]:
    """All changes that matter to a run that goes on from a checkpoint.

    Args:
        plan: The graph of now.
        loaded: The checkpoint, after migrations.
        shape: Its shape, after migrations; an empty one if it is not known.
        place: Where it is.
    """
    return [
        *[_gone_node(name, plan, shape, place) for name in gone_nodes(plan, loaded, shape, place)],
        *_gone_graphs(plan, loaded, shape, place),
        *gone_joins(plan, loaded),
        *gone_fields(plan, loaded, shape, place),
        *changed_fields(plan, loaded, shape, place),
    ]


# ---- nodes


def gone_nodes(plan: Plan, loaded: CheckpointTuple, shape: Shape, place: Place) -> list[str]:
    """The nodes that are due, or that a finished task goes to, and that do not exist."""
    checkpoint = loaded.checkpoint
    values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
    pending = loaded.pending_writes or ()
    found: dict[str, None] = {}
    for channel in values:
        if channel.startswith(BRANCH_TO) and channel not in plan.triggers and channel not in plan.fieldset:
            name = channel[len(BRANCH_TO) :]
            if newer(versions.get(channel), checkpoint["versions_seen"].get(name, {}).get(channel)):
                found[name] = None
    stored = [send for send in values.get(TASKS) or () if isinstance(send, Send)]
    written = [value for _, channel, value in pending if channel == TASKS and isinstance(value, Send)]
    found.update({send.node: None for send in (*stored, *written)})
    found.update({c[len(BRANCH_TO) :]: None for _, c, _ in pending if c.startswith(BRANCH_TO)})
    ids = {write[0] for write in pending}
    found.update({n: None for n in shape.nodes if ids and _pull_id(loaded, place, n) in ids})
    return [name for name in found if name not in plan.nodes]


def gone_tasks(
    plan: Plan, loaded: CheckpointTuple, shape: Shape, place: Place
) -> list[tuple[str, str, tuple[Any, ...]]]:
    """The tasks of the next step whose nodes do not exist: id, node and path of each, as they would run."""
    found: list[tuple[str, str, tuple[Any, ...]]] = []
    values = loaded.checkpoint["channel_values"]
    ids = {write[0] for write in loaded.pending_writes or ()}
    for name in gone_nodes(plan, loaded, shape, place):
        pull = _pull_id(loaded, place, name)
        if BRANCH_TO + name in values or pull in ids:
            found.append((pull, name, (PULL, name)))
    for index, send in enumerate(values.get(TASKS) or ()):
        if isinstance(send, Send) and send.node not in plan.nodes:
            path = push_path(index)
            id = task_id(loaded.checkpoint["id"], place.namespace, place.step, send.node, path)
            found.append((id, send.node, (PUSH, index, False)))
    return found


def _pull_id(loaded: CheckpointTuple, place: Place, name: str) -> str:
    return task_id(loaded.checkpoint["id"], place.namespace, place.step, name, pull_path(name))


def due_nodes(plan: Plan, loaded: CheckpointTuple) -> list[NodePlan]:
    """The nodes that are due by a trigger."""
    checkpoint = loaded.checkpoint
    versions, seen = checkpoint["channel_versions"], checkpoint["versions_seen"]
    return [
        node
        for channel in checkpoint["channel_values"]
        for node in plan.triggers.get(channel, ())
        if newer(versions.get(channel), seen.get(node.name, {}).get(channel))
    ]


def _gone_node(name: str, plan: Plan, shape: Shape, place: Place) -> GraphChange:
    present = [known for known, node in plan.nodes.items() if not node.hidden]
    candidate = likely_name(name, present, shape.nodes)
    mend = f"rename_node({name!r}, {candidate or '...'!r}{place.at})"
    if candidate is None:
        mend = f"rename_node({name!r}, ...{place.at})"
    return GraphChange(
        "node",
        name,
        _listed(shape.nodes),
        _listed(present),
        f"Node {name!r} is due next, and no node has that name now (nodes: {_listed(present)}"
        + (f"; when it was stored: {_listed(shape.nodes)}" if shape.nodes else "")
        + ").",
        f"If another takes its place: {mend}. Or write what it would have written: "
        "update_state(config, values, as_node=...) with the node whose edges are to be followed."
        if plan.start is not None
        else f"Let the function or node be called {name!r} again until the thread is through, or give the thread a new input.",
    )


def _gone_graphs(plan: Plan, loaded: CheckpointTuple, shape: Shape, place: Place) -> Iterable[GraphChange]:
    """Nodes that were graphs, paused inside, and run none now."""
    pending = pending_by_task(loaded.pending_writes)
    former: Mapping[str, str] = getattr(loaded, "former", {})
    for node in due_nodes(plan, loaded):
        if not pending or node.subgraphs or node.name not in shape.nodes or not shape.nodes[node.name]:
            continue
        id = _pull_id(loaded, place, former.get(node.name, node.name))
        asked = interrupts_of([pair for pair in pending.get(id, ()) if pair[0] == INTERRUPT])
        own = {interrupt_id(id, index) for index in range(len(asked))}
        if any(i.id not in own for i in asked):
            graph = shape.nodes[node.name].removeprefix(">")
            yield GraphChange(
                "subgraph",
                node.name,
                f"graph {graph!r}",
                "no graph",
                f"Node {node.name!r} was the graph {graph!r} and paused inside it; it runs no graph now.",
                "Let it run that graph again until the thread is through, or write what it would have written: "
                f"update_state(config, values, as_node={node.name!r}).",
            )


def gone_joins(plan: Plan, loaded: CheckpointTuple) -> list[GraphChange]:
    """Waiting edges at which some nodes arrived, and that do not exist."""
    found = []
    for channel, value in loaded.checkpoint["channel_values"].items():
        if not channel.startswith(JOIN) or channel in plan.joins or channel in plan.fieldset or not value:
            continue
        arrived = value[0] if isinstance(value, (list, tuple)) and isinstance(value[-1], bool) else value
        if arrived:
            sources, target = join_parts(channel)
            problem = (
                f"{_listed(sorted(arrived))} arrived at the waiting edge of {_listed(sources)} before {target!r}, and the "
                "graph has no such edge now, so it would never fire."
            )
            mend = (
                "Bring the edge back until the thread is through, rename_node what was renamed, or "
                "update_state(config, None, as_node=...) to say what runs next."
            )
            present = _listed(sorted(plan.joins)) if plan.joins else "no waiting edge"
            found.append(GraphChange("edge", channel, channel, present, problem, mend))
    return found


# ---- fields


def gone_fields(plan: Plan, loaded: CheckpointTuple, shape: Shape, place: Place) -> list[GraphChange]:
    """Fields that hold a value and do not exist."""
    values = loaded.checkpoint["channel_values"]
    gone = [n for n in shape.fields if n in values and n not in plan.fieldset and n not in plan.managed]
    present = fields_of(plan) if gone else {}
    found = []
    for name in gone:
        like = [n for n, kept in present.items() if kept == shape.fields[name]]
        candidate = likely_name(name, like or present, shape.fields)
        rename = (
            f"rename_field({name!r}, {candidate!r}{place.at})"
            if candidate
            else f"rename_field({name!r}, ...)"
        )
        found.append(
            GraphChange(
                "field",
                name,
                shape.fields[name].text(),
                "no such field",
                f"Field {name!r} holds a value ({shape.fields[name].text()}), and the state has no such field now "
                f"(fields: {_listed(plan.fields)}).",
                f"If it has another name: {rename}. If it is not needed: remove_field({name!r}{place.at}).",
            )
        )
    return found


def changed_fields(plan: Plan, loaded: CheckpointTuple, shape: Shape, place: Place) -> list[GraphChange]:
    """Fields that hold a value of another class than now, or that are folded in another way."""
    values = loaded.checkpoint["channel_values"]
    present = fields_of(plan)
    found = []
    for name, stored in shape.fields.items():
        if name not in values or name not in present or stored == present[name]:
            continue
        now = present[name]
        problem = _difference(name, stored, now, values[name], plan)
        if problem is not None:
            mend = (
                f"Say how its values are made from the stored ones: convert_field({name!r}, function{place.at}); a function that "
                "returns what it gets, if they may stay."
            )
            found.append(GraphChange("field", name, stored.text(), now.text(), problem, mend))
    return found


def _difference(name: str, stored: Field, now: Field, value: Any, plan: Plan) -> str | None:
    was = f"Field {name!r} was stored as {stored.text()} and is {now.text()} now"
    if stored.kind != now.kind and now.kind != "DeltaChannel":
        return f"{was}: what is stored was folded in another way."
    if name in plan.objects or stored.type == now.type or fits(value, plan.channels[name].typ):
        return None
    return f"{was}; it holds a {type(value).__qualname__}."


# ---- texts


def likely_name(old: str, present: Iterable[str], before: Iterable[str]) -> str | None:
    """The name that something probably has now: the only one that was not there before, or the nearest of these."""
    added = [name for name in present if name not in set(before)]
    if len(added) == 1:
        return added[0]
    from difflib import get_close_matches

    return next(iter(get_close_matches(old, added, 1)), None)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


__all__: Sequence[str] = (
    "Place",
    "changed_fields",
    "changes_of",
    "due_nodes",
    "gone_fields",
    "gone_nodes",
    "gone_tasks",
)
