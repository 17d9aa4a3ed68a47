"""All rules over all levels of a graph.

| code | severity | finds |
|---|---|---|
| SG101 | warning | a field of one name with different reducers in parent and child |
| SG102 | error | a field of one name with different types in parent and child |
| SG103 | warning | output of a child that no field of the parent takes |
| SG104 | warning | a field that the child seems meant to get, but misses by name |
| SG105 | hint | more than a third of the fields shared with the parent |
| SG106 | hint | nesting deeper than two levels |
| SG107 | warning | a catch-all dict field that several nodes replace |
| SG201 | warning | a node that nothing reaches |
| SG202 | warning | nodes from which no way leads to the end |
| SG203 | error | a goto, Send or path that names no node, across levels too |
| SG204 | hint | a conditional edge without declared targets |
| SG301 | error | parallel nodes that write one plain field |
| SG302 | warning | parallel graphs that hand one plain field through |
| SG303 | warning | a node that is sent to in a loop and writes a plain field |
| SG401 | warning | interrupt without a saver |
| SG402 | warning | a saver made inside a node |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from stepgraph.check.levels import Level, levels_of
from stepgraph.check.rules import flow, nesting, storing, writing
from stepgraph.values.findings import Finding

Rule = Callable[[Level], Iterable[Finding]]

RULES: Final[Sequence[Rule]] = (
    nesting.reducers_differ,
    nesting.types_differ,
    nesting.output_is_lost,
    nesting.missed_by_name,
    nesting.shares_many_fields,
    nesting.is_deep,
    nesting.is_catch_all,
    flow.nothing_reaches,
    flow.never_ends,
    flow.goes_to_unknown,
    flow.branch_without_targets,
    writing.parallel_writers,
    writing.parallel_graphs,
    writing.sends_write_one_value,
    storing.asks_without_saver,
    storing.makes_a_saver,
)
"""The rules, in the order of their codes."""
_ORDER: Final = {"error": 0, "warning": 1, "hint": 2}


def check_graph(graph: Any) -> list[Finding]:
    """What the rules find in a compiled graph and in all graphs that its nodes run.

    Args:
        graph: What `StateGraph.compile()` answered. Of a graph made of low-level nodes, whose declaration says less, nothing
            is found.

    Returns:
        Errors first, then warnings, then hints; each once.
    """
    found = [finding for level in levels_of(graph) for rule in RULES for finding in rule(level)]
    return sorted(dict.fromkeys(found), key=lambda finding: _ORDER[finding.severity])
