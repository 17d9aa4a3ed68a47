"""Finding mistakes in a graph before it runs: `graph.check()`, `stepgraph check`, `compile(check="error")`.

Rules of this room: nothing of a person's code is run; it is read. A rule says something only where it is sure: what cannot be
read is silent. One function a rule (`rules/`), listed with its codes in `run.py`.
"""

from __future__ import annotations

from stepgraph.check.run import check_graph
from stepgraph.values.findings import Finding

__all__ = ("Finding", "check_graph")
