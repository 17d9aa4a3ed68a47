"""Finds the x of every cell of an ordered level, and where its lines meet the boxes.

Across: the cells of a layer keep their order and their distance. Within that, squared distances along the wires are made
small, layer after layer: one layer's best places, given its neighbours', are an isotonic regression, which
``spread`` solves exactly. Wires weigh the more the less they end at boxes, so that long lines run straight. Then each
wire that can be straight at no other's cost is made so.
"""

from __future__ import annotations

from collections.abc import Iterable

from stepgraph.draw.metrics import Metrics
from stepgraph.draw.ordering import Cell, Joint, Kind, Layers, Wire

FIRST_ROUNDS = 6
LATER_ROUNDS = 40
IMPROVEMENTS = 4
OFF_CENTRE_COST = 0.25
STRAIGHT_ENOUGH = 0.1
FIXED_KINDS = (Kind.ITEM, Kind.PORT)


def place_across(layers: Layers, metrics: Metrics) -> None:
    """Set the ``x`` of all cells and the offsets of all joints; the leftmost cell then begins at 0."""
    for row in layers.rows:
        _pack(row, metrics)
    for round_number in range(FIRST_ROUNDS):
        downward = round_number % 2 == 0
        for row in layers.rows if downward else layers.rows[::-1]:
            _settle(row, metrics, above=downward, below=not downward)
    attach(layers, metrics)
    for _ in range(LATER_ROUNDS):
        for row in layers.rows:
            _settle(row, metrics, above=True, below=True)
    for row in layers.rows:
        for cell in row:
            cell.x = metrics.snap(cell.x)
    attach(layers, metrics)
    by_width = sorted(layers.wires, key=_inner_width)
    for round_number in range(IMPROVEMENTS):
        for wire in by_width:
            _straighten(wire, layers, metrics)
        attach(layers, metrics)
        for row in layers.rows if round_number % 2 == 0 else layers.rows[::-1]:
            for cell in row:
                _nudge(cell, row, metrics)
    attach(layers, metrics)
    left = min((cell.x - cell.left for row in layers.rows for cell in row), default=0.0)
    for row in layers.rows:
        for cell in row:
            cell.x -= left


def attach(layers: Layers, metrics: Metrics) -> None:
    """Spread the lines over the sides of the nodes that they meet, in the order of their other ends."""
    _attach_cells(layers.items, metrics)


def _attach_cells(cells: Iterable[Cell], metrics: Metrics) -> None:
    nodes = [cell for cell in cells if cell.kind is Kind.ITEM and not cell.is_group]
    for cell in nodes:
        for joint in cell.lowers:
            joint.upper_offset = 0.0
        for joint in cell.uppers:
            joint.lower_offset = 0.0
    for cell in nodes:
        _attach_side(cell, cell.lowers, metrics, lower=True)
        _attach_side(cell, cell.uppers, metrics, lower=False)


def spread(wanted: list[float], weights: list[float], gaps: list[float]) -> list[float]:
    """The places nearest to the wanted ones (weighted least squares) that keep their order and the gaps.

    Args:
        wanted: A wanted place for each.
        weights: How much each one's wish counts.
        gaps: The least distance between each and the one before; the first is not read.

    >>> spread([0.0, 0.0, 10.0], [1.0, 1.0, 1.0], [0.0, 4.0, 4.0])
    [-2.0, 2.0, 10.0]
    """
    shifts: list[float] = []
    total = 0.0
    for number, gap in enumerate(gaps):
        total += gap if number else 0.0
        shifts.append(total)
    blocks: list[tuple[float, float, int]] = []
    for place, weight, shift in zip(wanted, weights, shifts, strict=True):
        blocks.append((place - shift, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, heavy, count = blocks.pop()
            other_mean, other_heavy, other_count = blocks.pop()
            both = heavy + other_heavy
            blocks.append(((mean * heavy + other_mean * other_heavy) / both, both, count + other_count))
    flat = [mean for mean, _, count in blocks for _ in range(count)]
    return [place + shift for place, shift in zip(flat, shifts, strict=True)]


def distance(left: Cell, right: Cell, metrics: Metrics) -> float:
    """The least distance between the x of two neighbours in a layer."""
    boxes = left.kind in (Kind.ITEM, Kind.LABEL) and right.kind in (Kind.ITEM, Kind.LABEL)
    return left.right + right.left + (metrics.box_gap if boxes else metrics.line_gap)


def _pack(row: list[Cell], metrics: Metrics) -> None:
    for number, cell in enumerate(row):
        cell.x = row[number - 1].x + distance(row[number - 1], cell, metrics) if number else cell.left


def _settle(row: list[Cell], metrics: Metrics, *, above: bool, below: bool) -> None:
    wanted, weights, gaps = [], [], []
    for number, cell in enumerate(row):
        total = weight = 0.0
        for joint in cell.uppers if above else ():
            heavy = _weight(joint)
            total += heavy * (joint.upper_x - joint.lower_offset)
            weight += heavy
        for joint in cell.lowers if below else ():
            heavy = _weight(joint)
            total += heavy * (joint.lower_x - joint.upper_offset)
            weight += heavy
        wanted.append(total / weight if weight else cell.x)
        weights.append(weight or 0.05)
        gaps.append(distance(row[number - 1], cell, metrics) if number else 0.0)
    for cell, x in zip(row, spread(wanted, weights, gaps), strict=True):
        cell.x = x


def _weight(joint: Joint) -> float:
    fixed_ends = (joint.upper.kind in FIXED_KINDS) + (joint.lower.kind in FIXED_KINDS)
    return (12.0, 3.0, 1.0)[fixed_ends]


def _attach_side(cell: Cell, joints: list[Joint], metrics: Metrics, *, lower: bool) -> None:
    if not joints:
        return
    others = [(joint.lower_x if lower else joint.upper_x, number) for number, joint in enumerate(joints)]
    order = [number for _, number in sorted(others)]
    low = metrics.port_gap / 2 - cell.left
    high = cell.node_width - cell.left - metrics.border - metrics.port_gap / 2
    gap = min(metrics.port_gap, (high - low) / (len(order) - 1)) if len(order) > 1 else 0.0
    centre, half = cell.node_width / 2 - cell.left, gap * (len(order) - 1) / 2 + metrics.port_slack
    low, high = max(low, centre - half), min(high, centre + half)
    wanted = [metrics.port_pull * (others[number][0] - cell.x) for number in order]
    places = spread(wanted, [1.0] * len(order), [gap] * len(order))
    for index, (number, place) in enumerate(zip(order, places, strict=True)):
        first, last = low + index * gap, high - (len(order) - 1 - index) * gap
        offset = metrics.snap(cell.x + max(first, min(place, last))) - cell.x
        if lower:
            joints[number].upper_offset = offset
        else:
            joints[number].lower_offset = offset


def _inner_width(wire: Wire) -> float:
    return max((cell.left for cell in wire.cells[1:-1]), default=0.0)


def _straighten(wire: Wire, layers: Layers, metrics: Metrics) -> None:
    """Give the inner cells of a wire as few different places as their neighbours allow."""
    first, last = wire.joints[0], wire.joints[-1]
    before = first.upper.x if _is_alone(first.upper.lowers) else first.upper_x
    after = last.lower.x if _is_alone(last.lower.uppers) else last.lower_x
    run: list[Cell] = []
    low, high = float("-inf"), float("inf")
    for cell in wire.cells[1:-1]:
        cell_low, cell_high = _freedom(cell, layers.rows[cell.rank], metrics)
        if run and max(low, cell_low) > min(high, cell_high):
            before = _place_run(run, low, high, [before, after], metrics)
            run, low, high = [], float("-inf"), float("inf")
        run.append(cell)
        low, high = max(low, cell_low), min(high, cell_high)
    if run:
        _place_run(run, low, high, [after, before], metrics)


def _is_alone(joints: list[Joint]) -> bool:
    """Whether these joints, of one side of a cell, are a single one at the side of a node."""
    if len(joints) > 1:
        return False
    (joint,) = joints
    return not any(cell.is_group for cell in (joint.upper, joint.lower))


def _place_run(run: list[Cell], low: float, high: float, wanted: list[float], metrics: Metrics) -> float:
    middle = sorted(cell.x for cell in run)[len(run) // 2]
    place = next((place for place in wanted if low <= place <= high), min(max(middle, low), high))
    for cell in run:
        cell.x = metrics.snap(place)
    return run[-1].x


def _freedom(cell: Cell, row: list[Cell], metrics: Metrics) -> tuple[float, float]:
    """How far a cell may move to the left and to the right while its neighbours stay."""
    low, high = float("-inf"), float("inf")
    if cell.position > 0:
        neighbour = row[cell.position - 1]
        low = neighbour.x + distance(neighbour, cell, metrics)
    if cell.position < len(row) - 1:
        neighbour = row[cell.position + 1]
        high = neighbour.x - distance(cell, neighbour, metrics)
    return low, high


def _nudge(cell: Cell, row: list[Cell], metrics: Metrics) -> None:
    """Move a cell to where fewer lines around it bend, if there is such a place."""
    around = {id(end): end for joint in (*cell.uppers, *cell.lowers) for end in (joint.upper, joint.lower)}
    if not around:
        return
    low, high = _freedom(cell, row, metrics)

    def cost_at(x: float) -> float:
        cell.x = x
        _attach_cells(around.values(), metrics)
        joints = {id(joint): joint for end in around.values() for joint in (*end.uppers, *end.lowers)}
        gaps = (abs(joint.upper_x - joint.lower_x) for joint in joints.values())
        bends = sum(metrics.bend_cost + gap for gap in gaps if gap > STRAIGHT_ENOUGH)
        return bends + OFF_CENTRE_COST * sum(map(_off_centre, around.values()))

    start = cell.x
    places = {metrics.snap(start + step) for step in (-2, -1, 1, 2)}
    for joint in cell.uppers:
        places |= {joint.upper_x - joint.lower_offset, joint.upper.x}
    for joint in cell.lowers:
        places |= {joint.lower_x - joint.upper_offset, joint.lower.x}
    best = min(
        (round(cost_at(x), 6), abs(x - start), x)
        for x in sorted(places | {start})
        if low <= x <= high or x == start
    )
    cost_at(best[2])


def _off_centre(cell: Cell) -> float:
    """How far lines that are alone at a side of a box stand from its middle."""
    if cell.kind is not Kind.ITEM or cell.is_group:
        return 0.0
    upper = abs(cell.uppers[0].lower_offset) if len(cell.uppers) == 1 else 0.0
    return upper + (abs(cell.lowers[0].upper_offset) if len(cell.lowers) == 1 else 0.0)
