"""Running graphs: plans, the superstep machine, its drivers, and the face `Pregel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepgraph.pregel.node_builder import NodeBuilder
    from stepgraph.pregel.pregel import Pregel

__all__ = ("NodeBuilder", "Pregel")


def __getattr__(name: str) -> Any:
    if name == "Pregel":
        from stepgraph.pregel.pregel import Pregel

        return Pregel
    if name == "NodeBuilder":
        from stepgraph.pregel.node_builder import NodeBuilder

        return NodeBuilder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
