"""Gives every item of a level its rank: the layer it stands in, counted from the top.

Longest path first (an item stands below everything that leads to it), then items are moved down as far as that shortens
more lines than it lengthens. What ends a graph stands alone in the last layer. If any link carries a label, items use
even ranks only, so that a layer for labels lies between any two; ports come right before
the first and right after the last item.
"""

from __future__ import annotations

from stepgraph.draw.levels import Level
from stepgraph.draw.model import END_NAME

TIGHTENING_PASSES = 4


class Ranks:
    """The rank of each item of a level, and of the ports at its top and bottom."""

    __slots__ = ("bottom", "items", "last", "top")

    def __init__(self, items: list[int], has_top: bool, has_bottom: bool) -> None:
        shift = 1 if has_top else 0
        self.items = [rank + shift for rank in items]
        self.top = 0
        self.bottom = max(self.items, default=0) + 1
        self.last = self.bottom if has_bottom else max(self.items, default=0)


def rank_items(level: Level, labelled: bool) -> Ranks:
    """Rank the items of a directed level.

    Args:
        level: The level.
        labelled: Whether a link of the level carries a label.
    """
    step = 2 if labelled else 1
    count = len(level.items)
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for link in level.links:
        above[link.lower].append(link.upper)
        below[link.upper].append(link.lower)
    order = _from_the_top(above, below)
    ranks = [0] * count
    for number in order:
        ranks[number] = max((ranks[upper] + step for upper in above[number]), default=0)
    _put_end_last(level, below, ranks, step)
    from_top = [sum(port.at_top for port in level.ports if port.item == number) for number in range(count)]
    for _ in range(TIGHTENING_PASSES):
        for number in reversed(order):
            if below[number] and len(below[number]) > len(above[number]) + from_top[number]:
                ranks[number] = min(ranks[lower] for lower in below[number]) - step
    return Ranks(
        ranks,
        has_top=any(port.at_top for port in level.ports),
        has_bottom=any(not port.at_top for port in level.ports),
    )


def _from_the_top(above: list[list[int]], below: list[list[int]]) -> list[int]:
    waiting = [len(uppers) for uppers in above]
    order = [number for number, count in enumerate(waiting) if count == 0]
    for number in order:
        for lower in below[number]:
            waiting[lower] -= 1
            if waiting[lower] == 0:
                order.append(lower)
    return order


def _put_end_last(level: Level, below: list[list[int]], ranks: list[int], step: int) -> None:
    ends = [
        number
        for number, item in enumerate(level.items)
        if item.node is not None and item.node.name == END_NAME and not below[number]
    ]
    others = [rank for number, rank in enumerate(ranks) if number not in ends]
    for number in ends:
        ranks[number] = max(ranks[number], max(others, default=-step) + step)
