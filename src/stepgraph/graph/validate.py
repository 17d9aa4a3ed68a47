"""What must hold of a declared graph before it is compiled; one function a rule.

Each rule takes the builder and raises ValueError where the declaration is broken. What only smells is for `check`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stepgraph.values.names import END, START
from stepgraph.values.spelling import nearest

if TYPE_CHECKING:
    from stepgraph.graph.state import StateGraph


def validate(builder: StateGraph, interrupts: Iterable[str] = ()) -> None:
    """Apply every rule."""
    edges_start_at_nodes(builder)
    has_an_entry_point(builder)
    edges_end_at_nodes(builder)
    branches_end_at_nodes(builder)
    destinations_are_nodes(builder)
    interrupts_name_nodes(builder, interrupts)


def edges_start_at_nodes(builder: StateGraph) -> None:
    sources = {source for source, _ in builder.edges} | {
        s for starts, _ in builder.waiting_edges for s in starts
    }
    for source in sorted(sources | set(builder.branches)):
        if source not in builder.nodes and source != START:
            raise ValueError(f"Found edge starting at unknown node '{source}'{hint(builder, source)}")


def has_an_entry_point(builder: StateGraph) -> None:
    if START not in builder.branches and all(source != START for source, _ in builder.edges):
        raise ValueError("Graph must have an entrypoint: add at least one edge from START to another node")


def edges_end_at_nodes(builder: StateGraph) -> None:
    targets = {target for _, target in builder.edges} | {target for _, target in builder.waiting_edges}
    for target in sorted(targets):
        if target not in builder.nodes and target != END:
            raise ValueError(f"Found edge ending at unknown node `{target}`{hint(builder, target)}")


def branches_end_at_nodes(builder: StateGraph) -> None:
    for source, branches in builder.branches.items():
        for name, branch in branches.items():
            for target in (branch.ends or {}).values():
                if target not in builder.nodes and target != END:
                    raise ValueError(
                        f"At '{source}' node, '{name}' branch found unknown target '{target}'{hint(builder, target)}"
                    )


def destinations_are_nodes(builder: StateGraph) -> None:
    for spec in builder.nodes.values():
        for target in spec.ends:
            if target not in builder.nodes and target != END:
                raise ValueError(
                    f"Node '{spec.name}' names unknown destination '{target}' (in destinations=... or in the Literal of its "
                    f"Command return){hint(builder, target)}"
                )


def interrupts_name_nodes(builder: StateGraph, interrupts: Iterable[str]) -> None:
    for name in interrupts:
        if name not in builder.nodes:
            raise ValueError(f"Interrupt node `{name}` not found{hint(builder, name)}")


def hint(builder: StateGraph, name: object) -> str:
    """The nearest known name, or all of them."""
    close = nearest(name, builder.nodes)
    if close is not None:
        return f". Did you mean {close!r}?"
    return f". The graph's nodes are: {', '.join(map(repr, builder.nodes)) or 'none'}."
