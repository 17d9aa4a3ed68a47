"""Loading a checkpoint in two round trips: one statement for all but the values, one for the rows that hold them.

The first sees one state of the database: the newest rows of the history, what is pending at the newest of them, and the count
of deletions. The rows that hold values never change, except by what counts as a deletion; so where the count is the same at
the end, all belonged together. Where it is not, `Moved` is raised, and the same is read once more in a transaction.

Rules: texts and parameters only.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from stepgraph.checkpoint.growth.codec import CorruptCheckpointError
from stepgraph.checkpoint.growth.rows import (
    Children,
    Key,
    Program,
    Row,
    RowsBack,
    RowsById,
    WritesOf,
    WritesRow,
)
from stepgraph.checkpoint.sql.metadata import StoredMetadata
from stepgraph.checkpoint.sql.reading import HERE, Reading
from stepgraph.checkpoint.sql.statements import Statement, StatementProgram

__all__ = ("Moved", "glance")

R = TypeVar("R")

_LEAN: Final = (
    "checkpoint_id, parent_id, run_id, metadata::text, metadata_more, record, NULL::bytea, NULL::bytea"
)
_ALL: Final = (
    "checkpoint_id, parent_id, run_id, metadata::text, metadata_more, record, channel_values, task_writes"
)
_COUNT: Final = "coalesce((SELECT value FROM stepgraph_deletions WHERE bucket = ?), 0)"
_FIRST: Final = f"""WITH near AS (
    SELECT * FROM stepgraph_checkpoints WHERE {HERE} {{last}} ORDER BY checkpoint_id DESC LIMIT ?
)
SELECT 'row', 0::bigint, {_LEAN} FROM near
UNION ALL
SELECT 'child', 0, {_ALL} FROM stepgraph_checkpoints WHERE parent_id = (SELECT max(checkpoint_id) FROM near)
    AND task_writes IS NOT NULL AND thread_id || '' = ? AND checkpoint_ns || '' = ?
UNION ALL
SELECT 'writes', place, checkpoint_id, task_id, run_id, task_path, NULL, writes, NULL, NULL FROM stepgraph_writes
    WHERE {HERE} AND checkpoint_id = (SELECT max(checkpoint_id) FROM near)
UNION ALL
SELECT 'count', {_COUNT}, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"""
_NEWEST: Final = _FIRST.format(last="")
_FROM: Final = _FIRST.format(last="AND checkpoint_id <= ?")
_VALUES: Final = f"""SELECT deletions.count, found.* FROM (SELECT {_COUNT} AS count) AS deletions LEFT JOIN (
    SELECT {_ALL} FROM stepgraph_checkpoints WHERE {HERE} AND checkpoint_id = ANY(?)
) AS found ON true"""


class Moved(Exception):
    """Something was deleted while it was read statement by statement."""


def glance(programs: Reading, program: Program[R], key: Key) -> StatementProgram[tuple[R, int]]:
    """Run a reader that begins with the newest rows, each statement by itself.

    Args:
        programs: What else it asks for.
        program: The reader.
        key: Thread and namespace.

    Returns:
        What the reader gives, and how many deletions there had been.

    Raises:
        Moved: It has to be read in a transaction.
    """
    request: Any = program.send(None)
    assert isinstance(request, RowsBack)
    bucket = programs.bucket(key[0])
    last = () if request.last is None else (request.last,)
    params = (*key, *last, request.limit, *key, *key, bucket)
    rows, children, writes, count = _parted((yield Statement(_FROM if last else _NEWEST, params)))
    newest = [rows[0].id] if rows else []
    reply: Any = rows
    known = count
    try:
        while True:
            request = program.send(reply)
            if isinstance(request, WritesOf) and list(request.ids) == newest:
                reply = writes
            elif isinstance(request, Children) and list(request.parents) == newest:
                reply = children
            elif isinstance(request, RowsById):
                found = yield Statement(_VALUES, (bucket, *key, list(request.ids)))
                known = found[0][0]
                reply = [_row(row[1:]) for row in found if row[1] is not None]
            else:
                reply = yield from programs.answer(request)
                known = yield from programs.generation(key[0])
    except StopIteration as end:
        if known != count:
            raise Moved from None
        return end.value, count
    except CorruptCheckpointError:
        if (yield from programs.generation(key[0])) != count:
            raise Moved from None
        raise


def _parted(found: list[Any]) -> tuple[list[Row], list[Row], list[tuple[str, WritesRow]], int]:
    """The answer to the first statement: rows, children, writes, the count of deletions."""
    kinds: dict[str, list[Any]] = {"row": [], "child": [], "writes": [], "count": []}
    for kind, *rest in found:
        kinds[kind].append(rest)
    writes = [
        (own, WritesRow(task, place, path, data, run))
        for place, own, task, run, path, _, data, _, _ in kinds["writes"]
    ]
    writes.sort(key=lambda pair: (pair[1].task_id, pair[1].place))
    rows = sorted([_row(row[1:]) for row in kinds["row"]], key=lambda row: row.id, reverse=True)
    children = sorted([_row(row[1:]) for row in kinds["child"]], key=lambda row: row.id)
    return rows, children, writes, kinds["count"][0][0]


def _row(row: Any) -> Row:
    own, parent, run, text, more, record, values, writes = row
    return Row(own, parent, run, StoredMetadata(text, more), record, values, writes)
