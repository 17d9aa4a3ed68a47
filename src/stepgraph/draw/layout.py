"""Puts a graph's boxes, frames and lines in their places, in the measures of any medium.

Levels are laid out from the inside out: a finished level becomes one box of the level around it, with its ports as the
places where lines meet that box. A line that crosses frames is then joined from its parts, one a level.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from stepgraph.draw.levels import Item, Level, make_levels
from stepgraph.draw.metrics import Hop, Metrics, Point
from stepgraph.draw.model import Drawable, Edge, Node
from stepgraph.draw.ordering import Cell, Joint, Kind, Layers, Wire, make_layers, order_layers
from stepgraph.draw.placing import place_across
from stepgraph.draw.ranks import rank_items


class Box(NamedTuple):
    """The box of a node."""

    node: Node
    x: float
    y: float
    width: float
    height: float


class Frame(NamedTuple):
    """The frame of a group; ``depth`` is 1 for the outermost, ``title_x`` says where its title begins."""

    title: str
    x: float
    y: float
    width: float
    height: float
    depth: int
    title_x: float


class Route(NamedTuple):
    """The line of an edge, from its source to its target; between places with unlike x the medium may curve."""

    edge: Edge
    points: list[Point]


class Label(NamedTuple):
    """The label of an edge, by the middle of its text."""

    edge: Edge
    x: float
    y: float


class Loop(NamedTuple):
    """The edges from a node to itself, at the right side of its box; ``x`` is where that box ends."""

    edges: list[Edge]
    x: float
    y: float
    height: float


class Layout:
    """A finished drawing without its ink: where everything stands. The drawing begins at (0, 0)."""

    __slots__ = ("boxes", "frames", "height", "labels", "loops", "parts", "ports", "routes", "width")

    def __init__(self) -> None:
        self.width = self.height = 0.0
        self.boxes: list[Box] = []
        self.frames: list[Frame] = []
        self.labels: list[Label] = []
        self.loops: list[Loop] = []
        self.routes: list[Route] = []
        self.parts: dict[int, list[Point]] = {}
        """Of each edge the part inside this level, from source to target."""
        self.ports: dict[int, float] = {}
        """Where each crossing edge meets the border: x by edge."""


def lay_out(graph: Drawable, metrics: Metrics) -> Layout:
    """Find the places of everything in a graph's drawing.

    Args:
        graph: The graph.
        metrics: The measures of the medium.
    """
    layout = LevelLayout(make_levels(graph), graph.edges, metrics).run()
    for number, edge in enumerate(graph.edges):
        if number in layout.parts:
            layout.routes.append(Route(edge, _without_repeats(layout.parts[number])))
    return layout


class LevelLayout:
    """The layout of one level at work."""

    def __init__(self, level: Level, edges: list[Edge], metrics: Metrics) -> None:
        self.level = level
        self.edges = edges
        self.metrics = metrics
        self.inner = {
            number: LevelLayout(item.level, edges, metrics).run()
            for number, item in enumerate(level.items)
            if item.level is not None
        }
        self.inner_parts: dict[int, dict[int, list[Point]]] = {}
        self.result = Layout()

    def run(self) -> Layout:
        """Lay the level out."""
        labels = {link.edge: text for link in self.level.links if (text := self.edges[link.edge].label)}
        layers = make_layers(self.level, rank_items(self.level, bool(labels)), labels)
        self._measure(layers)
        order_layers(layers)
        place_across(layers, self.metrics)
        bends = self._place_down(layers)
        self._collect_boxes(layers)
        self._collect_lines(layers, bends)
        self._frame()
        return self.result

    def _measure(self, layers: Layers) -> None:
        for cell, item in zip(layers.items, self.level.items, strict=True):
            if item.node is not None:
                self._measure_node(cell, item, item.node)
            else:
                self._measure_group(cell, self.inner[cell.item])
        for row in layers.rows:
            for cell in row:
                if cell.kind is Kind.LABEL and cell.wire is not None:
                    size = self.metrics.label_size(self.edges[cell.wire.edge].label)
                    cell.left, cell.right, cell.height = size.width / 2, size.width / 2, size.height

    def _measure_node(self, cell: Cell, item: Item, node: Node) -> None:
        size = self.metrics.node_size(node, max(len(cell.uppers), len(cell.lowers)))
        cell.node_width, cell.height = size
        cell.left = self.metrics.snap(size.width / 2)
        cell.right = size.width - cell.left
        if item.loops:
            cell.right += self.metrics.loop_width([self.edges[number].label for number in item.loops])

    def _measure_group(self, cell: Cell, inner: Layout) -> None:
        cell.is_group = True
        cell.node_width, cell.height = inner.width, inner.height
        cell.left = self.metrics.snap(inner.width / 2)
        cell.right = inner.width - cell.left
        for joint in cell.uppers:
            joint.lower_offset = inner.ports[joint.wire.edge] - cell.left
        for joint in cell.lowers:
            joint.upper_offset = inner.ports[joint.wire.edge] - cell.left

    def _place_down(self, layers: Layers) -> dict[int, list[Point]]:
        """Set the ``y`` of all cells; returns the bends of every joint, by its identity."""
        bends: dict[int, list[Point]] = {}
        y = 0.0
        for number, row in enumerate(layers.rows):
            height = max((cell.height for cell in row), default=0.0)
            for cell in row:
                cell.y = y + self.metrics.snap((height - cell.height) / 2)
            y += height
            joints = [joint for cell in row for joint in cell.lowers]
            if number < len(layers.rows) - 1:
                channel = self.metrics.channel([_hop(joint) for joint in joints])
                for joint, hop_bends in zip(joints, channel.bends, strict=True):
                    bends[id(joint)] = [Point(x, y + down) for x, down in hop_bends]
                y += channel.height
        self.result.height = y
        self.result.width = max((cell.x + cell.right for row in layers.rows for cell in row), default=0.0)
        return bends

    def _collect_boxes(self, layers: Layers) -> None:
        for cell, item in zip(layers.items, self.level.items, strict=True):
            left = cell.x - cell.left
            if item.node is None:
                self.inner_parts[cell.item] = _absorb(self.result, self.inner[cell.item], left, cell.y)
                continue
            self.result.boxes.append(Box(item.node, left, cell.y, cell.node_width, cell.height))
            if item.loops:
                loops = [self.edges[number] for number in item.loops]
                self.result.loops.append(Loop(loops, left + cell.node_width, cell.y, cell.height))
        for row in layers.rows:
            for cell in row:
                if cell.kind is Kind.LABEL and cell.wire is not None:
                    edge = self.edges[cell.wire.edge]
                    self.result.labels.append(Label(edge, cell.x, cell.y + cell.height / 2))

    def _collect_lines(self, layers: Layers, bends: dict[int, list[Point]]) -> None:
        for parts in self.inner_parts.values():
            self.result.parts.update(parts)
        ends = {link.edge: (link.source, link.target) for link in self.level.links}
        for port in self.level.ports:
            ends[port.edge] = (-1, port.item) if port.entering else (port.item, -1)
        for wire in layers.wires:
            source, target = ends[wire.edge]
            before = self.inner_parts.get(source, {}).get(wire.edge, [])
            after = self.inner_parts.get(target, {}).get(wire.edge, [])
            self.result.parts[wire.edge] = before + self._own_part(wire, bends) + after
            for cell in (wire.cells[0], wire.cells[-1]):
                if cell.kind is Kind.PORT:
                    self.result.ports[wire.edge] = cell.x

    def _own_part(self, wire: Wire, bends: dict[int, list[Point]]) -> list[Point]:
        first, last = wire.joints[0], wire.joints[-1]
        bottom = first.upper.y + max(0.0, first.upper.height - self.metrics.border)
        points = [Point(first.upper_x, bottom)]
        for joint in wire.joints:
            points += bends[id(joint)]
        points.append(Point(last.lower_x, last.lower.y))
        return points[::-1] if wire.upward else points

    def _frame(self) -> None:
        """Put the group's frame around a finished level; all places move right and down by the frame's room."""
        if not self.level.group:
            return
        metrics, result = self.metrics, self.result
        title = self.level.group[-1]
        top_ports = sorted(result.ports[port.edge] for port in self.level.ports if port.at_top)
        title_width = metrics.title_width(title)
        width = result.width + 2 * metrics.frame_side
        edges = [0.0, *(x + metrics.frame_side for x in top_ports), width]
        gaps = itertools.pairwise(edges)
        title_x = next((left for left, right in gaps if right - left >= title_width), edges[-2])
        width = max(width, title_x + title_width)
        height = result.height + metrics.frame_top + metrics.frame_bottom
        framed = Layout()
        framed.frames.append(Frame(title, 0.0, 0.0, width, height, len(self.level.group), title_x))
        framed.ports = {edge: x + metrics.frame_side for edge, x in result.ports.items()}
        framed.parts = _absorb(framed, result, metrics.frame_side, metrics.frame_top)
        framed.width, framed.height = width, height
        self.result = framed


def _absorb(outer: Layout, inner: Layout, right: float, down: float) -> dict[int, list[Point]]:
    """Move all that stands in a finished layout into another one; returns the moved parts of lines."""
    outer.boxes += [box._replace(x=box.x + right, y=box.y + down) for box in inner.boxes]
    outer.frames += [
        frame._replace(x=frame.x + right, y=frame.y + down, title_x=frame.title_x + right)
        for frame in inner.frames
    ]
    outer.labels += [label._replace(x=label.x + right, y=label.y + down) for label in inner.labels]
    outer.loops += [loop._replace(x=loop.x + right, y=loop.y + down) for loop in inner.loops]
    return {edge: [Point(x + right, y + down) for x, y in points] for edge, points in inner.parts.items()}


def _hop(joint: Joint) -> Hop:
    return Hop(
        joint.upper_x,
        joint.lower_x,
        from_box=joint.upper.kind is Kind.ITEM,
        to_box=joint.lower.kind is Kind.ITEM,
    )


def _without_repeats(points: list[Point]) -> list[Point]:
    return [point for number, point in enumerate(points) if number == 0 or point != points[number - 1]]
