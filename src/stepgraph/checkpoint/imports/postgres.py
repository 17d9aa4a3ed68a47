"""Threads in a database of LangGraph's Postgres saver.

Rules: every transaction is read-only, so the server itself refuses whatever would change something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from stepgraph.checkpoint.imports.source import Found, FoundWrite
from stepgraph.checkpoint.imports.values import take_over
from stepgraph.checkpoint.postgres.driver import psycopg
from stepgraph.values.missing import MISSING

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.ciphers import AesCipher

_NEEDED: Final = {
    "checkpoints": {
        "thread_id",
        "checkpoint_ns",
        "checkpoint_id",
        "parent_checkpoint_id",
        "checkpoint",
        "metadata",
    },
    "checkpoint_blobs": {"thread_id", "checkpoint_ns", "channel", "version", "type", "blob"},
    "checkpoint_writes": {
        "thread_id",
        "checkpoint_ns",
        "checkpoint_id",
        "task_id",
        "idx",
        "channel",
        "type",
        "blob",
    },
}
_COLUMNS: Final = """
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = ANY (current_schemas(false)) AND table_name = ANY (%s)"""
_VALUES: Final = """
SELECT blobs.channel, blobs.type, blobs.blob
FROM checkpoints, jsonb_each_text(checkpoint -> 'channel_versions') AS known (channel, version)
JOIN checkpoint_blobs AS blobs USING (channel, version)
WHERE checkpoints.thread_id = %(thread)s AND checkpoints.checkpoint_ns = %(namespace)s
    AND checkpoints.checkpoint_id = %(id)s
    AND blobs.thread_id = checkpoints.thread_id AND blobs.checkpoint_ns = checkpoints.checkpoint_ns"""


class PostgresSource:
    """A database.

    Args:
        url: Where it is.
        name: What to call it in messages; without a password.
        cipher: Decrypts, where values are encrypted.

    Raises:
        ValueError: It cannot be reached, or holds no threads of LangGraph.
    """

    def __init__(self, url: str, name: str, cipher: AesCipher | None = None) -> None:
        self.name = name
        self.cipher = cipher
        try:
            self._connection = psycopg.connect(url, autocommit=True)
        except psycopg.Error as error:
            raise ValueError(f"{name} cannot be reached: {error}") from error
        try:
            self._connection.execute("SET default_transaction_read_only = on")
            self._has_paths = self._look()
        except BaseException:
            self._connection.close()
            raise

    def _look(self) -> bool:
        """Whether tasks' paths were stored; raises if no threads were."""
        columns: dict[str, set[str]] = {}
        for table, column in self._rows(_COLUMNS, ([*_NEEDED],)):
            columns.setdefault(table, set()).add(column)
        for table, needed in _NEEDED.items():
            missing = needed - columns.get(table, set())
            if missing:
                what = (
                    f"table {table} lacks {', '.join(sorted(missing))}"
                    if table in columns
                    else f"there is no table {table}"
                )
                raise ValueError(f"{self.name} holds no threads of LangGraph's Postgres saver: {what}.")
        return "task_path" in columns["checkpoint_writes"]

    def threads(self) -> Sequence[str]:
        """The ids of all threads, sorted."""
        return [
            row[0] for row in self._rows('SELECT DISTINCT thread_id COLLATE "C" FROM checkpoints ORDER BY 1')
        ]

    def checkpoints(self, thread_id: str) -> Sequence[Found]:
        """The checkpoints of a thread, at all levels, the oldest first."""
        sql = """
            SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata FROM checkpoints
            WHERE thread_id = %s ORDER BY checkpoint_id COLLATE "C", checkpoint_ns COLLATE "C" """
        return [
            Found(namespace, id, parent or None, metadata if isinstance(metadata, dict) else None)
            for namespace, id, parent, metadata in self._rows(sql, (thread_id,))
        ]

    def content(self, thread_id: str, found: Found) -> Mapping[str, Any]:
        """A checkpoint: small values stand in it, others beside it, one for each version."""
        where = {"thread": thread_id, "namespace": found.namespace, "id": found.id}
        sql = """
            SELECT checkpoint FROM checkpoints
            WHERE thread_id = %(thread)s AND checkpoint_ns = %(namespace)s AND checkpoint_id = %(id)s"""
        ((checkpoint,),) = self._rows(sql, where)
        values = dict(checkpoint.get("channel_values") or {})
        for channel, tag, data in self._rows(_VALUES, where):
            value = take_over(tag, data, self.cipher)
            if value is not MISSING:
                values[channel] = value
        return {**checkpoint, "channel_values": values}

    def writes(self, thread_id: str, found: Found) -> Sequence[FoundWrite]:
        """What tasks wrote against a checkpoint, task by task."""
        path = "task_path" if self._has_paths else "''"
        sql = f"""
            SELECT task_id, {path} AS path, idx, channel, type, blob FROM checkpoint_writes
            WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s
            ORDER BY 2, task_id, idx"""
        return [FoundWrite(*row) for row in self._rows(sql, (thread_id, found.namespace, found.id))]

    def _rows(self, sql: str, parameters: Any = ()) -> list[Any]:
        return self._connection.execute(sql, parameters).fetchall()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()
