"""What a check of a graph finds."""

from __future__ import annotations

from typing import Final, Literal

from stepgraph.values.record import FrozenRecord, set_slot

__all__ = ("ALARMS", "Finding", "Severity")

Severity = Literal["error", "warning", "hint"]
ALARMS: Final = ("error", "warning")
"""The severities that say that something is wrong; hints say that something is worth a look."""


class Finding(FrozenRecord):
    """One thing that a check of a graph found.

    Args:
        code: Which rule: stable over versions.
        severity: `"error"`: it cannot work as it stands. `"warning"`: it most likely does not do what was meant. `"hint"`:
            worth a look.
        graph: The graph.
        at: Its level: the names of the nodes that lead there, joined by `|`; empty for the graph that was checked.
        problem: What is wrong.
        why: What follows from it.
        mend: What to do.
        place: `file:line` in the person's source; empty where it is not known.
    """

    __slots__ = ("at", "code", "graph", "mend", "place", "problem", "severity", "why")
    record_fields = ("code", "severity", "graph", "at", "problem", "why", "mend", "place")

    code: str
    severity: Severity
    graph: str
    at: str
    problem: str
    why: str
    mend: str
    place: str

    def __init__(
        self,
        code: str,
        severity: Severity,
        graph: str,
        at: str,
        problem: str,
        why: str,
        mend: str,
        place: str = "",
    ) -> None:
        given = (code, severity, graph, at, problem, why, mend, place)
        for name, value in zip(self.record_fields, given):
            set_slot(self, name, value)

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        level = f" in {self.at}" if self.at else ""
        return f"{place}{self.severity} {self.code}{level}: {self.problem} {self.why} {self.mend}"
