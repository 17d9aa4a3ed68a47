"""`AsyncPostgresStore`: a store in a PostgreSQL database, for an event loop.

Rules of this file: the face, and which requests go where, as in `base`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from stepgraph.checkpoint.postgres.aio_connections import OwnAsyncConnections
from stepgraph.checkpoint.postgres.driver import psycopg, psycopg_pool
from stepgraph.store.base.config import TTLConfig
from stepgraph.store.postgres.base import BasePostgresStore, pool_arguments
from stepgraph.store.postgres.config import PoolConfig, PostgresIndexConfig
from stepgraph.store.postgres.connections_aio import AsyncConn, AsyncConnections, async_lender_of
from stepgraph.store.postgres.migrations import setup_program
from stepgraph.store.sql.aio import AsyncSqlStore
from stepgraph.store.sql.program import Deserializer
from stepgraph.store.sql.statements import Change, Query


class AsyncPostgresStore(BasePostgresStore[Any], AsyncSqlStore):
    """A store in a PostgreSQL database, for an event loop. Calls that are made at the same time become one batch.

    Sync methods work from any thread but the event loop's own.

    Args:
        conn: An async connection of `psycopg`, or an async pool of `psycopg_pool`.
        pipe: A pipeline of the connection, if it is in one. Without, each batch travels as one message all the same.
        deserializer: Makes a value from the stored JSON text; left out, the text is read as JSON.
        index: How to embed values for search; left out, there is no vector search.
        ttl: How items expire; left out, only items that are written with a `ttl` do.

    Example:
        ```python
        async with AsyncPostgresStore.from_conn_string("postgresql://localhost/app") as store:
            await store.aput(("users", "7"), "food", {"likes": "figs"})
        ```
    """

    supports_ttl = True
    _connections: AsyncConnections

    def __init__(
        self,
        conn: AsyncConn,
        *,
        pipe: psycopg.AsyncPipeline | None = None,
        deserializer: Deserializer | None = None,
        index: PostgresIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        self._configure(index, ttl, deserializer)
        lender = async_lender_of(conn)
        self._connections = AsyncConnections(lender)
        self.conn = conn
        self.pipe = pipe
        self.lock = lender.lock
        self.supports_pipeline = self._connections.pipelines
        self._setting_up = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        pool_config: PoolConfig | None = None,
        index: PostgresIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> AsyncIterator[AsyncPostgresStore]:
        """Open a store on a database, and close it at the end of the `async with` block.

        Args:
            conn_string: The URL of the database, such as `"postgresql://user:password@host/name"`.
            pipeline: Accepted for programs that ask for it: a batch travels as one message in any case.
            pool_config: How many connections to open; left out, as many as are needed, up to 10.
            index: As for the constructor.
            ttl: As for the constructor.
        """
        if pool_config is not None:
            pool = psycopg_pool.AsyncConnectionPool(conn_string, open=False, **pool_arguments(pool_config))
            async with pool, cls(pool, index=index, ttl=ttl) as store:
                yield store
            return
        connections = OwnAsyncConnections(conn_string)
        try:
            async with cls(connections, index=index, ttl=ttl) as store:
                yield store
        finally:
            await connections.close()

    async def __aenter__(self) -> AsyncPostgresStore:
        return self

    async def setup(self) -> None:
        """Create or bring up to date the tables. The first use does it too.

        Raises:
            psycopg.errors.InsufficientPrivilege: If tables are missing and the role may not make them.
            ValueError: If the database has other tables of these names, or lacks what the index needs.
        """
        async with self._setting_up:
            if not self._is_ready:
                self._use(await self._connections.setup(setup_program(self._wanted)))

    async def _read(self, queries: list[Query]) -> list[list[Any]]:
        return await self._connections.read(queries)

    async def _write(self, changes: list[Change]) -> int:
        return await self._connections.write(changes)
