"""Writing to the terminal: lines with styled words, tables, trees, and values; plain text here.

Commands say *what* is shown; a screen decides how it looks. `screen_for` answers the one with colours where `rich` is
installed and somebody looks (a terminal, and no `NO_COLOR`), else this one, whose output is stable and easy to cut up.

Rules: all text of a person or a store goes through `clean`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple, TextIO, TypeAlias

from stepgraph.cli.values import clean, dumps

STYLES: Final = ("plain", "name", "quiet", "good", "bad", "alert", "head")
"""name: of a node; quiet: less important; good, bad: how it came out; alert: somebody must act; head: a title."""


class Styled(NamedTuple):
    """A piece of text with one of the `STYLES`."""

    text: str
    style: str


Piece: TypeAlias = "str | Styled"


class Branch(NamedTuple):
    """A line of a tree and what hangs below it."""

    line: Sequence[Piece]
    below: Sequence[Branch] = ()


class Screen:
    """Plain text on one stream."""

    colours = False

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.unicode = _can_show(stream, "─│└├›▶✔✘⏸…")

    def say(self, *pieces: Piece) -> None:
        """Write one line."""
        self._write("".join(clean(text_of(piece)) for piece in pieces))

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[Piece]]) -> None:
        """Write rows in columns as wide as their widest cell."""
        texts = [list(heads), *([clean(text_of(cell)).replace("\n", " ") for cell in row] for row in rows)]
        widths = [max(map(columns_of, column)) for column in zip(*texts)]
        for row in texts:
            cells = [cell + " " * (width - columns_of(cell)) for cell, width in zip(row, widths)]
            self._write("  ".join(cells).rstrip())

    def tree(self, root: Branch) -> None:
        """Write a tree, one line a branch."""
        self.say(*root.line)
        self._below(root.below, "")

    def _below(self, branches: Sequence[Branch], indent: str) -> None:
        fork, last, rail = ("├─ ", "└─ ", "│  ") if self.unicode else ("|- ", "`- ", "|  ")
        for branch in branches:
            end = branch is branches[-1]
            self.say(Styled(indent + (last if end else fork), "quiet"), *branch.line)
            self._below(branch.below, indent + ("   " if end else rail))

    def data(self, value: object, indent: str = "") -> None:
        """Write a value as indented JSON."""
        for line in dumps(value, indent=2).splitlines():
            self._write(indent + clean(line))

    def text(self, text: str) -> None:
        """Write a text of several lines as it is: a drawing, a traceback."""
        self._write(clean(text.rstrip("\n")))

    def _write(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


def text_of(piece: Piece) -> str:
    """The text of a piece without its style."""
    return piece.text if isinstance(piece, Styled) else piece


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: East Asian wide characters take two.

    Example:
        >>> columns_of("ab"), columns_of("批准")
        (2, 4)
    """
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def screen_for(stream: TextIO) -> Screen:
    """The screen for a stream: with colours where they can be seen and `rich` is installed."""
    if stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        from importlib.util import find_spec

        if find_spec("rich") is not None:
            from stepgraph.cli.rich_screen import RichScreen

            return RichScreen(stream)
    return Screen(stream)


def output() -> Screen:
    """The screen for what was asked for."""
    return screen_for(sys.stdout)


def notes() -> Screen:
    """The screen for everything else: progress, hints, errors."""
    return screen_for(sys.stderr)


def _can_show(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
