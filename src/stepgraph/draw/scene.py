"""What a picture shows, as plain shapes in painting order: the common ground of SVG and PNG.

Brings the measures of a picture (``PictureMetrics``) and turns a layout into rectangles, paths, polygons and texts.
Backends paint the shapes one after the other and decide nothing. Units are pixels at scale one.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from stepgraph.draw.font_widths import text_length
from stepgraph.draw.layout import Box, Frame, Label, Layout, Loop, Route, lay_out
from stepgraph.draw.metrics import Channel, Hop, Point, Size
from stepgraph.draw.model import END_NAME, START_NAME, Drawable, Node
from stepgraph.draw.styles import NodeStyles, StyleSheet, declarations
from stepgraph.draw.text import detail_lines, label_lines, name_lines

NAME_SIZE, NAME_STEP = 14.0, 18.0
DETAIL_SIZE, DETAIL_STEP = 11.0, 14.0
LABEL_SIZE, LABEL_STEP = 12.0, 15.0
TITLE_SIZE = 12.0
INK = "#1f1b2e"
NODE_FILL, NODE_STROKE = "#f2f0ff", "#9370db"
LINE_COLOR = "#6b6580"
DETAIL_COLOR = "#6b6580"
LABEL_COLOR = "#453f5c"
FRAME_STROKE, TITLE_COLOR = "#c4b8ec", "#6a54b0"
FRAME_FILLS = ("#faf9ff", "#f4f2fe", "#eeebfc")
ARROW_LENGTH, ARROW_HALF_WIDTH = 9.0, 4.0
STUB = 10.0
SAME_PLACE = 0.01


class Rectangle(NamedTuple):
    """A rectangle with round corners; ``fill`` or ``stroke`` may be empty for none."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str
    stroke: str


class Curve(NamedTuple):
    """A cubic Bézier piece from where the path is to ``end``."""

    first_control: Point
    second_control: Point
    end: Point


class Path(NamedTuple):
    """An open line of straight and curved pieces."""

    start: Point
    pieces: list[Point | Curve]
    dashed: bool
    color: str


class Polygon(NamedTuple):
    """A filled polygon."""

    points: list[Point]
    fill: str


class Text(NamedTuple):
    """One line of text, by its middle; ``anchor`` is ``middle`` or ``start`` and says where ``x`` is."""

    x: float
    y: float
    text: str
    size: float
    color: str
    anchor: str
    max_width: float


Shape = Rectangle | Path | Polygon | Text


class Scene(NamedTuple):
    """A picture: its size and its shapes, in painting order."""

    width: float
    height: float
    shapes: list[Shape]


class PictureMetrics:
    """The measures of a picture."""

    border = 0.0
    box_gap = 34.0
    line_gap = 16.0
    port_gap = 16.0
    port_pull = 1.0
    port_slack = 14.0
    bend_cost = 24.0
    frame_side = 18.0
    frame_top = 28.0
    frame_bottom = 16.0

    def snap(self, x: float) -> float:
        """Every place is fine."""
        return x

    def node_size(self, node: Node, lines: int) -> Size:
        """Room for the texts, and for all lines that meet a side."""
        names, details = name_lines(node), detail_lines(node)
        width = max(text_length(line, NAME_SIZE) for line in names) + 32.0
        width = max([width, 60.0, *(text_length(line, DETAIL_SIZE) + 24.0 for line in details)])
        height = 18.0 + NAME_STEP * len(names) + (DETAIL_STEP * len(details) + 2.0 if details else 0.0)
        corners = height / 2 if node.name in (START_NAME, END_NAME) else self.port_gap / 2
        return Size(max(width, (lines - 1) * self.port_gap + 2 * corners), height)

    def label_size(self, text: str) -> Size:
        """The label's lines with a margin."""
        lines = label_lines(text)
        width = max(text_length(line, LABEL_SIZE) for line in lines)
        return Size(width + 14.0, LABEL_STEP * len(lines) + 4.0)

    def title_width(self, title: str) -> float:
        """The title with a margin."""
        return text_length(title, TITLE_SIZE) + 24.0

    def loop_width(self, labels: list[str]) -> float:
        """The bow of the loop and the labels at its right."""
        return 34.0 + max((text_length(line, LABEL_SIZE) for line in _loop_lines(labels)), default=0.0)

    def channel(self, hops: list[Hop]) -> Channel:
        """Leave and enter boxes upright, and give wide hops more height to bend in."""
        if not hops:
            return Channel(self.box_gap, [])
        widest = max(abs(hop.upper_x - hop.lower_x) for hop in hops)
        base = 50.0 if any(hop.from_box and hop.to_box for hop in hops) else 28.0
        height = base + min(widest * 0.08, 40.0)
        bends = [
            [
                Point(hop.upper_x, STUB if hop.from_box else 0.0),
                Point(hop.lower_x, height - STUB if hop.to_box else height),
            ]
            for hop in hops
        ]
        return Channel(height, bends)


def make_scene(graph: Drawable, node_colors: StyleSheet | None = None) -> Scene:
    """Lay a graph out and turn it into shapes.

    Args:
        graph: The graph.
        node_colors: CSS of the nodes; ``fill``, ``stroke``, ``color`` and ``fill-opacity:0`` are read.
    """
    layout = lay_out(graph, PictureMetrics())
    styles = node_colors or NodeStyles()
    first, last = graph.first_node(), graph.last_node()
    shapes: list[Shape] = []
    for frame in layout.frames:
        shapes += _frame_shapes(frame)
    for route in layout.routes:
        shapes += _route_shapes(route, layout.labels)
    for loop in layout.loops:
        shapes += _loop_shapes(loop)
    for box in layout.boxes:
        css, is_end = styles.default, False
        if box.node in (first, last):
            css, is_end = (styles.last if box.node == last else styles.first), True
        shapes += _box_shapes(box, {**declarations(styles.default), **declarations(css)}, is_end=is_end)
    for label in layout.labels:
        shapes += _label_shapes(label)
    return Scene(layout.width, layout.height, shapes) if layout.boxes else _empty(layout)


def _empty(layout: Layout) -> Scene:
    return Scene(max(layout.width, 1.0), max(layout.height, 1.0), [])


def _loop_lines(labels: list[str]) -> list[str]:
    return label_lines(", ".join(label for label in labels if label)) if any(labels) else []


def _frame_shapes(frame: Frame) -> list[Shape]:
    fill = FRAME_FILLS[min(frame.depth, len(FRAME_FILLS)) - 1]
    return [
        Rectangle(frame.x, frame.y, frame.width, frame.height, 10.0, fill, FRAME_STROKE),
        Text(
            frame.title_x + 12.0,
            frame.y + 14.0,
            frame.title,
            TITLE_SIZE,
            TITLE_COLOR,
            "start",
            frame.width - 16.0,
        ),
    ]


def _box_shapes(box: Box, css: dict[str, str], *, is_end: bool) -> list[Shape]:
    fill = "" if css.get("fill-opacity") == "0" else css.get("fill", NODE_FILL)
    radius = box.height / 2 if is_end else 7.0
    stroke, color = css.get("stroke", NODE_STROKE), css.get("color", INK)
    shapes: list[Shape] = [Rectangle(box.x, box.y, box.width, box.height, radius, fill, stroke)]
    middle = box.x + box.width / 2
    names, details = name_lines(box.node), detail_lines(box.node)
    y = box.y + 9.0 + NAME_STEP / 2
    for line in names:
        shapes.append(Text(middle, y, line, NAME_SIZE, color, "middle", box.width - 12.0))
        y += NAME_STEP
    y += 2.0 + (DETAIL_STEP - NAME_STEP) / 2
    for line in details:
        shapes.append(Text(middle, y, line, DETAIL_SIZE, DETAIL_COLOR, "middle", box.width - 12.0))
        y += DETAIL_STEP
    return shapes


def _route_shapes(route: Route, labels: list[Label]) -> list[Shape]:
    """The line, with a gap where its label stands, and the arrow head."""
    end, before = route.points[-1], route.points[-2]
    down = 1.0 if end.y > before.y else -1.0
    base = Point(end.x, end.y - down * ARROW_LENGTH)
    stops = [*route.points[:-1], base]
    paths = [Path(stops[0], [], route.edge.conditional, LINE_COLOR)]
    for start, stop in pairwise(stops):
        if start.x != stop.x:
            half = (stop.y - start.y) / 2
            paths[-1].pieces.append(Curve(Point(start.x, start.y + half), Point(stop.x, stop.y - half), stop))
            continue
        for label in labels:
            if label.edge == route.edge and _stands_between(label, start, stop):
                gap = math.copysign(label_height(label) / 2, stop.y - start.y)
                paths[-1].pieces.append(Point(stop.x, label.y - gap))
                paths.append(Path(Point(stop.x, label.y + gap), [], route.edge.conditional, LINE_COLOR))
        paths[-1].pieces.append(stop)
    head = [end, Point(base.x - ARROW_HALF_WIDTH, base.y), Point(base.x + ARROW_HALF_WIDTH, base.y)]
    return [*paths, Polygon(head, LINE_COLOR)]


def _stands_between(label: Label, start: Point, stop: Point) -> bool:
    low, high = sorted((start.y, stop.y))
    return abs(label.x - start.x) < SAME_PLACE and low < label.y < high


def label_height(label: Label) -> float:
    """The height of an edge's label with its margin."""
    return LABEL_STEP * len(label_lines(label.edge.label)) + 4.0


def _loop_shapes(loop: Loop) -> list[Shape]:
    upper, lower = loop.y + loop.height * 0.28, loop.y + loop.height * 0.72
    start, end = Point(loop.x, upper), Point(loop.x + ARROW_LENGTH, lower)
    curve = Curve(Point(loop.x + 30.0, upper - 6.0), Point(loop.x + 32.0, lower + 3.0), end)
    dashed = all(edge.conditional for edge in loop.edges)
    head = [
        Point(loop.x, lower),
        Point(end.x, lower - ARROW_HALF_WIDTH),
        Point(end.x, lower + ARROW_HALF_WIDTH),
    ]
    shapes: list[Shape] = [Path(start, [curve], dashed, LINE_COLOR), Polygon(head, LINE_COLOR)]
    lines = _loop_lines([edge.label for edge in loop.edges])
    y = loop.y + loop.height / 2 - LABEL_STEP * (len(lines) - 1) / 2
    for line in lines:
        width = text_length(line, LABEL_SIZE)
        shapes.append(Text(loop.x + 30.0, y, line, LABEL_SIZE, LABEL_COLOR, "start", width + 6.0))
        y += LABEL_STEP
    return shapes


def _label_shapes(label: Label) -> list[Shape]:
    lines = label_lines(label.edge.label)
    y = label.y - LABEL_STEP * (len(lines) - 1) / 2
    shapes: list[Shape] = []
    for line in lines:
        width = text_length(line, LABEL_SIZE) + 8.0
        shapes.append(Text(label.x, y, line, LABEL_SIZE, LABEL_COLOR, "middle", width))
        y += LABEL_STEP
    return shapes
