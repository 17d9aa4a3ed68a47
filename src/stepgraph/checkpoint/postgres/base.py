"""What both savers on PostgreSQL share.

Rules: no connections here; `psycopg` is not needed to import this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.growth.lanes import Lane
from stepgraph.checkpoint.growth.reader import Loaded, load
from stepgraph.checkpoint.growth.rows import Key
from stepgraph.checkpoint.postgres.glance import Moved, glance
from stepgraph.checkpoint.postgres.programs import PostgresPrograms, is_exact
from stepgraph.checkpoint.postgres.schema import MIGRATIONS
from stepgraph.checkpoint.sql.metadata import StoredMetadata, pack_metadata
from stepgraph.checkpoint.sql.reading import COLUMNS, HERE, WRITES_COLUMNS
from stepgraph.checkpoint.sql.saver import BaseSqlSaver, Runner
from stepgraph.checkpoint.sql.statements import StatementProgram
from stepgraph.checkpoint.sql.storing import INSERT_WRITES, REPLACE, REPLACE_WRITES

if TYPE_CHECKING:
    from stepgraph.checkpoint.holds import TimeToLive
    from stepgraph.checkpoint.serde.base import SerializerProtocol

__all__ = ("BasePostgresSaver",)


class BasePostgresSaver(BaseSqlSaver):
    """Common to `PostgresSaver` and `AsyncPostgresSaver`.

    Attributes:
        MIGRATIONS: The statements that make the tables, by version.
        SELECT_SQL: What reads checkpoints of a thread and namespace. This and the other texts are there to be looked at.
        SELECT_PENDING_SENDS_SQL: What reads the writes of tasks; sends are among them.
        UPSERT_CHECKPOINTS_SQL: What stores a checkpoint in the place of another one.
        UPSERT_CHECKPOINT_BLOBS_SQL: The same: the values of a checkpoint are in its row.
        UPSERT_CHECKPOINT_WRITES_SQL: What stores writes of a task in the place of others.
        INSERT_CHECKPOINT_WRITES_SQL: What stores writes of a task that has none.
        supports_pipeline: Whether the client library of PostgreSQL can send several statements at once.
    """

    MIGRATIONS = MIGRATIONS
    SELECT_SQL = f"SELECT {COLUMNS} FROM stepgraph_checkpoints WHERE {HERE} ORDER BY checkpoint_id DESC"
    SELECT_PENDING_SENDS_SQL = f"SELECT checkpoint_id, {WRITES_COLUMNS} FROM stepgraph_writes WHERE {HERE}"
    UPSERT_CHECKPOINTS_SQL = REPLACE
    UPSERT_CHECKPOINT_BLOBS_SQL = REPLACE
    UPSERT_CHECKPOINT_WRITES_SQL = REPLACE_WRITES
    INSERT_CHECKPOINT_WRITES_SQL = INSERT_WRITES
    supports_pipeline: bool

    def __init__(
        self,
        runner: Runner,
        programs: PostgresPrograms,
        *,
        serde: SerializerProtocol | None = None,
        ttl: TimeToLive = None,
    ) -> None:
        super().__init__(runner, programs, serde=serde, ttl=ttl)
        self._runner.known = self._generations  # type: ignore[attr-defined]

    def _encode_metadata(self, lane: Lane, metadata: Mapping[str, Any]) -> StoredMetadata:
        return pack_metadata(lane, metadata, self._codec, is_exact)

    # ---- loading in two round trips

    def _read_one(self, key: Key, config: Mapping[str, Any]) -> tuple[Loaded | None, int]:
        if self.ttl is not None:
            return super()._read_one(key, config)
        try:
            return self._runner.glance(self._glance(key, config))  # type: ignore[attr-defined, no-any-return]
        except Moved:
            return super()._read_one(key, config)

    async def _aread_one(self, key: Key, config: Mapping[str, Any]) -> tuple[Loaded | None, int]:
        if self.ttl is not None:
            return await super()._aread_one(key, config)
        try:
            return await self._runner.aglance(self._glance(key, config))  # type: ignore[attr-defined, no-any-return]
        except Moved:
            return await super()._aread_one(key, config)

    def _glance(self, key: Key, config: Mapping[str, Any]) -> StatementProgram[tuple[Loaded | None, int]]:
        checkpoint_id = config["configurable"].get("checkpoint_id") or None
        return glance(self._programs, load(key, checkpoint_id, self._codec), key)
