"""Savers in a SQLite file: `SqliteSaver` and `AsyncSqliteSaver`. A face: the definitions live beside it.

The async saver is loaded when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from stepgraph.checkpoint.sqlite.sync import SqliteSaver

__all__ = ("AsyncSqliteSaver", "SqliteSaver")


def __getattr__(name: str) -> Any:
    if name == "SqliteSaver":
        from stepgraph.checkpoint.sqlite.sync import SqliteSaver

        return SqliteSaver
    if name == "AsyncSqliteSaver":
        from stepgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        return AsyncSqliteSaver
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
