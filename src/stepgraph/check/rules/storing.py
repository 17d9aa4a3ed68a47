"""Rules about savers."""

from __future__ import annotations

from collections.abc import Iterator

from stepgraph.check.levels import Level
from stepgraph.values.findings import Finding


def asks_without_saver(level: Level) -> Iterator[Finding]:
    """SG401: a node asks with `interrupt`, and the root has no saver to keep the pause."""
    root = level
    while root.above is not None:
        root = root.above
    if root.graph.checkpointer is not None and root.graph.checkpointer is not False:
        return
    for name, code in level.codes.items():
        if code.asks:
            yield level.finding(
                "SG401",
                "warning",
                f"Node {name!r} asks with interrupt(), and graph {root.graph.name!r} has no checkpointer.",
                "A paused run cannot be resumed: nothing of it is kept.",
                "Compile the outermost graph with checkpointer=..., or run it where a saver is given to it.",
                code.at(code.asks[0]),
            )


def makes_a_saver(level: Level) -> Iterator[Finding]:
    """SG402: a saver is made inside a node's function."""
    for name, code in level.codes.items():
        for cls, line in code.savers:
            yield level.finding(
                "SG402",
                "warning",
                f"Node {name!r} makes a {cls} each time it runs.",
                "What it stores is gone, or opened anew, with every run of the node: nothing in it can be resumed.",
                "Make the saver once, outside, and give it to the outermost graph: nested graphs inherit it.",
                code.at(line),
            )
