"""The measures of a drawing medium: what the layout asks of the terminal or of the picture.

The layout itself knows no pixels and no characters. Sizes are in units of the medium; a medium of characters snaps
positions to whole ones and gives borders a thickness of one.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from stepgraph.draw.model import Node


class Point(NamedTuple):
    """A place of the drawing; y grows downward."""

    x: float
    y: float


class Size(NamedTuple):
    """Width and height."""

    width: float
    height: float


class Hop(NamedTuple):
    """A piece of a line that crosses the channel between two layers."""

    upper_x: float
    lower_x: float
    from_box: bool
    to_box: bool


class Channel(NamedTuple):
    """The space between two layers: its height, and the bends of each hop, with y counted from the channel's top."""

    height: float
    bends: list[list[Point]]


class Metrics(Protocol):
    """The measures of a medium."""

    border: float
    """Thickness of the border of a box: lines begin on it."""
    box_gap: float
    """Room between neighbours of a layer that are boxes or labels."""
    line_gap: float
    """Room beside a passing line."""
    port_gap: float
    """Room between two lines at the same side of a box."""
    port_pull: float
    """How far the place where a line meets a box follows the line's other end: 0 not at all, 1 wholly."""
    port_slack: float
    """How far the lines at a side may stand away from its middle to run straight."""
    bend_cost: float
    """Which detour is as bad as a bend."""
    frame_side: float
    frame_top: float
    frame_bottom: float
    """Room between the frame of a group and what stands inside."""

    def snap(self, x: float) -> float:
        """The nearest place that the medium has."""
        ...

    def node_size(self, node: Node, lines: int) -> Size:
        """Size of a node's box where up to ``lines`` lines meet one of its sides."""
        ...

    def label_size(self, text: str) -> Size:
        """Size of an edge's label, with the room around it."""
        ...

    def title_width(self, title: str) -> float:
        """Width of the title in a group's frame, with the room around it."""
        ...

    def loop_width(self, labels: list[str]) -> float:
        """Room that loops with these labels (empty texts among them) need beside a node."""
        ...

    def channel(self, hops: list[Hop]) -> Channel:
        """Lead hops through the space between two layers."""
        ...
