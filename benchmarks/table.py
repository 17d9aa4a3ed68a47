"""Rows, verdicts and how they are printed.

A row compares a figure with a floor (must) and an aim (hoped for). For ratios more is better; for limits (a slope,
bytes, milliseconds) less is.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass
class Row:
    """One line of the table; `figure` is judged, `theirs` and `ours` are what it was made from."""

    id: str
    theirs: str = "-"
    ours: str = "-"
    figure: float | None = None
    floor: float | None = None
    aim: float | None = None
    unit: str = "x"
    less_is_better: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        """`aim`, `floor` (reached the floor only), `below` (missed it), or `-` where nothing is judged."""
        if self.note:
            return "failed"
        if self.figure is None or self.floor is None:
            return "-"
        sign = -1.0 if self.less_is_better else 1.0
        if self.aim is not None and sign * self.figure >= sign * self.aim:
            return "aim"
        return "floor" if sign * self.figure >= sign * self.floor else "below"

    def cells(self) -> list[str]:
        """The row's cells as text."""
        limit = "<= " if self.less_is_better else ""
        return [
            self.id,
            self.theirs,
            self.ours,
            figure(self.figure, self.unit),
            limit + figure(self.floor, self.unit) if self.floor is not None else "-",
            limit + figure(self.aim, self.unit) if self.aim is not None else "-",
            self.note or self.verdict,
        ]


def figure(value: float | None, unit: str) -> str:
    """A number with at most three significant digits and its unit."""
    if value is None:
        return "-"
    if unit == "MB":
        return f"{value / 1e6:.2f} MB"
    text = f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{text}{'' if unit == 'x' else ' '}{unit}"


def duration(seconds: float) -> str:
    """Seconds in the unit that reads best."""
    for limit, factor, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def size(count: float) -> str:
    """Bytes in the unit that reads best."""
    for limit, factor, unit in ((1e3, 1, "B"), (1e6, 1e3, "kB")):
        if count < limit:
            return f"{count / factor:.3g} {unit}"
    return f"{count / 1e6:.3g} MB"


HEADINGS = ["id", "langgraph", "ours", "figure", "floor", "aim", "verdict"]


def markdown(rows: list[Row]) -> str:
    """The rows as one Markdown table."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths)) + " |" for line in lines)


def as_json(rows: list[Row], about: dict[str, object]) -> str:
    """The rows and what they were measured on, for a program."""
    return json.dumps({"about": about, "rows": [{**asdict(r), "verdict": r.verdict} for r in rows]}, indent=2)
