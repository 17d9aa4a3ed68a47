"""The public face of migrations: what became of nodes and fields since threads were stored.

Definitions live in `stepgraph.values.migrations`. Give them to `compile(migrations=[...])`, in the order in which the
graph was changed, and leave them there as long as threads from before may come back.
"""

from __future__ import annotations

from stepgraph.values.migrations import (
    Migration,
    convert_field,
    remove_field,
    rename_field,
    rename_node,
)

__all__ = ("Migration", "convert_field", "remove_field", "rename_field", "rename_node")
