"""Looks that a caller may choose: curves and colours.

Plain values only. LangChain's enums and style objects of the same shape are taken too: what is read here is read by
attribute, never by ``isinstance``.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol


class CurveStyle(enum.Enum):
    """How Mermaid bends the lines of a flowchart."""

    BASIS = "basis"
    BUMP_X = "bumpX"
    BUMP_Y = "bumpY"
    CARDINAL = "cardinal"
    CATMULL_ROM = "catmullRom"
    LINEAR = "linear"
    MONOTONE_X = "monotoneX"
    MONOTONE_Y = "monotoneY"
    NATURAL = "natural"
    STEP = "step"
    STEP_AFTER = "stepAfter"
    STEP_BEFORE = "stepBefore"


class MermaidDrawMethod(enum.Enum):
    """Accepted so that calls keep working. stepgraph draws every picture itself, offline, whichever is named."""

    PYPPETEER = "pyppeteer"
    API = "api"


@dataclass
class NodeStyles:
    """CSS of the three kinds of node: ordinary ones, the first and the last of the graph."""

    default: str = "fill:#f2f0ff,line-height:1.2"
    first: str = "fill-opacity:0"
    last: str = "fill:#bfb6fc"


class StyleSheet(Protocol):
    """What a drawing reads of ``node_colors``."""

    @property
    def default(self) -> str: ...
    @property
    def first(self) -> str: ...
    @property
    def last(self) -> str: ...


class NamedStyle(Protocol):
    """An enum member whose value is the wanted text (ours or LangChain's)."""

    @property
    def value(self) -> str: ...


def declarations(css: str) -> dict[str, str]:
    """Split ``fill:#fff,stroke:#000`` (commas or semicolons) into a dict.

    >>> declarations("fill:#f2f0ff,line-height:1.2")
    {'fill': '#f2f0ff', 'line-height': '1.2'}
    """
    found: dict[str, str] = {}
    for part in css.replace(";", ",").split(","):
        name, colon, value = part.partition(":")
        if colon:
            found[name.strip()] = value.strip()
    return found
