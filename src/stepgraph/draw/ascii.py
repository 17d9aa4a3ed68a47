"""A graph as a drawing for the terminal, in ASCII or box-drawing characters.

Nodes are boxes (the first and the last with round corners), groups are frames with their title in the border. Edges are
right-angled lines that no other line touches except to cross it; dashed ones (``:`` and ``.`` in ASCII) are conditional.
An arrow that points up leads back into a cycle.
"""

from __future__ import annotations

import itertools
import math

from stepgraph.draw.canvas import DOWN, LEFT, UP, Canvas, text_width
from stepgraph.draw.layout import Box, Frame, Label, Loop, Route, lay_out
from stepgraph.draw.metrics import Channel, Hop, Size
from stepgraph.draw.model import Drawable, Node
from stepgraph.draw.text import detail_lines, label_lines, name_lines
from stepgraph.draw.tracks import route_hops

SAMPLE = "─│┌▼╎╌"


def draw_text(graph: Drawable, *, unicode: bool = False) -> str:
    """Draw a graph for the terminal.

    Args:
        graph: The graph.
        unicode: Use box-drawing characters; by default only ASCII ones.

    Returns:
        The lines of the drawing, without trailing blanks; empty for a graph without nodes.
    """
    layout = lay_out(graph, TextMetrics())
    canvas = Canvas(unicode)
    round_nodes = (graph.first_node(), graph.last_node())
    for frame in layout.frames:
        _draw_frame(canvas, frame)
    for box in layout.boxes:
        _draw_box(canvas, box, rounded=box.node in round_nodes)
    for route in layout.routes:
        _draw_route(canvas, route)
    for loop in layout.loops:
        _draw_loop(canvas, loop)
    for label in layout.labels:
        _draw_label(canvas, label)
    return canvas.render()


def encodable(encoding: str | None) -> bool:
    """Whether an output of this encoding can show box-drawing characters.

    >>> encodable("utf-8"), encodable("ascii"), encodable(None)
    (True, False, False)
    """
    try:
        SAMPLE.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class TextMetrics:
    """The measures of the terminal: columns and rows."""

    border = 1.0
    box_gap = 3.0
    line_gap = 2.0
    port_gap = 2.0
    port_pull = 1.0
    port_slack = math.inf
    bend_cost = 4.0
    frame_side = 3.0
    frame_top = 1.0
    frame_bottom = 1.0

    def snap(self, x: float) -> float:
        """The nearest whole column."""
        return float(math.ceil(x - 0.5))

    def node_size(self, node: Node, lines: int) -> Size:
        """The name and its details within a border, wide enough for all lines that meet a side."""
        texts = [*name_lines(node), *detail_lines(node)]
        width = max(max(map(text_width, texts)) + 4, 2 * lines + 3)
        return Size(float(width), float(len(texts) + 2))

    def label_size(self, text: str) -> Size:
        """The label's lines."""
        lines = label_lines(text)
        return Size(float(max(map(text_width, lines))), float(len(lines)))

    def title_width(self, title: str) -> float:
        """The title between blanks and pieces of the border."""
        return float(text_width(title) + 5)

    def loop_width(self, labels: list[str]) -> float:
        """The loop and the labels at its right."""
        lines = _loop_lines(labels)
        return 2.0 + max((text_width(line) + 1 for line in lines), default=0)

    def channel(self, hops: list[Hop]) -> Channel:
        """Right-angled ways through the rows between two layers."""
        return route_hops(hops)


def _loop_lines(labels: list[str]) -> list[str]:
    return label_lines(", ".join(label for label in labels if label)) if any(labels) else []


def _draw_frame(canvas: Canvas, frame: Frame) -> None:
    x, y = int(frame.x), int(frame.y)
    canvas.box(x, y, int(frame.width), int(frame.height))
    canvas.text(int(frame.title_x) + 2, y, f" {frame.title} ")


def _draw_box(canvas: Canvas, box: Box, *, rounded: bool) -> None:
    x, y, width, height = int(box.x), int(box.y), int(box.width), int(box.height)
    canvas.box(x, y, width, height, rounded)
    for number, line in enumerate([*name_lines(box.node), *detail_lines(box.node)]):
        canvas.text(x + (width - text_width(line)) // 2, y + 1 + number, line)


def _draw_route(canvas: Canvas, route: Route) -> None:
    dashed = route.edge.conditional
    cells = [(int(x), int(y)) for x, y in route.points]
    end_x, end_y = cells[-1]
    up = end_y < cells[-2][1]
    cells[-1] = (end_x, end_y + 1 if up else end_y - 1)
    for start, end in itertools.pairwise(cells):
        corner = (end[0], start[1])
        canvas.line(start, corner, dashed)
        canvas.line(corner, end, dashed)
    canvas.head(*cells[-1], UP if up else DOWN)


def _draw_loop(canvas: Canvas, loop: Loop) -> None:
    left, top, bottom = int(loop.x) - 1, int(loop.y), int(loop.y + loop.height) - 1
    right = left + 2
    dashed = all(edge.conditional for edge in loop.edges)
    canvas.line((left, top), (right, top), dashed)
    canvas.line((right, top), (right, bottom), dashed)
    canvas.line((right, bottom), (left + 1, bottom), dashed)
    canvas.head(left + 1, bottom, LEFT)
    lines = _loop_lines([edge.label for edge in loop.edges])
    first = (top + bottom + 1 - len(lines)) // 2
    for number, line in enumerate(lines):
        canvas.text(right + 2, first + number, line)


def _draw_label(canvas: Canvas, label: Label) -> None:
    lines = label_lines(label.edge.label)
    top = int(label.y - len(lines) / 2)
    for number, line in enumerate(lines):
        canvas.text(int(label.x) - text_width(line) // 2, top + number, line)
