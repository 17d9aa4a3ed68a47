"""Sorts a graph into nested levels, and every edge into the levels that it passes.

A level is the inside of one group (the root is the whole graph). Its items are nodes and child groups; seen from the
level, a child group is one box. An edge is a *link* on the level where the ways to its two ends part, and a *port* on
every level below that: there it comes in over the border, or goes out over it.

``direct`` then decides which links run against the flow. A drawing runs from top to bottom, so a link that closes a
cycle is a backward one: it is laid out upside down, from its target to its source, and enters its target from below.
Levels are directed from the outside in, because a backward link also turns its ports around.
"""

from __future__ import annotations

from stepgraph.draw.model import Drawable, Edge, Node, group_of


class Item:
    """A node or a child group, as one box of a level."""

    __slots__ = ("level", "loops", "node")

    def __init__(self, node: Node | None, level: Level | None) -> None:
        self.node = node
        self.level = level
        self.loops: list[int] = []


class Link:
    """An edge between two items of one level."""

    __slots__ = ("backward", "edge", "source", "target")

    def __init__(self, edge: int, source: int, target: int) -> None:
        self.edge = edge
        self.source = source
        self.target = target
        self.backward = False

    @property
    def upper(self) -> int:
        """The item that stands higher."""
        return self.target if self.backward else self.source

    @property
    def lower(self) -> int:
        """The item that stands lower."""
        return self.source if self.backward else self.target


class Port:
    """A place where an edge crosses the border of a level, on its way to or from one of its items."""

    __slots__ = ("at_top", "edge", "entering", "item")

    def __init__(self, edge: int, item: int, entering: bool) -> None:
        self.edge = edge
        self.item = item
        self.entering = entering
        self.at_top = entering


class Level:
    """The inside of one group."""

    __slots__ = ("group", "items", "links", "ports")

    def __init__(self, group: tuple[str, ...]) -> None:
        self.group = group
        self.items: list[Item] = []
        self.links: list[Link] = []
        self.ports: list[Port] = []


Way = list[tuple[Level, int]]


def make_levels(graph: Drawable) -> Level:
    """Sort a graph into levels and direct its edges; returns the root."""
    root = Level(())
    levels: dict[tuple[str, ...], tuple[Level, Way]] = {(): (root, [])}
    ways: dict[str, Way] = {}
    for node in graph.nodes.values():
        level, way = _open(levels, group_of(node.id))
        level.items.append(Item(node, None))
        ways[node.id] = [*way, (level, len(level.items) - 1)]
    for number, edge in enumerate(graph.edges):
        _sort_edge(number, edge, ways)
    direct(root, {})
    return root


def direct(level: Level, backward: dict[int, bool]) -> None:
    """Decide which links of a level, and of all levels inside it, run backward.

    Args:
        level: The level.
        backward: What was decided for the edges of the levels around it.
    """
    for port in level.ports:
        port.at_top = port.entering != backward[port.edge]
    _find_backward_links(level)
    for link in level.links:
        backward[link.edge] = link.backward
    for item in level.items:
        if item.level is not None:
            direct(item.level, backward)


def _open(levels: dict[tuple[str, ...], tuple[Level, Way]], group: tuple[str, ...]) -> tuple[Level, Way]:
    if group not in levels:
        outer, way = _open(levels, group[:-1])
        level = Level(group)
        outer.items.append(Item(None, level))
        levels[group] = (level, [*way, (outer, len(outer.items) - 1)])
    return levels[group]


def _sort_edge(number: int, edge: Edge, ways: dict[str, Way]) -> None:
    source, target = ways[edge.source], ways[edge.target]
    depth = 0
    while depth < min(len(source), len(target)) - 1 and source[depth] == target[depth]:
        depth += 1
    level, start = source[depth]
    end = target[depth][1]
    if source == target:
        level.items[start].loops.append(number)
        return
    level.links.append(Link(number, start, end))
    for inner, item in source[depth + 1 :]:
        inner.ports.append(Port(number, item, entering=False))
    for inner, item in target[depth + 1 :]:
        inner.ports.append(Port(number, item, entering=True))


def _find_backward_links(level: Level) -> None:
    """Walk the level depth first; a link to an item that the walk is still inside of closes a cycle."""
    outgoing: list[list[Link]] = [[] for _ in level.items]
    reached = set()
    for link in level.links:
        outgoing[link.source].append(link)
        reached.add(link.target)
    entries = [port.item for port in level.ports if port.at_top]
    roots = [number for number in range(len(level.items)) if number not in reached]
    open_items: set[int] = set()
    done: set[int] = set()
    for root in [*entries, *roots, *range(len(level.items))]:
        if root in done:
            continue
        stack = [(root, iter(outgoing[root]))]
        open_items.add(root)
        while stack:
            number, links = stack[-1]
            step = next(links, None)
            if step is None:
                stack.pop()
                open_items.discard(number)
                done.add(number)
            elif step.target in open_items:
                step.backward = True
            elif step.target not in done:
                open_items.add(step.target)
                stack.append((step.target, iter(outgoing[step.target])))
