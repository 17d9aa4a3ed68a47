"""Everything that is done with the tables, as programs that yield statements.

Rules: no connections, no waiting. A program that writes runs in a write transaction, one that reads several times in a
read transaction: whoever runs it sees to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from stepgraph.checkpoint.growth.codec import Codec
from stepgraph.checkpoint.growth.frames import Record
from stepgraph.checkpoint.growth.retention import Plan, doomed_of, needs, plan_drop, plan_keep_newest
from stepgraph.checkpoint.growth.rows import (
    Children,
    Key,
    Program,
    Request,
    Row,
    RowParts,
    RowsBack,
    RowsById,
    WritesRow,
    without_known,
)
from stepgraph.checkpoint.sqlite.metadata import StoredMetadata, filter_condition
from stepgraph.checkpoint.sqlite.statements import R, Statement, StatementProgram, in_chunks, marks
from stepgraph.checkpoint.step_saver import Encoded, EncodedStep, EncodedWrites, deleted_meanwhile
from stepgraph.errors import ThreadBusyError
from stepgraph.values.missing import MISSING

__all__ = (
    "candidates",
    "copy_thread",
    "delete_for_runs",
    "delete_thread",
    "make_room",
    "prune",
    "read_rows",
    "read_with_generation",
    "store_batch",
)

_HERE: Final = "thread_id = ? AND checkpoint_ns = ?"
_COLUMNS: Final = (
    "checkpoint_id, parent_id, run_id, metadata, metadata_more, record, channel_values, task_writes"
)
_LEAN: Final = "checkpoint_id, parent_id, run_id, metadata, metadata_more, record, NULL, NULL"
_INSERT: Final = (
    f"INTO stepgraph_checkpoints (thread_id, checkpoint_ns, {_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?)"
)
_WRITES_COLUMNS: Final = "task_id, place, task_path, writes, run_id"
_INSERT_WRITES: Final = f"INTO stepgraph_writes (thread_id, checkpoint_ns, checkpoint_id, {_WRITES_COLUMNS}) VALUES (?,?,?,?,?,?,?,?)"
_GENERATION: Final = "SELECT value FROM stepgraph_counters WHERE name = 'deletions'"


# ---- reading


def read_rows(program: Program[R]) -> StatementProgram[R]:
    """Run a reader of rows: its requests become statements."""
    reply: Any = None
    try:
        while True:
            reply = yield from _answer(program.send(reply))
    except StopIteration as end:
        result: R = end.value
        return result


def read_with_generation(program: Program[R]) -> StatementProgram[tuple[R, int]]:
    """Run a reader, and tell how many deletions there had been."""
    result = yield from read_rows(program)
    found = yield Statement(_GENERATION)
    return result, found[0][0]


def _answer(request: Request) -> StatementProgram[Any]:
    if isinstance(request, RowsBack):
        columns = _COLUMNS if request.values else _LEAN
        if request.last is None:
            sql = f"SELECT {columns} FROM stepgraph_checkpoints WHERE {_HERE} ORDER BY checkpoint_id DESC LIMIT ?"
            return _to_rows((yield Statement(sql, (*request.key, request.limit))))
        sql = (
            f"SELECT {columns} FROM stepgraph_checkpoints WHERE {_HERE} AND checkpoint_id <= ?"
            " ORDER BY checkpoint_id DESC LIMIT ?"
        )
        return _to_rows((yield Statement(sql, (*request.key, request.last, request.limit))))
    rows: list[Any] = []
    if isinstance(request, RowsById):
        for ids in in_chunks(request.ids):
            sql = f"SELECT {_COLUMNS} FROM stepgraph_checkpoints WHERE {_HERE} AND checkpoint_id IN ({marks(len(ids))})"
            rows += yield Statement(sql, (*request.key, *ids))
        return _to_rows(rows)
    if isinstance(request, Children):
        for ids in in_chunks(request.parents):
            # The plus signs keep SQLite from searching all of the thread in place of the children.
            sql = (
                f"SELECT {_COLUMNS} FROM stepgraph_checkpoints WHERE parent_id IN ({marks(len(ids))})"
                " AND task_writes IS NOT NULL AND +thread_id = ? AND +checkpoint_ns = ? ORDER BY checkpoint_id"
            )
            rows += yield Statement(sql, (*ids, *request.key))
        return _to_rows(rows)
    for ids in in_chunks(request.ids):
        sql = (
            f"SELECT checkpoint_id, {_WRITES_COLUMNS} FROM stepgraph_writes"
            f" WHERE {_HERE} AND checkpoint_id IN ({marks(len(ids))}) ORDER BY task_id, place"
        )
        rows += yield Statement(sql, (*request.key, *ids))
    return [(row[0], WritesRow(*row[1:])) for row in rows]


def _to_rows(found: Iterable[Any]) -> list[Row]:
    return [Row(i, parent, run, StoredMetadata(m, more), *rest) for i, parent, run, m, more, *rest in found]


def candidates(
    where: Mapping[str, Any],
    filter: Mapping[str, Any] | None,
    end: str | None,
    after: Sequence[str] | None,
    limit: int,
) -> StatementProgram[list[Any]]:
    """A page of what a listing may show, newest first.

    Args:
        where: Thread, namespace and checkpoint of the listing's config, as far as given.
        filter: On metadata.
        end: Only checkpoints older than this one.
        after: Checkpoint, thread and namespace of the last one of the page before.
        limit: How many at most.

    Returns:
        Checkpoint id, thread, namespace, metadata, more metadata.
    """
    sql, params = filter_condition(filter)
    for column in ("thread_id", "checkpoint_ns", "checkpoint_id"):
        if where.get(column) is not None:
            sql += f" AND {column} = ?"
            params.append(str(where[column]))
    if end is not None:
        sql += " AND checkpoint_id < ?"
        params.append(end)
    if after is not None:
        sql += " AND checkpoint_id <= ? AND (checkpoint_id, thread_id, checkpoint_ns) < (?, ?, ?)"
        params += [after[0], *after]
    found: list[Any] = yield Statement(
        "SELECT checkpoint_id, thread_id, checkpoint_ns, metadata, metadata_more FROM stepgraph_checkpoints"
        f" WHERE TRUE{sql} ORDER BY checkpoint_id DESC, thread_id DESC, checkpoint_ns DESC LIMIT ?",
        (*params, limit),
    )
    return found


# ---- writing


def store_batch(batch: Sequence[Encoded]) -> StatementProgram[int]:
    """Store what was encoded.

    Returns:
        How many deletions there had been.

    Raises:
        ThreadBusyError: The newest checkpoint is not the expected one, or rows that the batch refers to were deleted.
    """
    generation: int = (yield Statement(_GENERATION))[0][0]
    heads: dict[Key, str] = {}
    stored: dict[Key, set[str]] = {}
    rows: list[Any] = []
    replacing: list[Any] = []
    special: list[Any] = []
    ordinary: list[Any] = []
    for item in batch:
        key = item.key
        if isinstance(item, EncodedStep):
            checkpoint_id = item.row[0]
            if item.expected_head is not MISSING:
                yield from _check_head(item, heads.get(key))
            if item.generation != generation:
                yield from _check_references(item, stored.setdefault(key, set()))
            heads[key] = max(heads.get(key, ""), checkpoint_id)
            stored.setdefault(key, set()).add(checkpoint_id)
            (replacing if item.replaces else rows).append((*key, *_columns(item.row)))
        elif isinstance(item, EncodedWrites):
            for writes in item.rows:
                target = special if writes[1] < 0 else ordinary
                target.append((*key, item.checkpoint_id, *writes))
    if rows:
        yield Statement(f"INSERT {_INSERT}", rows, True)
    if replacing:
        yield Statement(f"INSERT OR REPLACE {_INSERT}", replacing, True)
    if special:
        yield Statement(f"INSERT OR REPLACE {_INSERT_WRITES}", special, True)
    if ordinary:
        count = yield Statement(f"INSERT OR IGNORE {_INSERT_WRITES}", ordinary, True)
        if count < len(ordinary):
            yield from _store_rest(ordinary)
    return generation


def _columns(row: RowParts) -> tuple[Any, ...]:
    checkpoint_id, parent, run_id, (text, more), record, values, writes = row
    return checkpoint_id, parent, run_id, text, more, record, values, writes


def _check_head(item: EncodedStep, in_batch: str | None) -> StatementProgram[None]:
    _, parent, own_run, *_ = item.row
    newest, run_id = in_batch, own_run
    if newest is None:
        found = yield Statement(
            f"SELECT checkpoint_id, run_id FROM stepgraph_checkpoints WHERE {_HERE} ORDER BY checkpoint_id DESC LIMIT 1",
            item.key,
        )
        newest, run_id = found[0] if found else (None, None)
    if newest == item.expected_head:
        return
    step = yield Statement(
        f"SELECT json_extract(metadata, '$.step') FROM stepgraph_checkpoints WHERE {_HERE} AND checkpoint_id = ?",
        (*item.key, parent),
    )
    raise ThreadBusyError(
        item.key[0],
        item.key[1],
        run_id=own_run,
        other_run_id=run_id,
        last_step=step[0][0] if step else None,
    )


def _check_references(item: EncodedStep, stored: set[str]) -> StatementProgram[None]:
    """Something was deleted since the row was encoded: is what it refers to still there?"""
    row = Row(*item.row)
    needed = sorted({place for place in needs(row) if place != row.id and place not in stored})
    found = 0
    for ids in in_chunks(needed):
        rows = yield Statement(
            f"SELECT count(*) FROM stepgraph_checkpoints WHERE {_HERE} AND checkpoint_id IN ({marks(len(ids))})",
            (*item.key, *ids),
        )
        found += rows[0][0]
    if found < len(needed):
        raise deleted_meanwhile(item.key, row.run_id)


def _store_rest(rows: Sequence[Any]) -> StatementProgram[None]:
    """Some tasks had ordinary writes already: add what is not among them."""
    for row in rows:
        found = yield Statement(
            f"SELECT {_WRITES_COLUMNS} FROM stepgraph_writes"
            f" WHERE {_HERE} AND checkpoint_id = ? AND task_id = ? AND place >= 0",
            row[:4],
        )
        rest = without_known([WritesRow(*known) for known in found], WritesRow(*row[3:]))
        if rest is not None:
            yield Statement(f"INSERT {_INSERT_WRITES}", (*row[:3], *rest))


# ---- keeping house


def make_room(key: Key, checkpoint_id: str, codec: Codec) -> StatementProgram[bool]:
    """Before a checkpoint is stored under an id that is taken: let no other one refer to what it replaces."""
    found = yield Statement(
        f"SELECT 1 FROM stepgraph_checkpoints WHERE {_HERE} AND checkpoint_id = ?", (*key, checkpoint_id)
    )
    if not found:
        return False
    plan = yield from read_rows(plan_drop(key, (checkpoint_id,), codec, replaced=True))
    yield from _replace(key, plan)
    yield from _note_deletion()
    return True


def _replace(key: Key, plan: Plan) -> StatementProgram[None]:
    if plan.rows:
        rows = [(row.parent, row.record, row.values, row.writes, *key, row.id) for row in plan.rows]
        yield Statement(
            "UPDATE stepgraph_checkpoints SET parent_id = ?, record = ?, channel_values = ?, task_writes = ?"
            f" WHERE {_HERE} AND checkpoint_id = ?",
            rows,
            True,
        )
    if plan.writes:
        writes = [
            (row.data, *key, checkpoint_id, row.task_id, row.place) for checkpoint_id, row in plan.writes
        ]
        yield Statement(
            f"UPDATE stepgraph_writes SET writes = ? WHERE {_HERE} AND checkpoint_id = ? AND task_id = ? AND place = ?",
            writes,
            True,
        )


def _note_deletion() -> StatementProgram[None]:
    yield Statement("UPDATE stepgraph_counters SET value = value + 1 WHERE name = 'deletions'")


def _carry_out(key: Key, plan: Plan) -> StatementProgram[None]:
    yield from _replace(key, plan)
    doomed = [(*key, checkpoint_id) for checkpoint_id in sorted(plan.doomed)]
    for table in ("stepgraph_checkpoints", "stepgraph_writes"):
        yield Statement(f"DELETE FROM {table} WHERE {_HERE} AND checkpoint_id = ?", doomed, True)


def delete_thread(thread_id: str) -> StatementProgram[None]:
    """Delete all of a thread."""
    for table in ("stepgraph_checkpoints", "stepgraph_writes"):
        yield Statement(f"DELETE FROM {table} WHERE thread_id = ?", (thread_id,))
    yield from _note_deletion()


def copy_thread(source: str, target: str) -> StatementProgram[None]:
    """Copy all of a thread.

    Raises:
        ValueError: The target has checkpoints.
    """
    if (yield Statement("SELECT 1 FROM stepgraph_checkpoints WHERE thread_id = ? LIMIT 1", (target,))):
        raise ValueError(f"Thread {target!r} has checkpoints. Copy to a new thread id, or delete it first.")
    for table, columns in (
        ("stepgraph_checkpoints", _COLUMNS),
        ("stepgraph_writes", f"checkpoint_id, {_WRITES_COLUMNS}"),
    ):
        yield Statement(
            f"INSERT INTO {table} (thread_id, checkpoint_ns, {columns})"
            f" SELECT ?, checkpoint_ns, {columns} FROM {table} WHERE thread_id = ? ORDER BY rowid",
            (target, source),
        )


def prune(
    threads: Sequence[str],
    strategy: str,
    before: float | None,
    namespaces: Sequence[str] | None,
    codec: Codec,
) -> StatementProgram[None]:
    """Delete old checkpoints of threads; arguments as in `StepSaver.prune`."""
    for thread_id in threads:
        found = yield Statement(
            "SELECT DISTINCT checkpoint_ns FROM stepgraph_checkpoints WHERE thread_id = ?", (thread_id,)
        )
        for (namespace,) in found:
            if namespaces is None or namespace in namespaces:
                yield from _prune_history((thread_id, namespace), strategy, before, codec)
    yield from _note_deletion()


def _prune_history(key: Key, strategy: str, before: float | None, codec: Codec) -> StatementProgram[None]:
    if before is None and strategy == "delete":
        for table in ("stepgraph_checkpoints", "stepgraph_writes"):
            yield Statement(f"DELETE FROM {table} WHERE {_HERE}", key)
    elif before is None:
        plan = yield from read_rows(plan_keep_newest(key, codec))
        yield from _carry_out(key, plan)
    else:
        found = yield Statement(
            f"SELECT checkpoint_id, record FROM stepgraph_checkpoints WHERE {_HERE} ORDER BY checkpoint_id DESC",
            key,
        )
        doomed = doomed_of([(i, Record(record).made_at(i)) for i, record in found], strategy, before)
        yield from _drop(key, doomed, codec)


def _drop(key: Key, doomed: set[str], codec: Codec) -> StatementProgram[None]:
    if doomed:
        plan = yield from read_rows(plan_drop(key, doomed, codec))
        yield from _carry_out(key, plan)


def delete_for_runs(run_ids: Sequence[str], codec: Codec) -> StatementProgram[None]:
    """Delete the checkpoints and pending writes that these runs stored."""
    doomed: dict[Key, set[str]] = {}
    for runs in in_chunks(run_ids):
        found = yield Statement(
            "SELECT thread_id, checkpoint_ns, checkpoint_id FROM stepgraph_checkpoints"
            f" WHERE run_id IN ({marks(len(runs))})",
            runs,
        )
        for thread_id, namespace, checkpoint_id in found:
            doomed.setdefault((thread_id, namespace), set()).add(checkpoint_id)
        yield Statement(f"DELETE FROM stepgraph_writes WHERE run_id IN ({marks(len(runs))})", runs)
    for key, ids in doomed.items():
        yield from _drop(key, ids, codec)
    yield from _note_deletion()
