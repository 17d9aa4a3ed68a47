"""Arranges a ranked level in layers of cells, and orders each layer so that few lines cross.

A *wire* is a link or a port's way as a chain of cells, one a layer, from the upper end to the lower: items (or the port)
at the ends, and in between *line* cells that keep room for the passing line, one of them a *label* cell if the edge has
a label. The order is found by barycenter sweeps and swaps of neighbours; the best order met is kept. Ties keep the order
in which nodes were declared, so equal graphs give equal drawings.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, insort
from collections.abc import Callable
from enum import Enum

from stepgraph.draw.levels import Level
from stepgraph.draw.ranks import Ranks

SWEEPS = 10
SWAP_PASSES = 8


class Kind(Enum):
    """What a cell of a layer holds."""

    ITEM = "item"
    LINE = "line"
    LABEL = "label"
    PORT = "port"


class Cell:
    """A place in a layer. ``left`` and ``right`` are the room it needs on either side of its ``x``."""

    __slots__ = (
        "height",
        "is_group",
        "item",
        "kind",
        "left",
        "lowers",
        "node_width",
        "position",
        "rank",
        "right",
        "uppers",
        "wire",
        "x",
        "y",
    )

    def __init__(self, kind: Kind, rank: int, item: int = -1, wire: Wire | None = None) -> None:
        self.kind = kind
        self.rank = rank
        self.item = item
        self.wire = wire
        self.position = 0
        self.is_group = False
        self.left = self.right = self.height = self.node_width = 0.0
        self.x = self.y = 0.0
        self.uppers: list[Joint] = []
        self.lowers: list[Joint] = []


class Joint:
    """A piece of a wire between cells of two neighbouring layers; the offsets say where on the cells it is fixed."""

    __slots__ = ("lower", "lower_offset", "upper", "upper_offset", "wire")

    def __init__(self, wire: Wire, upper: Cell, lower: Cell) -> None:
        self.wire = wire
        self.upper = upper
        self.lower = lower
        self.upper_offset = self.lower_offset = 0.0

    @property
    def upper_x(self) -> float:
        """Where the piece begins."""
        return self.upper.x + self.upper_offset

    @property
    def lower_x(self) -> float:
        """Where the piece ends."""
        return self.lower.x + self.lower_offset


class Wire:
    """The way of one edge through a level, from its upper to its lower end."""

    __slots__ = ("cells", "edge", "joints", "upward")

    def __init__(self, edge: int, upward: bool) -> None:
        self.edge = edge
        self.upward = upward
        self.cells: list[Cell] = []
        self.joints: list[Joint] = []


class Layers:
    """A level as layers of cells and the wires between them."""

    __slots__ = ("items", "rows", "wires")

    def __init__(self, rows: list[list[Cell]], items: list[Cell], wires: list[Wire]) -> None:
        self.rows = rows
        self.items = items
        self.wires = wires


def make_layers(level: Level, ranks: Ranks, labels: dict[int, str]) -> Layers:
    """Make the cells and wires of a ranked level, in the order of declaration.

    Args:
        level: The level.
        ranks: The ranks of its items.
        labels: The labels of the links of this level, by edge.
    """
    rows: list[list[Cell]] = [[] for _ in range(ranks.last + 1)]
    items = [Cell(Kind.ITEM, rank, number) for number, rank in enumerate(ranks.items)]
    for cell in items:
        rows[cell.rank].append(cell)
    wires = []
    for link in level.links:
        wire = Wire(link.edge, link.backward)
        wire.cells = [items[link.upper], items[link.lower]]
        wires.append(wire)
    for port in level.ports:
        wire = Wire(port.edge, port.at_top != port.entering)
        cell = Cell(Kind.PORT, ranks.top if port.at_top else ranks.bottom, wire=wire)
        rows[cell.rank].append(cell)
        wire.cells = [cell, items[port.item]] if port.at_top else [items[port.item], cell]
        wires.append(wire)
    for wire in wires:
        _fill(wire, rows, labels.get(wire.edge, ""))
    for row in rows:
        _number(row)
    return Layers(rows, items, wires)


def order_layers(layers: Layers) -> None:
    """Reorder every layer so that few lines cross."""
    rows = layers.rows
    best, fewest = [list(row) for row in rows], _crossings(rows)
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        downward = sweep % 2 == 0
        for row in rows[1:] if downward else rows[-2::-1]:
            _sort_by_neighbours(row, downward)
        _swap_neighbours(rows)
        crossings = _crossings(rows)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    for number, row in enumerate(best):
        rows[number] = row
        _number(row)


def _fill(wire: Wire, rows: list[list[Cell]], label: str) -> None:
    upper, lower = wire.cells
    between = list(range(upper.rank + 1, lower.rank))
    label_rank = -1
    if label and between:
        label_rank = between[-1] if wire.upward else between[0]
    chain = [upper]
    for rank in between:
        cell = Cell(Kind.LABEL if rank == label_rank else Kind.LINE, rank, wire=wire)
        rows[rank].append(cell)
        chain.append(cell)
    chain.append(lower)
    wire.cells = chain
    for above, below in itertools.pairwise(chain):
        joint = Joint(wire, above, below)
        wire.joints.append(joint)
        above.lowers.append(joint)
        below.uppers.append(joint)


def _number(row: list[Cell]) -> None:
    for position, cell in enumerate(row):
        cell.position = position


def _upper_place(joint: Joint) -> float:
    return joint.upper.position + _fraction(joint.upper, joint.upper_offset)


def _lower_place(joint: Joint) -> float:
    return joint.lower.position + _fraction(joint.lower, joint.lower_offset)


def _fraction(cell: Cell, offset: float) -> float:
    width = cell.left + cell.right
    return offset / width if width else 0.0


def _sort_by_neighbours(row: list[Cell], downward: bool) -> None:
    wanted = {}
    for cell in row:
        joints = cell.uppers if downward else cell.lowers
        place: Callable[[Joint], float] = _upper_place if downward else _lower_place
        wanted[id(cell)] = sum(map(place, joints)) / len(joints) if joints else float(cell.position)
    row.sort(key=lambda cell: wanted[id(cell)])
    _number(row)


def _swap_neighbours(rows: list[list[Cell]]) -> None:
    for _ in range(SWAP_PASSES):
        improved = False
        for row in rows:
            for position in range(len(row) - 1):
                left, right = row[position], row[position + 1]
                if _pair_crossings(left, right) > _pair_crossings(right, left):
                    row[position], row[position + 1] = right, left
                    left.position, right.position = position + 1, position
                    improved = True
        if not improved:
            return


def _pair_crossings(left: Cell, right: Cell) -> int:
    count = 0
    for left_places, right_places in (
        ([_upper_place(joint) for joint in left.uppers], [_upper_place(joint) for joint in right.uppers]),
        ([_lower_place(joint) for joint in left.lowers], [_lower_place(joint) for joint in right.lowers]),
    ):
        count += sum(one > other for one in left_places for other in right_places)
    return count


def _crossings(rows: list[list[Cell]]) -> int:
    count = 0
    for row in rows:
        places = sorted((_upper_place(joint), _lower_place(joint)) for cell in row for joint in cell.lowers)
        seen: list[float] = []
        for _, lower in places:
            count += len(seen) - bisect_left(seen, lower + 1e-9)
            insort(seen, lower)
    return count
