"""What SQLite says in its own way.

Rules: texts and parameters only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from stepgraph.checkpoint.sql.metadata import is_searchable
from stepgraph.checkpoint.sql.programs import Programs
from stepgraph.checkpoint.sql.statements import Statement, StatementProgram

__all__ = ("SqlitePrograms",)

_CHUNK: Final = 500
"""So many parameters a statement: fewer than any build of SQLite allows."""


class SqlitePrograms(Programs):
    """The programs for a database that has one writer at a time: nothing needs a lock of its own."""

    now: ClassVar[str] = "((julianday('now') - 2440587.5) * 86400.0)"

    def among(self, column: str, values: Sequence[str]) -> list[tuple[str, Sequence[Any]]]:
        """Conditions that together let through the rows whose column has one of these values, with their parameters."""
        chunks = [values[i : i + _CHUNK] for i in range(0, len(values), _CHUNK)]
        return [(f"{column} IN ({','.join('?' * len(chunk))})", chunk) for chunk in chunks]

    def filter_condition(self, filter: Mapping[str, Any] | None) -> tuple[str, list[Any]]:
        """SQL that lets through every row that a filter on metadata may let through, and its parameters."""
        sql, params = "", []
        for key, value in (filter or {}).items():
            if is_searchable(key, value):
                sql += (
                    " AND (metadata_more IS NOT NULL OR CASE WHEN json_valid(metadata) THEN EXISTS"
                    " (SELECT 1 FROM json_each(metadata) AS item WHERE item.key = ? AND item.value = ?) ELSE 1 END)"
                )
                params += [key, value]
        return sql, params

    def bucket(self, thread_id: str) -> int:
        """There is one counter of deletions."""
        return 0

    def generation(self, thread_id: str) -> StatementProgram[int]:
        """How many deletions there were."""
        found = yield Statement("SELECT value FROM stepgraph_counters WHERE name = 'deletions'")
        count: int = found[0][0]
        return count

    def note_deletion(self, threads: Iterable[str]) -> StatementProgram[None]:
        """Count that something was deleted or replaced."""
        yield Statement("UPDATE stepgraph_counters SET value = value + 1 WHERE name = 'deletions'")
