"""`PostgresStore`: a store in a PostgreSQL database, for sync and async callers.

Rules of this file: the face, and which requests go where. What statements say is decided in `stepgraph.store.sql.program`;
connections are the business of `connections`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Generic, TypedDict, TypeVar

from stepgraph.checkpoint.postgres.connections import OwnConnections
from stepgraph.checkpoint.postgres.driver import psycopg, psycopg_pool
from stepgraph.store.base.config import TTLConfig, utc_now
from stepgraph.store.base.embed import Embeddings
from stepgraph.store.base.indexing import Indexing
from stepgraph.store.postgres import migrations
from stepgraph.store.postgres.config import (
    ANNIndexConfig,
    HNSWConfig,
    IVFFlatConfig,
    PoolConfig,
    PostgresIndexConfig,
    ann_of,
    distance_of,
)
from stepgraph.store.postgres.connections import Conn, Connections, lender_of
from stepgraph.store.postgres.dialect import OPERATORS, SCORES, PostgresDialect
from stepgraph.store.postgres.migrations import Migration, Vectors, Wanted, setup_program
from stepgraph.store.postgres.texts import decode_json
from stepgraph.store.sql.program import Deserializer, StorePlan
from stepgraph.store.sql.statements import Change, Query
from stepgraph.store.sql.sync import SqlStore

__all__ = [
    "ANNIndexConfig",
    "BasePostgresStore",
    "HNSWConfig",
    "IVFFlatConfig",
    "Migration",
    "PoolConfig",
    "PostgresIndexConfig",
    "PostgresStore",
    "Row",
    "get_distance_operator",
]

C = TypeVar("C")


class Row(TypedDict):
    """A row of the table `store`."""

    key: str
    value: Any
    prefix: str
    created_at: datetime
    updated_at: datetime


class BasePostgresStore(Generic[C]):
    """What the sync and the async PostgreSQL store share: configuration, tables and the ways of PostgreSQL.

    Attributes:
        pipe: The pipeline that the connection is in, if the store was given one.
        lock: Held while a connection is used that others share.
        supports_pipeline: Whether a batch travels as one message.
    """

    MIGRATIONS = migrations.MIGRATIONS
    VECTOR_MIGRATIONS = migrations.VECTOR_MIGRATIONS
    supports_ttl = True
    conn: C
    pipe: Any = None
    lock: Any = None
    supports_pipeline: bool = False
    index_config: PostgresIndexConfig | None = None
    ttl_config: TTLConfig | None = None
    _connections: Any

    def _configure(
        self, index: PostgresIndexConfig | None, ttl: TTLConfig | None, deserializer: Deserializer | None
    ) -> None:
        self.index_config = index
        self.ttl_config = ttl
        self.clock: Callable[[], datetime] = utc_now
        self._deserializer = deserializer or decode_json
        self._indexing = Indexing(index) if index else None
        self._dialect = PostgresDialect(distance_of(index))
        self._wanted = Wanted(index is not None, (index or {}).get("dims"), distance_of(index), ann_of(index))
        self._is_ready = False

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes vectors of texts, if the store has an index."""
        return self._indexing.embeddings if self._indexing else None

    def _use(self, vectors: Vectors) -> None:
        """The tables are there: this is what is to know of them."""
        self._dialect.vector_type, self._dialect.ann_dims = vectors.type, vectors.ann_dims
        self._connections.settings = vectors.settings
        self._is_ready = True

    def _plan(self) -> StorePlan:
        return StorePlan(self._dialect, self._indexing, self.ttl_config, self._deserializer, self.clock)


class PostgresStore(BasePostgresStore[Any], SqlStore):
    """A store in a PostgreSQL database. Safe to use from several threads; its async methods run in worker threads.

    Items come back newest first, or by nearness where a search has a query.

    Args:
        conn: A connection of `psycopg`, or a pool of `psycopg_pool`. In a transaction that is open on the connection, the
            store's work is a part of that transaction.
        pipe: A pipeline of the connection, if it is in one. Without, each batch travels as one message all the same.
        deserializer: Makes a value from the stored JSON text; left out, the text is read as JSON.
        index: How to embed values for search; left out, there is no vector search.
        ttl: How items expire; left out, only items that are written with a `ttl` do.

    Example:
        ```python
        with PostgresStore.from_conn_string("postgresql://localhost/app") as store:
            store.put(("users", "7"), "food", {"likes": "figs"})
        ```
    """

    supports_ttl = True
    _connections: Connections

    def __init__(
        self,
        conn: Conn,
        *,
        pipe: psycopg.Pipeline | None = None,
        deserializer: Deserializer | None = None,
        index: PostgresIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        self._configure(index, ttl, deserializer)
        lender = lender_of(conn)
        self._connections = Connections(lender)
        self.conn = conn
        self.pipe = pipe
        self.lock = lender.lock
        self.supports_pipeline = self._connections.pipelines

    @classmethod
    @contextmanager
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        pool_config: PoolConfig | None = None,
        index: PostgresIndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> Iterator[PostgresStore]:
        """Open a store on a database, and close it at the end of the `with` block.

        Args:
            conn_string: The URL of the database, such as `"postgresql://user:password@host/name"`.
            pipeline: Accepted for programs that ask for it: a batch travels as one message in any case.
            pool_config: How many connections to open; left out, as many as are needed, up to 10.
            index: As for the constructor.
            ttl: As for the constructor.
        """
        if pool_config is not None:
            pool = psycopg_pool.ConnectionPool(conn_string, open=False, **pool_arguments(pool_config))
            with pool, cls._until_left(cls(pool, index=index, ttl=ttl)) as store:
                yield store
            return
        connections = OwnConnections(conn_string)
        try:
            with cls._until_left(cls(connections, index=index, ttl=ttl)) as store:
                yield store
        finally:
            connections.close()

    @staticmethod
    @contextmanager
    def _until_left(store: PostgresStore) -> Iterator[PostgresStore]:
        try:
            yield store
        finally:
            store.stop_ttl_sweeper()

    def setup(self) -> None:
        """Create or bring up to date the tables. The first use does it too.

        Raises:
            psycopg.errors.InsufficientPrivilege: If tables are missing and the role may not make them.
            ValueError: If the database has other tables of these names, or lacks what the index needs.
        """
        if not self._is_ready:
            self._use(self._connections.setup(setup_program(self._wanted)))

    def _read(self, queries: list[Query]) -> list[list[Any]]:
        return self._connections.read(queries)

    def _write(self, changes: list[Change]) -> int:
        return self._connections.write(changes)


def pool_arguments(config: PoolConfig) -> dict[str, Any]:
    """The arguments of a pool."""
    sizes = {"min_size": config.get("min_size", 1), "max_size": config.get("max_size")}
    return {**sizes, "kwargs": {"autocommit": True, **config.get("kwargs", {})}}


def get_distance_operator(store: Any) -> tuple[str, str]:
    """How nearness is asked of the server.

    Args:
        store: A PostgreSQL store with an index.

    Returns:
        The operator of `pgvector` for the store's distance, and the expression for the score, in which `{}` stands for
        the vector to compare with.
    """
    distance = distance_of(store.index_config)
    return OPERATORS[distance], SCORES[distance]
