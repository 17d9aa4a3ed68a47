"""`AsyncPostgresSaver`: for programs that await it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from stepgraph.checkpoint.postgres.aio_connections import (
    AsyncLender,
    AsyncPool,
    AwaitedRunner,
    OneAsyncConnection,
    OwnAsyncConnections,
)
from stepgraph.checkpoint.postgres.base import BasePostgresSaver
from stepgraph.checkpoint.postgres.driver import psycopg, psycopg_pool
from stepgraph.checkpoint.postgres.programs import PostgresPrograms

if TYPE_CHECKING:
    from stepgraph.checkpoint.holds import TimeToLive
    from stepgraph.checkpoint.serde.base import SerializerProtocol

__all__ = ("AsyncPostgresSaver", "Conn")

Conn: TypeAlias = Union[
    psycopg.AsyncConnection[dict[str, Any]],
    psycopg_pool.AsyncConnectionPool[psycopg.AsyncConnection[dict[str, Any]]],
]
"""What a saver works on: one connection, or a pool."""


class AsyncPostgresSaver(BasePostgresSaver):
    """Keeps checkpoints in a PostgreSQL database, by difference, for async programs: one statement a superstep.

    Many tasks, savers, processes and machines may use one database at once. Its tables begin with `stepgraph_`; they are
    made when they are first needed. Its synchronous methods can be called from other threads while the event loop runs.

    Args:
        conn: A connection (`autocommit=True` saves round trips), or a pool of `psycopg_pool`. Who opened it closes it.
        pipe: A pipeline of that connection. It is not needed: a superstep is one statement already.
        serde: Turns values into bytes and back; by default `JsonPlusSerializer()`.
        ttl: How long threads live after the last write to them, or the end of their last run: minutes, a `timedelta`, or
            `{"default_ttl": ..., "sweep_interval_minutes": ...}`. An expired thread reads as if it had never been; its
            place is given back by `sweep_ttl()` or a background sweeper (`start_ttl_sweeper()`). By default for ever.

    Example:
        ```python
        async with AsyncPostgresSaver.from_conn_string("postgresql://localhost/threads") as saver:
            graph = builder.compile(checkpointer=saver)
            await graph.ainvoke({"topic": "rain"}, {"configurable": {"thread_id": "1"}})
        ```
    """

    def __init__(
        self,
        conn: Conn,
        pipe: psycopg.AsyncPipeline | None = None,
        serde: SerializerProtocol | None = None,
        *,
        ttl: TimeToLive = None,
    ) -> None:
        lender: AsyncLender
        if isinstance(conn, OwnAsyncConnections):
            lender = conn
        elif isinstance(conn, psycopg_pool.AsyncConnectionPool):
            if pipe is not None:
                raise ValueError(
                    "A pipeline belongs to one connection: give AsyncPostgresSaver that connection, not a pool."
                )
            lender = AsyncPool(conn)
        elif isinstance(conn, psycopg.AsyncConnection):
            lender = OneAsyncConnection(conn)
        else:
            raise TypeError(
                "AsyncPostgresSaver works on a psycopg.AsyncConnection or a psycopg_pool.AsyncConnectionPool, got"
                f" {type(conn).__name__}. For a URL use AsyncPostgresSaver.from_conn_string(url); for blocking connections"
                " there is PostgresSaver."
            )
        programs = PostgresPrograms()
        super().__init__(AwaitedRunner(lender, programs), programs, serde=serde, ttl=ttl)
        self.conn = conn
        self.pipe = pipe
        self.lock = lender.lock
        self.supports_pipeline = psycopg.capabilities.has_pipeline()

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        serde: SerializerProtocol | None = None,
        ttl: TimeToLive = None,
    ) -> AsyncIterator[AsyncPostgresSaver]:
        """Connect for as long as the block lasts. Connections that break are replaced.

        Args:
            conn_string: A URL (`postgresql://user@host/database`), or a list of settings (`host=... dbname=...`).
            pipeline: Taken for programs that pass it. A superstep is one statement with it or without.
            serde: Turns values into bytes and back; by default `JsonPlusSerializer()`.
            ttl: How long threads live, as for the class.
        """
        connections = OwnAsyncConnections(conn_string)
        saver = cls(connections, serde=serde, ttl=ttl)  # type: ignore[arg-type]
        try:
            yield saver
        finally:
            await saver.astop_ttl_sweeper()
            await connections.close()

    async def setup(self) -> None:
        """Make or migrate the tables. Called by itself when it is needed."""
        await self._runner.aset_up()
