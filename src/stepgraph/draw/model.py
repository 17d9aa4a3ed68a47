"""Nodes and edges of a drawable graph, and the view of such a graph that the drawing modules share.

Plain values; this module imports no other of this room.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

START_NAME = "__start__"
END_NAME = "__end__"
GROUP_SEPARATOR = ":"


class Node(NamedTuple):
    """A node: its unique ``id``, the ``name`` shown, what it runs (``data``), and what is known about it."""

    id: str
    name: str
    data: Any = None
    metadata: dict[str, Any] | None = None

    def copy(self, *, id: str | None = None, name: str | None = None) -> Node:
        """The same node under another id or name."""
        return Node(id or self.id, name or self.name, self.data, self.metadata)


class Edge(NamedTuple):
    """An edge from one node id to another; ``data`` is its label; ``conditional`` edges may or may not be taken."""

    source: str
    target: str
    data: Any = None
    conditional: bool = False

    def copy(self, *, source: str | None = None, target: str | None = None) -> Edge:
        """The same edge between other nodes."""
        return Edge(source or self.source, target or self.target, self.data, self.conditional)

    @property
    def label(self) -> str:
        """The text to write at the edge, empty for none."""
        return "" if self.data is None else str(self.data)


class Drawable(Protocol):
    """What a drawing needs to know of a graph."""

    nodes: dict[str, Node]
    edges: list[Edge]

    def first_node(self) -> Node | None: ...
    def last_node(self) -> Node | None: ...


def group_of(node_id: str) -> tuple[str, ...]:
    """The nested groups that a node stands in, outermost first.

    >>> group_of("research:search:fetch")
    ('research', 'search')
    """
    return tuple(node_id.split(GROUP_SEPARATOR)[:-1])


def metadata_lines(metadata: dict[str, Any] | None) -> list[str]:
    """What is worth showing of a node's metadata: plain values and lists of plain values, as ``key = value``.

    >>> metadata_lines({"defer": True, "tags": ["a", "b"], "deep": {"x": 1}})
    ['defer = True', 'tags = a, b']
    """
    lines = []
    for key, value in (metadata or {}).items():
        if isinstance(value, (str, int, float, bool)):
            lines.append(f"{key} = {value}")
        elif isinstance(value, (list, tuple)) and all(
            isinstance(part, (str, int, float, bool)) for part in value
        ):
            lines.append(f"{key} = {', '.join(str(part) for part in value)}")
    return lines
