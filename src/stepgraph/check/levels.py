"""The graphs that a check looks at: the one that was given, and all that its nodes run, each with where it stands.

Rules: a graph that occurs again inside itself is looked at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stepgraph.check.code import Code, code_of
from stepgraph.pregel.subgraphs import find_subgraphs
from stepgraph.values.findings import Finding, Severity

if TYPE_CHECKING:
    from stepgraph.graph.state import StateGraph


class Level:
    """One graph at one place.

    Attributes:
        graph: The compiled graph.
        builder: Its declaration.
        path: The names of the nodes that lead to it.
        above: The level above.
        is_node: Whether it is the node itself, and not called by the node's function.
    """

    def __init__(self, graph: Any, path: tuple[str, ...], above: Level | None, is_node: bool) -> None:
        self.graph = graph
        self.builder: StateGraph[Any, Any, Any, Any] = graph.builder
        self.path = path
        self.above = above
        self.is_node = is_node

    @cached_property
    def codes(self) -> dict[str, Code]:
        """What is known of each node's function."""
        return {name: code_of(spec.action) for name, spec in self.builder.nodes.items()}

    @cached_property
    def paths(self) -> dict[tuple[str, str], Code]:
        """What is known of each path function, by source and name of the branch."""
        return {
            (source, name): code_of(branch.path)
            for source, branches in self.builder.branches.items()
            for name, branch in branches.items()
        }

    @property
    def at(self) -> str:
        return "|".join(self.path)

    def finding(
        self, code: str, severity: Severity, problem: str, why: str, mend: str, place: str = ""
    ) -> Finding:
        """A finding at this level."""
        return Finding(code, severity, self.graph.name, self.at, problem, why, mend, place)

    def fields(self) -> dict[str, Any]:
        """Field to its spec, of those that hold a value."""
        return {name: spec for name, spec in self.builder.fields.items() if not spec.is_managed}


def levels_of(graph: Any) -> Iterator[Level]:
    """The levels of a graph, outermost first."""
    if hasattr(graph, "builder"):
        yield from _levels(Level(graph, (), None, False), {id(graph.builder)})


def _levels(level: Level, seen: set[int]) -> Iterator[Level]:
    yield level
    for name, spec in level.builder.nodes.items():
        own = (spec.action,) if spec.is_subgraph else find_subgraphs(spec.action)
        for inner in own:
            if hasattr(inner, "builder") and id(inner.builder) not in seen:
                below = Level(inner, (*level.path, name), level, inner is spec.action)
                yield from _levels(below, {*seen, id(inner.builder)})


def field_place(spec: Any) -> str:
    """Where a field is declared, as `file:line`; empty if its schema's source is not there."""
    owner = spec.schema
    for cls in getattr(owner, "__mro__", (owner,)):
        if spec.name in getattr(cls, "__annotations__", {}):
            owner = cls
            break
    try:
        lines, first = inspect.getsourcelines(owner)
        file = inspect.getsourcefile(owner)
    except (OSError, TypeError):
        return ""
    for offset, line in enumerate(lines):
        if line.strip().startswith(f"{spec.name}:"):
            return f"{file}:{first + offset}"
    return f"{file}:{first}"
