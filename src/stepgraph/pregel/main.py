"""Public path of `Pregel` and `NodeBuilder`."""

from stepgraph.pregel.node_builder import NodeBuilder
from stepgraph.pregel.pregel import Pregel

__all__ = ("NodeBuilder", "Pregel")
