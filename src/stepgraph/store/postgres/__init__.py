"""Stores in a PostgreSQL database: `PostgresStore` and `AsyncPostgresStore`. A face: the definitions live beside it.

They need the package `psycopg` with its pool (`pip install "stepgraph[postgres]"`).
"""

from stepgraph.store.postgres.aio import AsyncPostgresStore
from stepgraph.store.postgres.base import PostgresStore
from stepgraph.store.postgres.config import PoolConfig

__all__ = ["AsyncPostgresStore", "PoolConfig", "PostgresStore"]
