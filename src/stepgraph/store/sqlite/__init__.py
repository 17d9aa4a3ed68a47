"""Stores in a SQLite file: `SqliteStore` and `AsyncSqliteStore`. A face: the definitions live beside it.

The async store needs the package `aiosqlite` (`pip install "stepgraph[sqlite]"`), and is loaded when it is asked for.
"""

from typing import TYPE_CHECKING, Any

from stepgraph.store.sqlite.base import SqliteStore

if TYPE_CHECKING:
    from stepgraph.store.sqlite.aio import AsyncSqliteStore

__all__ = ["AsyncSqliteStore", "SqliteStore"]


def __getattr__(name: str) -> Any:
    if name == "AsyncSqliteStore":
        from stepgraph.store.sqlite.aio import AsyncSqliteStore

        return AsyncSqliteStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
