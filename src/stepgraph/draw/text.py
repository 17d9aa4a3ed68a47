"""The texts of a drawing, broken into lines: what stands in a node's box and beside an edge.

Shared by all media, so that the terminal and the pictures show the same words.
"""

from __future__ import annotations

import re

from stepgraph.draw.model import Node, metadata_lines

NAME_WIDTH = 32
LABEL_WIDTH = 24
DETAIL_WIDTH = 40
WORD = re.compile(r"[^\s_./-]*[\s_./-]+|[^\s_./-]+")


def name_lines(node: Node) -> list[str]:
    """The lines of a node's name."""
    return _wrapped(node.name, NAME_WIDTH)


def detail_lines(node: Node) -> list[str]:
    """The small lines below a node's name: its metadata, long values cut."""
    lines = (line.replace("\n", " ").removeprefix("__") for line in metadata_lines(node.metadata))
    return [line if len(line) <= DETAIL_WIDTH else line[: DETAIL_WIDTH - 1] + "…" for line in lines]


def label_lines(label: str) -> list[str]:
    """The lines of an edge's label."""
    return _wrapped(label, LABEL_WIDTH)


def _wrapped(text: str, width: int) -> list[str]:
    """Break a text after blanks and the signs that part words in names; what is still too long is cut."""
    lines = [""]
    for word in WORD.findall(_printable(text)):
        while len(word.rstrip()) > width:
            lines.append(word[:width])
            word = word[width:]
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > width:
            lines.append(word)
        else:
            lines[-1] += word
    return [line.strip() for line in lines if line.strip()] or [""]


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
