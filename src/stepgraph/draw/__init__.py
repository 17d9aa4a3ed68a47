"""Pictures of graphs, made offline: Mermaid text, terminal drawings, SVG and PNG.

Start at ``drawable`` (build.py): it turns a compiled graph into a plain ``Graph`` of nodes and edges (graph.py), which
draws itself. ``mermaid.py`` writes text only. Everything else needs places first: ``levels.py`` sorts nodes into nested
groups, ``ranks.py`` and ``ordering.py`` arrange the layers of one group, ``placing.py`` finds coordinates, and
``layout.py`` puts the groups together. ``ascii.py`` and ``scene.py`` bring the measures, ``svg.py`` and ``png.py`` the ink.

Rules: no network, no browser, no dependency (Pillow only for PNG, imported when a PNG is asked for); the same graph
always gives the same drawing.
"""

from __future__ import annotations

from stepgraph.draw.build import drawable
from stepgraph.draw.graph import Graph
from stepgraph.draw.model import Edge, Node
from stepgraph.draw.styles import CurveStyle, MermaidDrawMethod, NodeStyles

__all__ = ["CurveStyle", "Edge", "Graph", "MermaidDrawMethod", "Node", "NodeStyles", "drawable"]
