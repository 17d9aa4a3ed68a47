"""Checking declared migrations against the graph that they lead to, and putting them into its plan.

Rules: like all of compiling, it runs no code of a person. A migration must end at something that the graph has, or at
something that a later migration takes further.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgraph.values.migrations import ConvertField, Migration, RemoveField, RenameField, RenameNode
from stepgraph.values.names import NS_SEP

if TYPE_CHECKING:
    from stepgraph.pregel.plan import Plan


def plan_migrations(plan: Plan, migrations: Sequence[Migration]) -> None:
    """Put migrations into a plan: its own, and those of graphs inside.

    Raises:
        TypeError: One is no migration.
        ValueError: One names a graph, node or field that does not exist.
    """
    listed = tuple(migrations)
    for migration in listed:
        if not isinstance(migration, Migration):
            raise TypeError(
                f"migrations takes what rename_node, rename_field, convert_field and remove_field of stepgraph.migrations "
                f"make; graph {plan.graph_name!r} was given {migration!r}"
            )
    for at in {migration.at: None for migration in listed}:
        there = [migration for migration in listed if migration.at == at]
        for level in _plans_at(plan, at):
            for index, migration in enumerate(there):
                _check(level, migration, there[index + 1 :])
    plan.migrations = tuple(migration for migration in listed if not migration.at)
    plan.deep_migrations = tuple(
        (tuple(migration.at.split(NS_SEP)), migration) for migration in listed if migration.at
    )


def _plans_at(plan: Plan, at: str) -> list[Plan]:
    """The plans of the graphs that the last node of a path runs."""
    plans = [plan]
    for name in at.split(NS_SEP) if at else ():
        known = [inner.nodes[name] for inner in plans if name in inner.nodes]
        plans = [graph.plan for node in known for graph in node.subgraphs]
        if not plans:
            raise ValueError(
                f"A migration of graph {plan.graph_name!r} says at={at!r}, but there is no node {name!r} on that path that runs a "
                "graph. Name the nodes that lead to the nested graph as they are called now, joined by '|'."
            )
    return plans


def _check(plan: Plan, migration: Migration, later: Sequence[Migration]) -> None:
    """A migration must end at something that is there."""
    nodes = [name for name, node in plan.nodes.items() if not node.hidden]
    if isinstance(migration, RenameNode):
        onward = {m.old for m in later if isinstance(m, RenameNode)}
        _require("node", migration, migration.new, nodes, onward, plan)
    elif isinstance(migration, (RenameField, ConvertField)):
        end = migration.new if isinstance(migration, RenameField) else migration.name
        onward = {m.old for m in later if isinstance(m, RenameField)}
        onward |= {m.name for m in later if isinstance(m, RemoveField)}
        _require("field", migration, end, plan.fields, onward, plan)


def _require(
    kind: str, migration: Migration, name: str, present: Sequence[str], onward: set[str], plan: Plan
) -> None:
    if name not in present and name not in onward:
        raise ValueError(
            f"{migration!r} leads to {kind} {name!r}, which graph {plan.graph_name!r} does not have. Its {kind}s are: "
            f"{', '.join(map(repr, present))}."
        )
