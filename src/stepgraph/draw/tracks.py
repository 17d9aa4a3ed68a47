"""Leads right-angled lines through the space between two layers of a terminal drawing.

Each hop that changes its column gets one row of its own for the way across (a *track*), shared only with hops that stay
clear of it. Two rules keep lines apart: where one hop comes down in the column in which another goes on, the first
crosses over higher up; and of two hops that go the same way side by side, the one further ahead crosses over higher up,
so that they do not cut each other. If the first rule goes round in a circle, one hop takes a detour over a free column.
"""

from __future__ import annotations

from typing import NamedTuple

from stepgraph.draw.metrics import Channel, Hop, Point


class Piece(NamedTuple):
    """A way across: down in one column, over, and on in another column."""

    hop: int
    start: int
    end: int
    part: int = 0
    """0 for the first piece of a hop, 1 for the second one of a detour."""

    @property
    def low(self) -> int:
        """The leftmost column touched."""
        return min(self.start, self.end)

    @property
    def high(self) -> int:
        """The rightmost column touched."""
        return max(self.start, self.end)


def route_hops(hops: list[Hop]) -> Channel:
    """Give every hop its bends, and the channel its height in rows.

    Args:
        hops: The hops between two layers, with whole columns; no two start or end in the same one.
    """
    pieces = _pieces(hops)
    rows = _assign_rows(pieces)
    top = 1 if any(hop.from_box for hop in hops) else 0
    bottom = 1 if any(hop.to_box for hop in hops) else 0
    if not hops:
        return Channel(1.0, [])
    height = top + bottom + max((row + 1 for row in rows.values()), default=0)
    bends: list[list[Point]] = [[] for _ in hops]
    for piece in pieces:
        row = float(top + rows[piece])
        bends[piece.hop] += [Point(float(piece.start), row), Point(float(piece.end), row)]
    return Channel(float(height), bends)


def _pieces(hops: list[Hop]) -> list[Piece]:
    """One piece for each hop that changes its column, two for one that would close a circle."""
    pieces: list[Piece] = []
    taken = {int(column) for hop in hops for column in (hop.upper_x, hop.lower_x)}
    for number, hop in enumerate(hops):
        if hop.upper_x == hop.lower_x:
            continue
        piece = Piece(number, int(hop.upper_x), int(hop.lower_x))
        if _reaches(pieces, piece):
            free = _free_column(piece, taken)
            taken.add(free)
            pieces += [Piece(number, piece.start, free), Piece(number, free, piece.end, part=1)]
        else:
            pieces.append(piece)
    return pieces


def _free_column(piece: Piece, taken: set[int]) -> int:
    """The column nearest to the middle of a piece in which no hop begins or ends."""
    middle = (piece.start + piece.end) // 2
    free = (column for column in range(min(taken), max(taken) + 3) if column not in taken)
    return min(free, key=lambda column: (abs(column - middle), column))


def _must_be_above(piece: Piece, other: Piece) -> bool:
    if piece.hop == other.hop:
        return piece.part < other.part
    return piece.start == other.end


def _reaches(pieces: list[Piece], added: Piece) -> bool:
    """Whether the first rule, followed downward from the added piece, comes back to it."""
    pending = [piece for piece in pieces if _must_be_above(added, piece)]
    seen: set[Piece] = set()
    while pending:
        piece = pending.pop()
        if _must_be_above(piece, added):
            return True
        if piece not in seen:
            seen.add(piece)
            pending += [other for other in pieces if _must_be_above(piece, other)]
    return False


def _assign_rows(pieces: list[Piece]) -> dict[Piece, int]:
    rows: dict[Piece, int] = {}
    waiting = sorted(pieces, key=_rank_by_direction)
    while waiting:
        ready = next(piece for piece in waiting if not any(_must_be_above(other, piece) for other in waiting))
        waiting.remove(ready)
        rows[ready] = _first_free_row(ready, rows)
    return rows


def _rank_by_direction(piece: Piece) -> tuple[bool, int]:
    rightward = piece.end > piece.start
    return rightward, -piece.start if rightward else piece.start


def _first_free_row(piece: Piece, rows: dict[Piece, int]) -> int:
    first = 0
    rightward = piece.end > piece.start
    for other, row in rows.items():
        overlap = other.low <= piece.high + 1 and piece.low <= other.high + 1
        same_way = (other.end > other.start) == rightward
        if _must_be_above(other, piece) or (overlap and same_way):
            first = max(first, row + 1)
    taken = {
        row for other, row in rows.items() if other.low <= piece.high + 1 and piece.low <= other.high + 1
    }
    while first in taken:
        first += 1
    return first
