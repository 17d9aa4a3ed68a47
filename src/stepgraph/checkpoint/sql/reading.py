"""Reading from the tables, as programs that yield statements: once, for every kind of database.

Rules: no connections, no waiting. A program that reads several times runs in a read transaction: whoever runs it sees to
that. What differs between databases is a method or a text of `Reading` that the database's own class overrides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from stepgraph.checkpoint.growth.rows import (
    Children,
    Program,
    Request,
    Row,
    RowsBack,
    RowsById,
    WritesRow,
)
from stepgraph.checkpoint.sql.metadata import StoredMetadata
from stepgraph.checkpoint.sql.statements import R, Statement, StatementProgram

__all__ = ("COLUMNS", "HERE", "WRITES_COLUMNS", "Reading")

HERE: Final = "thread_id = ? AND checkpoint_ns = ?"
COLUMNS: Final = (
    "checkpoint_id, parent_id, run_id, metadata, metadata_more, record, channel_values, task_writes"
)
WRITES_COLUMNS: Final = "task_id, place, task_path, writes, run_id"


class Reading:
    """The programs that only read."""

    now: ClassVar[str]
    """What to select to get the time: seconds since 1970, as a float."""
    metadata_text: ClassVar[str] = "metadata"
    """What to select to get a checkpoint's metadata as JSON text."""

    def __init__(self) -> None:
        first = f"checkpoint_id, parent_id, run_id, {self.metadata_text}, metadata_more, record"
        self._all = f"{first}, channel_values, task_writes"
        self._lean = f"{first}, NULL, NULL"

    # ---- what a database says in its own way

    def among(self, column: str, values: Sequence[str]) -> list[tuple[str, Sequence[Any]]]:
        """Conditions that together let through the rows whose column has one of these values, with their parameters."""
        raise NotImplementedError

    def filter_condition(self, filter: Mapping[str, Any] | None) -> tuple[str, list[Any]]:
        """SQL that lets through every row that a filter on metadata may let through, and its parameters.

        What it lets through is looked at again, so it may let through more.
        """
        raise NotImplementedError

    def bucket(self, thread_id: str) -> int:
        """Which of the counters of deletions a thread belongs to."""
        raise NotImplementedError

    def generation(self, thread_id: str) -> StatementProgram[int]:
        """How many deletions there were where a thread is."""
        raise NotImplementedError
        yield

    @property
    def expired(self) -> str:
        """The condition on a row of `stepgraph_threads` for a thread that has expired, and that no run holds."""
        return f"(expires_at <= {self.now} AND (held_until IS NULL OR held_until <= {self.now}))"

    def is_expired(self, thread_id: str) -> StatementProgram[bool]:
        """Whether a thread has expired."""
        sql = f"SELECT 1 FROM stepgraph_threads WHERE thread_id = ? AND {self.expired}"
        return bool((yield Statement(sql, (thread_id,))))

    def read_rows(self, program: Program[R]) -> StatementProgram[R]:
        """Run a reader of rows: its requests become statements."""
        reply: Any = None
        try:
            while True:
                reply = yield from self.answer(program.send(reply))
        except StopIteration as end:
            result: R = end.value
            return result

    def read_with_generation(self, program: Program[R], thread_id: str) -> StatementProgram[tuple[R, int]]:
        """Run a reader of a thread's rows, and tell how many deletions there had been."""
        result = yield from self.read_rows(program)
        generation = yield from self.generation(thread_id)
        return result, generation

    def answer(self, request: Request) -> StatementProgram[Any]:
        """What a reader of rows asked for."""
        if isinstance(request, RowsBack):
            columns = self._all if request.values else self._lean
            if request.last is None:
                sql = f"SELECT {columns} FROM stepgraph_checkpoints WHERE {HERE} ORDER BY checkpoint_id DESC LIMIT ?"
                return _to_rows((yield Statement(sql, (*request.key, request.limit))))
            sql = (
                f"SELECT {columns} FROM stepgraph_checkpoints WHERE {HERE} AND checkpoint_id <= ?"
                " ORDER BY checkpoint_id DESC LIMIT ?"
            )
            return _to_rows((yield Statement(sql, (*request.key, request.last, request.limit))))
        rows: list[Any] = []
        if isinstance(request, RowsById):
            for condition, ids in self.among("checkpoint_id", request.ids):
                sql = f"SELECT {self._all} FROM stepgraph_checkpoints WHERE {HERE} AND {condition}"
                rows += yield Statement(sql, (*request.key, *ids))
            return _to_rows(rows)
        if isinstance(request, Children):
            for condition, ids in self.among("parent_id", request.parents):
                # Joined to nothing, so that no database searches all of the thread in place of the children.
                sql = (
                    f"SELECT {self._all} FROM stepgraph_checkpoints WHERE {condition} AND task_writes IS NOT NULL"
                    " AND thread_id || '' = ? AND checkpoint_ns || '' = ? ORDER BY checkpoint_id"
                )
                rows += yield Statement(sql, (*ids, *request.key))
            return _to_rows(rows)
        for condition, ids in self.among("checkpoint_id", request.ids):
            sql = (
                f"SELECT checkpoint_id, {WRITES_COLUMNS} FROM stepgraph_writes"
                f" WHERE {HERE} AND {condition} ORDER BY task_id, place"
            )
            rows += yield Statement(sql, (*request.key, *ids))
        return [(row[0], WritesRow(*row[1:])) for row in rows]

    def candidates(
        self,
        where: Mapping[str, Any],
        filter: Mapping[str, Any] | None,
        end: str | None,
        after: Sequence[str] | None,
        limit: int,
        *,
        unexpired: bool = False,
    ) -> StatementProgram[list[Any]]:
        """A page of what a listing may show, newest first.

        Args:
            where: Thread, namespace and checkpoint of the listing's config, as far as given.
            filter: On metadata.
            end: Only checkpoints older than this one.
            after: Checkpoint, thread and namespace of the last one of the page before.
            limit: How many at most.
            unexpired: Whether to leave out threads that have expired.

        Returns:
            Checkpoint id, thread, namespace, metadata, more metadata.
        """
        sql, params = self.filter_condition(filter)
        for column in ("thread_id", "checkpoint_ns", "checkpoint_id"):
            if where.get(column) is not None:
                sql += f" AND {column} = ?"
                params.append(str(where[column]))
        if unexpired:
            sql += f" AND thread_id NOT IN (SELECT thread_id FROM stepgraph_threads WHERE {self.expired})"
        if end is not None:
            sql += " AND checkpoint_id < ?"
            params.append(end)
        if after is not None:
            sql += " AND checkpoint_id <= ? AND (checkpoint_id, thread_id, checkpoint_ns) < (?, ?, ?)"
            params += [after[0], *after]
        found: list[Any] = yield Statement(
            f"SELECT checkpoint_id, thread_id, checkpoint_ns, {self.metadata_text}, metadata_more"
            f" FROM stepgraph_checkpoints WHERE TRUE{sql} ORDER BY checkpoint_id DESC, thread_id DESC, checkpoint_ns DESC LIMIT ?",
            (*params, limit),
        )
        return found


def _to_rows(found: Iterable[Any]) -> list[Row]:
    return [Row(i, parent, run, StoredMetadata(m, more), *rest) for i, parent, run, m, more, *rest in found]
