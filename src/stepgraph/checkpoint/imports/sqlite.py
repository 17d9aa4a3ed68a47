"""Threads in a file of LangGraph's SQLite saver.

Rules: the file is opened for reading only; a file that another program still writes to is read as of one moment a query.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.imports.source import Found, FoundWrite
from stepgraph.checkpoint.imports.values import NotReadable, take_over

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.ciphers import AesCipher


class SqliteSource:
    """A file.

    Args:
        path: The file.
        cipher: Decrypts, where values are encrypted.

    Raises:
        ValueError: There is no such file, it is no database, or it holds no threads of LangGraph.
    """

    def __init__(self, path: str, cipher: AesCipher | None = None) -> None:
        self.name = path
        self.cipher = cipher
        if not Path(path).is_file():
            raise ValueError(f"There is no file {path}.")
        try:
            self._connection = _open(path)
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{path} is no SQLite database that can be read: {error}.") from error
        try:
            self._has_paths = self._look()
        except BaseException:
            self._connection.close()
            raise

    def _look(self) -> bool:
        """Whether tasks' paths were stored; raises if no threads were."""
        columns = {row[1] for row in self._connection.execute("PRAGMA table_info(checkpoints)")}
        of_writes = {row[1] for row in self._connection.execute("PRAGMA table_info(writes)")}
        if not {"thread_id", "checkpoint_ns", "checkpoint_id", "type", "checkpoint", "metadata"} <= columns:
            raise ValueError(f"{self.name} holds no threads of LangGraph's SQLite saver.")
        return "task_path" in of_writes

    def threads(self) -> Sequence[str]:
        """The ids of all threads, sorted."""
        return [row[0] for row in self._rows("SELECT DISTINCT thread_id FROM checkpoints ORDER BY 1")]

    def checkpoints(self, thread_id: str) -> Sequence[Found]:
        """The checkpoints of a thread, at all levels, the oldest first."""
        sql = (
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata FROM checkpoints"
            " WHERE thread_id = ? ORDER BY checkpoint_id, checkpoint_ns"
        )
        return [
            Found(namespace, id, parent or None, _metadata(text))
            for namespace, id, parent, text in self._rows(sql, (thread_id,))
        ]

    def content(self, thread_id: str, found: Found) -> Mapping[str, Any]:
        """A checkpoint."""
        sql = (
            "SELECT type, checkpoint FROM checkpoints"
            " WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
        )
        ((tag, data),) = self._rows(sql, (thread_id, found.namespace, found.id))
        checkpoint = take_over(tag, data, self.cipher)
        if not isinstance(checkpoint, dict):
            raise NotReadable("its bytes hold no checkpoint")
        return checkpoint

    def writes(self, thread_id: str, found: Found) -> Sequence[FoundWrite]:
        """What tasks wrote against a checkpoint, in the order in which it was stored."""
        path = "task_path" if self._has_paths else "''"
        sql = (
            f"SELECT task_id, {path}, idx, channel, type, value FROM writes"
            " WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY rowid"
        )
        rows = self._rows(sql, (thread_id, found.namespace, found.id))
        return [FoundWrite(*row) for row in rows]

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._connection.execute(sql, parameters).fetchall()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _metadata(text: Any) -> Mapping[str, Any] | None:
    try:
        metadata = json.loads(text) if text else {}
    except ValueError:
        return None
    return metadata if isinstance(metadata, dict) else None


def _open(path: str) -> sqlite3.Connection:
    """A connection that cannot write; of a file in a place where SQLite cannot keep its notes, as it stands."""
    uri = Path(path).resolve().as_uri()
    connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, check_same_thread=False)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        connection = sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    except BaseException:
        connection.close()
        raise
    return connection
