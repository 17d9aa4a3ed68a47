"""The screen with colours, drawn by `rich`. Imported only where `rich` is installed and somebody looks.

Rules: no markup is ever parsed, so brackets in a person's texts stay brackets; the words are those of the plain screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TextIO

from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.table import Table
from rich.text import Text

from stepgraph.cli.screen import Piece, Screen, Styled
from stepgraph.cli.values import clean, dumps

_LOOKS: Final = {
    "plain": "",
    "name": "bold cyan",
    "quiet": "dim",
    "good": "green",
    "bad": "bold red",
    "alert": "bold yellow",
    "head": "bold",
}


class RichScreen(Screen):
    """Colours, and tables cut to the width of the terminal."""

    colours = True

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._console = Console(file=stream, highlight=False, soft_wrap=True)

    def say(self, *pieces: Piece) -> None:
        """Write one line."""
        self._console.print(_text(pieces))

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[Piece]]) -> None:
        """Write rows in columns, cut to the terminal's width."""
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for head in heads:
            table.add_column(head, overflow="ellipsis", no_wrap=True)
        for row in rows:
            table.add_row(*(_text([cell]) for cell in row))
        self._console.print(table, soft_wrap=False)

    def data(self, value: object, indent: str = "") -> None:
        """Write a value as indented JSON."""
        lines = [indent + clean(line) for line in dumps(value, indent=2).splitlines()]
        self._console.print(JSONHighlighter()(Text("\n".join(lines))))

    def _write(self, text: str) -> None:
        self._console.print(Text(text))


def _text(pieces: Sequence[Piece]) -> Text:
    text = Text()
    for piece in pieces:
        if isinstance(piece, Styled):
            text.append(clean(piece.text), _LOOKS[piece.style])
        else:
            text.append(clean(piece))
    return text
