"""A grid of characters on which lines meet properly.

Lines are not written as characters but as arms: each cell remembers in which of the four directions a line leaves it, so
that corners, junctions and crossings come out right whatever is drawn first. Texts and arrow heads lie over the lines.
"""

from __future__ import annotations

import unicodedata

UP, RIGHT, DOWN, LEFT = 1, 2, 4, 8
OPPOSITE = {UP: DOWN, DOWN: UP, LEFT: RIGHT, RIGHT: LEFT}

UNICODE_LINES = {
    0: " ", UP: "╵", RIGHT: "╶", DOWN: "╷", LEFT: "╴",
    UP | DOWN: "│", LEFT | RIGHT: "─",
    DOWN | RIGHT: "┌", DOWN | LEFT: "┐", UP | RIGHT: "└", UP | LEFT: "┘",
    UP | DOWN | RIGHT: "├", UP | DOWN | LEFT: "┤", LEFT | RIGHT | DOWN: "┬", LEFT | RIGHT | UP: "┴",
    UP | DOWN | LEFT | RIGHT: "┼",
}  # fmt: skip
UNICODE_DASHED = {UP | DOWN: "╎", LEFT | RIGHT: "╌"}
UNICODE_ROUND = {DOWN | RIGHT: "╭", DOWN | LEFT: "╮", UP | RIGHT: "╰", UP | LEFT: "╯"}
UNICODE_HEADS = {UP: "▲", RIGHT: "▶", DOWN: "▼", LEFT: "◀"}

ASCII_LINES = {
    0: " ", UP: "|", RIGHT: "-", DOWN: "|", LEFT: "-", UP | DOWN: "|", LEFT | RIGHT: "-",
    UP | DOWN | LEFT | RIGHT: "|",
}  # fmt: skip
ASCII_DASHED = {UP | DOWN: ":", LEFT | RIGHT: "."}
ASCII_ROUND = {DOWN | RIGHT: ".", DOWN | LEFT: ".", UP | RIGHT: "'", UP | LEFT: "'"}
ASCII_HEADS = {UP: "^", RIGHT: ">", DOWN: "v", LEFT: "<"}


class Canvas:
    """A growing grid of cells with lines and texts."""

    def __init__(self, unicode: bool) -> None:
        self.unicode = unicode
        self.arms: dict[tuple[int, int], int] = {}
        self.solid: set[tuple[int, int]] = set()
        self.round: set[tuple[int, int]] = set()
        self.texts: dict[tuple[int, int], str] = {}

    def arm(self, x: int, y: int, arms: int, dashed: bool = False) -> None:
        """Let lines leave a cell in the given directions."""
        self.arms[x, y] = self.arms.get((x, y), 0) | arms
        if not dashed:
            self.solid.add((x, y))

    def line(self, start: tuple[int, int], end: tuple[int, int], dashed: bool = False) -> None:
        """Draw a straight line between the middles of two cells in one row or column."""
        (x, y), (end_x, end_y) = start, end
        step_x, step_y = (end_x > x) - (end_x < x), (end_y > y) - (end_y < y)
        way = {(1, 0): RIGHT, (-1, 0): LEFT, (0, 1): DOWN, (0, -1): UP}.get((step_x, step_y), 0)
        while (x, y) != (end_x, end_y):
            self.arm(x, y, way, dashed)
            x, y = x + step_x, y + step_y
            self.arm(x, y, OPPOSITE[way], dashed)

    def box(self, x: int, y: int, width: int, height: int, rounded: bool = False) -> None:
        """Draw the border of a box."""
        right, bottom = x + width - 1, y + height - 1
        corners = [(x, y), (right, y), (right, bottom), (x, bottom)]
        for start, end in zip(corners, [*corners[1:], corners[0]], strict=True):
            self.line(start, end)
        if rounded:
            self.round.update(corners)

    def head(self, x: int, y: int, way: int) -> None:
        """Put an arrow head into a cell; the line ends there."""
        self.texts[x, y] = (UNICODE_HEADS if self.unicode else ASCII_HEADS)[way]

    def text(self, x: int, y: int, text: str) -> None:
        """Write a text from a cell on; wide characters take two cells."""
        for char in text:
            self.texts[x, y] = char
            x += 1
            if text_width(char) == 2:
                self.texts[x, y] = ""
                x += 1

    def render(self) -> str:
        """The canvas as lines of text without trailing blanks."""
        cells = [*self.arms, *self.texts]
        width = max((x for x, _ in cells), default=-1) + 1
        height = max((y for _, y in cells), default=-1) + 1
        rows = ("".join(self._cell(x, y) for x in range(width)).rstrip() for y in range(height))
        return "\n".join(rows)

    def _cell(self, x: int, y: int) -> str:
        if (x, y) in self.texts:
            return self.texts[x, y]
        arms = self.arms.get((x, y), 0)
        dashed = (x, y) not in self.solid
        lines, dashes, rounds = (
            (UNICODE_LINES, UNICODE_DASHED, UNICODE_ROUND)
            if self.unicode
            else (ASCII_LINES, ASCII_DASHED, ASCII_ROUND)
        )
        if (x, y) in self.round and arms in rounds:
            return rounds[arms]
        if dashed and arms in dashes:
            return dashes[arms]
        return lines.get(arms, "+")


def text_width(text: str) -> int:
    """How many cells of a terminal a text takes.

    >>> text_width("node"), text_width("节点")
    (4, 4)
    """
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
