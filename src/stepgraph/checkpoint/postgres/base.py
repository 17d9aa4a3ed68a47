"""What both savers on PostgreSQL share.

Rules: no connections here; `psycopg` is not needed to import this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.growth.lanes import Lane
from stepgraph.checkpoint.postgres.programs import PostgresPrograms, is_exact
from stepgraph.checkpoint.postgres.schema import MIGRATIONS
from stepgraph.checkpoint.sql.metadata import StoredMetadata, pack_metadata
from stepgraph.checkpoint.sql.saver import BaseSqlSaver, Runner

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.base import SerializerProtocol

__all__ = ("BasePostgresSaver",)


class BasePostgresSaver(BaseSqlSaver):
    """Common to `PostgresSaver` and `AsyncPostgresSaver`.

    Attributes:
        MIGRATIONS: The statements that make the tables, by version.
        supports_pipeline: Whether the client library of PostgreSQL can send several statements at once.
    """

    MIGRATIONS = MIGRATIONS
    supports_pipeline: bool

    def __init__(
        self, runner: Runner, programs: PostgresPrograms, *, serde: SerializerProtocol | None = None
    ) -> None:
        super().__init__(runner, programs, serde=serde)
        self._runner.known = self._generations  # type: ignore[attr-defined]

    def _encode_metadata(self, lane: Lane, metadata: Mapping[str, Any]) -> StoredMetadata:
        return pack_metadata(lane, metadata, self._codec, is_exact)
