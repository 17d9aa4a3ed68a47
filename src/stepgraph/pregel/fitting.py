"""A stored checkpoint meets the graph of now: the one place where it is compared, migrated, or refused.

Theory of operation. Where the stored shape is that of the graph, one text is compared and nothing else happens. Else the
migrations that the checkpoint lacks are applied (`migrate.py`), what is still missing is found (`graph_changes.py`), and it
depends on what the checkpoint is loaded for whether that is an error:

    purpose   node, waiting edge, graph gone   field gone   field of another kind
    --------  -------------------------------  -----------  ---------------------
    resume    error                            error        error
    input     dropped, as ever                 warning      error
    update    dropped, as ever                 -            error
    look      shown                            -            -

What was changed is stored with the next checkpoint, together with the shape of now.

Rules: pure, apart from the warning.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from stepgraph.checkpoint.shaped import shape_in
from stepgraph.errors import GraphChange, GraphChangedError
from stepgraph.pregel.graph_changes import (
    Place,
    changed_fields,
    changes_of,
    due_nodes,
    gone_fields,
    gone_nodes,
    gone_tasks,
)
from stepgraph.pregel.identity import without_task_ids
from stepgraph.pregel.migrate import FailedConversionError, Refitted, refit
from stepgraph.pregel.shape import NOTHING, Shape, read_shape, shape_of
from stepgraph.values.migrations import RenameNode
from stepgraph.values.names import GRAPH_SHAPE, NS_SEP, TASKS

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import CheckpointTuple
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.scope import Level
    from stepgraph.values.migrations import Migration

Purpose = Literal["resume", "input", "update", "look"]
Deep = tuple[tuple[tuple[str, ...], "Migration"], ...]


def carry_shape(machine: Machine) -> None:
    """Let the next checkpoint of a machine say which graph stored it."""
    assert machine.ledger is not None
    machine.ledger.carried[GRAPH_SHAPE] = shape_of(machine.plan, migrations_of(machine))


def migrations_of(machine: Machine) -> tuple[Migration, ...]:
    """The migrations that hold at a level: the graph's own, and those that graphs above declare for it."""
    deep = machine.level.deep_migrations
    own = machine.plan.migrations
    return own if not deep else (*own, *[migration for path, migration in deep if not path])


def below(deep: Deep, node: str) -> Deep:
    """Of migrations for graphs inside, those that hold for what a node runs."""
    return tuple((path[1:], migration) for path, migration in deep if path and path[0] == node)


def name_now(node: str, migrations: Iterable[Migration]) -> str:
    """The name that a node has now which was called `node` once."""
    for migration in migrations:
        if isinstance(migration, RenameNode) and migration.old == node:
            node = migration.new
    return node


def former_namespaces(machine: Machine) -> list[str]:
    """Where a graph that keeps its state over calls was stored before nodes on the way to it got other names."""
    names: dict[str, list[str]] = {}
    parent = machine.parent
    while parent is not None:
        before = names.setdefault(parent.node.name, [parent.node.name])
        for migration in reversed(migrations_of(parent.machine)):
            if isinstance(migration, RenameNode) and migration.new in before:
                before.append(migration.old)
        parent = parent.machine.parent
    if all(len(known) == 1 for known in names.values()):
        return []
    parts = [names.get(part, [part]) for part in machine.namespace.split(NS_SEP)]
    return [NS_SEP.join(chosen) for chosen in product(*parts)][1:]


def inherit(level: Level, above: Machine, node: str) -> None:
    """Give a nested level the migrations that graphs above declare for it."""
    deep = (*above.plan.deep_migrations, *above.level.deep_migrations)
    level.deep_migrations = below(deep, node)


def fitted(machine: Machine, loaded: CheckpointTuple, purpose: Purpose) -> CheckpointTuple:
    """The checkpoint as the graph of now can go on from it.

    Args:
        machine: Of the level that the checkpoint belongs to.
        loaded: The checkpoint.
        purpose: What it is loaded for.

    Returns:
        The very same, if the graph was not changed since.

    Raises:
        GraphChangedError: The graph was changed so that it cannot go on, and no migration says what became of what is
            missing.
    """
    stored = shape_in(loaded)
    migrations = migrations_of(machine)
    ledger = machine.ledger
    if stored is not None and stored == shape_of(machine.plan, migrations):
        if ledger is not None:
            ledger.carried.pop(GRAPH_SHAPE, None)
        return loaded
    shape = read_shape(stored)
    try:
        result, after = refit(loaded, shape, migrations, machine.plan)
    except FailedConversionError as failure:
        raise _error(machine, loaded, [_failed(failure)]) from failure.__cause__
    if purpose != "look":
        _refuse(machine, result, after, purpose)
        if ledger is not None and isinstance(result, Refitted):
            ledger.carried.update(result.carried)
            ledger.carried_seen.update(result.carried_seen)
    return result


def gone_from(machine: Machine, loaded: CheckpointTuple) -> list[tuple[str, str, tuple[Any, ...]]]:
    """Id, node and path of the tasks that a fitted checkpoint is about to run and whose nodes the graph does not have."""
    stored = shape_in(loaded)
    if stored is not None and stored == shape_of(machine.plan, migrations_of(machine)):
        return []
    shape = loaded.renamed if isinstance(loaded, Refitted) else read_shape(stored) or NOTHING
    return gone_tasks(machine.plan, loaded, shape, _place(machine, loaded))


def _place(machine: Machine, loaded: CheckpointTuple) -> Place:
    names = [name for name in without_task_ids(machine.namespace).split(NS_SEP) if not name.isdigit()]
    parent = machine.parent
    if parent is not None:
        names = []
    while parent is not None:
        names.insert(0, parent.node.name)
        parent = parent.machine.parent
    step = (loaded.metadata or {}).get("step", -2) + 1
    return Place(machine.namespace, step, NS_SEP.join(names))


def _refuse(machine: Machine, loaded: CheckpointTuple, shape: Shape, purpose: Purpose) -> None:
    plan = machine.plan
    place = _place(machine, loaded)
    if purpose == "resume" and (
        due_nodes(plan, loaded)
        or loaded.checkpoint["channel_values"].get(TASKS)
        or gone_nodes(plan, loaded, shape, place)
    ):
        found = changes_of(plan, loaded, shape, place)
    else:
        found = changed_fields(plan, loaded, shape, place)
        if purpose != "update":
            _warn(machine, gone_fields(plan, loaded, shape, place))
    if found:
        raise _error(machine, loaded, found)


def _error(machine: Machine, loaded: CheckpointTuple, changes: list[GraphChange]) -> GraphChangedError:
    return GraphChangedError(
        machine.plan.graph_name,
        machine.namespace,
        machine.scope.thread_id,
        loaded.checkpoint["id"],
        changes,
    )


def _failed(failure: FailedConversionError) -> GraphChange:
    cause = failure.__cause__
    return GraphChange(
        "field",
        failure.name,
        type(failure.value).__qualname__,
        "",
        f"The function that convert_field({failure.name!r}, ...) was given raised {type(cause).__qualname__} ({cause}) for a stored "
        f"value of type {type(failure.value).__qualname__}.",
        "Let it take every value that threads hold, and every single write to the field.",
    )


def _warn(machine: Machine, gone: list[GraphChange]) -> None:
    if not gone:
        return
    from warnings import warn

    from stepgraph.warnings import GraphChangedWarning

    for change in gone:
        warn(
            f"Graph {machine.plan.graph_name!r} goes on with thread {machine.scope.thread_id!r}. {change.problem} The value stays "
            f"stored, but no node sees it. {change.mend}",
            GraphChangedWarning,
            stacklevel=2,
        )
