"""The tables, and how they came to be: numbered migrations, applied in order, each once.

Rules: a migration that was released is never changed; another one is added. All names begin with `stepgraph_`, so that
the tables live beside those of other programs in one file.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from stepgraph.checkpoint.sql.statements import Statement

__all__ = ("MIGRATIONS", "is_current", "migrate")

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE stepgraph_checkpoints (
            thread_id TEXT NOT NULL,
            checkpoint_ns TEXT NOT NULL,
            checkpoint_id TEXT NOT NULL,
            parent_id TEXT,
            run_id TEXT,
            metadata TEXT NOT NULL,
            metadata_more BLOB,
            record BLOB NOT NULL,
            channel_values BLOB NOT NULL,
            task_writes BLOB
        )""",
        """CREATE UNIQUE INDEX stepgraph_checkpoints_by_id
            ON stepgraph_checkpoints (thread_id, checkpoint_ns, checkpoint_id)""",
        """CREATE INDEX stepgraph_checkpoints_by_parent
            ON stepgraph_checkpoints (parent_id) WHERE task_writes IS NOT NULL""",
        """CREATE TABLE stepgraph_writes (
            thread_id TEXT NOT NULL,
            checkpoint_ns TEXT NOT NULL,
            checkpoint_id TEXT NOT NULL,
            task_id TEXT NOT NULL,
            place INTEGER NOT NULL,
            task_path TEXT NOT NULL,
            run_id TEXT,
            writes BLOB NOT NULL
        )""",
        """CREATE UNIQUE INDEX stepgraph_writes_by_task
            ON stepgraph_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, place)""",
    ),
    (
        """CREATE TABLE stepgraph_threads (
            thread_id TEXT NOT NULL PRIMARY KEY,
            run_id TEXT,
            token TEXT,
            held_until REAL,
            expires_at REAL
        )""",
        """CREATE INDEX stepgraph_threads_by_expiry ON stepgraph_threads (expires_at) WHERE expires_at IS NOT NULL""",
    ),
    (),
)
"""Migration number i (from 1) is entry i - 1: its statements. From 3 on, tasks in `task_writes` may come without ids."""


def is_current() -> Generator[Statement, Any, bool]:
    """Whether the tables have the newest form already; it only reads, so it waits for no writer."""
    if not (yield Statement("SELECT 1 FROM sqlite_master WHERE name = 'stepgraph_counters'")):
        return False
    found = yield Statement("SELECT value FROM stepgraph_counters WHERE name = 'schema'")
    return bool(found) and found[0][0] == len(MIGRATIONS)


def migrate() -> Generator[Statement, Any, None]:
    """Bring the tables to the newest form; run it in a write transaction.

    Raises:
        RuntimeError: The file was written by a later version of the library.
    """
    yield Statement(
        "CREATE TABLE IF NOT EXISTS stepgraph_counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL)"
    )
    found = yield Statement("SELECT value FROM stepgraph_counters WHERE name = 'schema'")
    version = found[0][0] if found else 0
    if version > len(MIGRATIONS):
        raise RuntimeError(
            f"The checkpoints in this database have form {version}; this version of stepgraph knows forms up to"
            f" {len(MIGRATIONS)}. Upgrade stepgraph, or use another file."
        )
    for statements in MIGRATIONS[version:]:
        for text in statements:
            yield Statement(text)
    if version < len(MIGRATIONS):
        yield Statement(
            "INSERT INTO stepgraph_counters VALUES ('schema', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            (len(MIGRATIONS),),
        )
        yield Statement("INSERT OR IGNORE INTO stepgraph_counters VALUES ('deletions', 0)")
