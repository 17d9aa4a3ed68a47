"""Stores in a PostgreSQL database: `PostgresStore` and `AsyncPostgresStore`. A face: the definitions live beside it.

They need the package `psycopg` with its pool (`pip install "stepgraph[postgres]"`).
"""

try:
    import psycopg  # noqa: F401
    import psycopg_pool  # noqa: F401
except ImportError as error:
    raise ImportError(
        'Stores in PostgreSQL need the package psycopg with its pool. Install it with: pip install "stepgraph[postgres]"'
    ) from error

from stepgraph.store.postgres.aio import AsyncPostgresStore
from stepgraph.store.postgres.base import PostgresStore
from stepgraph.store.postgres.config import PoolConfig

__all__ = ["AsyncPostgresStore", "PoolConfig", "PostgresStore"]
