"""Savers on a PostgreSQL server: `PostgresSaver`, and in `aio` `AsyncPostgresSaver`. A face: the definitions live beside it.

Everything is loaded when it is asked for, and needs `psycopg`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepgraph.checkpoint.postgres.base import BasePostgresSaver
    from stepgraph.checkpoint.postgres.sync import Conn, PostgresSaver

__all__ = ("BasePostgresSaver", "Conn", "PostgresSaver")


def __getattr__(name: str) -> Any:
    if name in ("PostgresSaver", "Conn"):
        from stepgraph.checkpoint.postgres import sync

        return getattr(sync, name)
    if name == "BasePostgresSaver":
        from stepgraph.checkpoint.postgres.base import BasePostgresSaver

        return BasePostgresSaver
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
