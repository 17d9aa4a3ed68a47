"""`PostgresSaver`: for programs that call it from threads, one or many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from stepgraph.checkpoint.postgres.base import BasePostgresSaver
from stepgraph.checkpoint.postgres.connections import (
    Connections,
    Lender,
    OneConnection,
    OwnConnections,
    PoolOfConnections,
)
from stepgraph.checkpoint.postgres.driver import psycopg, psycopg_pool
from stepgraph.checkpoint.postgres.programs import PostgresPrograms
from stepgraph.checkpoint.sql.runners import ThreadRunner
from stepgraph.checkpoint.sql.statements import R, StatementProgram

if TYPE_CHECKING:
    from stepgraph.checkpoint.holds import TimeToLive
    from stepgraph.checkpoint.serde.base import SerializerProtocol
    from stepgraph.checkpoint.step_saver import Encoded

__all__ = ("Conn", "PostgresSaver")

Conn: TypeAlias = Union[
    psycopg.Connection[dict[str, Any]], psycopg_pool.ConnectionPool[psycopg.Connection[dict[str, Any]]]
]
"""What a saver works on: one connection, or a pool."""


class _Runner(ThreadRunner):
    """Runs programs on connections that block."""

    known: Mapping[int, int]

    def glance(self, program: StatementProgram[R]) -> R:
        """Run a program that reads, whose statements need not see the same state."""
        result: R = self.connections.glance(program)
        return result

    async def aglance(self, program: StatementProgram[R]) -> R:
        """The same, in a worker thread."""
        from asyncio import to_thread

        return await to_thread(self.glance, program)

    def store(self, batch: Sequence[Encoded], *, durable: bool) -> Mapping[int, int]:
        """Store a batch, in one statement where that is possible."""
        stored: Mapping[int, int] = self.connections.store(batch, durable, self.known)
        return stored


class PostgresSaver(BasePostgresSaver):
    """Keeps checkpoints in a PostgreSQL database, by difference: one statement and one round trip a superstep.

    Many threads, savers, processes and machines may use one database at once. Its tables begin with `stepgraph_`; they are
    made when they are first needed, in the schema that the connection's `search_path` names. Async programs can use it as
    well; its async methods work in threads.

    Args:
        conn: A connection (`autocommit=True` saves round trips), or a pool of `psycopg_pool`. Who opened it closes it.
        pipe: A pipeline of that connection. It is not needed: a superstep is one statement already.
        serde: Turns values into bytes and back; by default `JsonPlusSerializer()`.
        ttl: How long threads live after the last write to them, or the end of their last run: minutes, a `timedelta`, or
            `{"default_ttl": ..., "sweep_interval_minutes": ...}`. An expired thread reads as if it had never been; its
            place is given back by `sweep_ttl()` or a background sweeper (`start_ttl_sweeper()`). By default for ever.

    Example:
        ```python
        with PostgresSaver.from_conn_string("postgresql://localhost/threads") as saver:
            graph = builder.compile(checkpointer=saver)
            graph.invoke({"topic": "rain"}, {"configurable": {"thread_id": "1"}})
        ```
    """

    def __init__(
        self,
        conn: Conn,
        pipe: psycopg.Pipeline | None = None,
        serde: SerializerProtocol | None = None,
        *,
        ttl: TimeToLive = None,
    ) -> None:
        lender: Lender
        if isinstance(conn, OwnConnections):
            lender = conn
        elif isinstance(conn, psycopg_pool.ConnectionPool):
            if pipe is not None:
                raise ValueError(
                    "A pipeline belongs to one connection: give PostgresSaver that connection, not a pool."
                )
            lender = PoolOfConnections(conn)
        elif isinstance(conn, psycopg.Connection):
            lender = OneConnection(conn)
        else:
            raise TypeError(
                f"PostgresSaver works on a psycopg.Connection or a psycopg_pool.ConnectionPool, got {type(conn).__name__}."
                " For a URL use PostgresSaver.from_conn_string(url); for async ones there is AsyncPostgresSaver."
            )
        programs = PostgresPrograms()
        self._connections = Connections(lender, programs)
        super().__init__(_Runner(self._connections, programs), programs, serde=serde, ttl=ttl)
        self.conn = conn
        self.pipe = pipe
        self.lock = lender.lock
        self.lock = Lock()
        self.supports_pipeline = psycopg.capabilities.has_pipeline()

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, pipeline: bool = False, ttl: TimeToLive = None
    ) -> Iterator[PostgresSaver]:
        """Connect for as long as the block lasts. Connections that break are replaced.

        Args:
            conn_string: A URL (`postgresql://user@host/database`), or a list of settings (`host=... dbname=...`).
            pipeline: Taken for programs that pass it. A superstep is one statement with it or without.
            ttl: How long threads live, as for the class.
        """
        connections = OwnConnections(conn_string)
        saver = cls(connections, ttl=ttl)  # type: ignore[arg-type]
        try:
            yield saver
        finally:
            saver.stop_ttl_sweeper()
            connections.close()

    def setup(self) -> None:
        """Make or migrate the tables. Called by itself when it is needed."""
        self._connections.set_up()
