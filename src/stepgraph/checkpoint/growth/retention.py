"""Dropping checkpoints that others refer to.

A checkpoint that is kept may be stored as a difference against one that is dropped, or say that a value is there. Such a
checkpoint is read first and stored again, complete in itself, before anything is dropped. Pending writes that refer to
dropped values likewise.

Rules: plans only; whoever runs the plan does all of it in one transaction with the reading.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from ormsgpack import packb, unpackb

from stepgraph.checkpoint.growth.codec import Codec
from stepgraph.checkpoint.growth.frames import Record, complete_record
from stepgraph.checkpoint.growth.reader import Loaded, Reader, load
from stepgraph.checkpoint.growth.rows import Children, Key, Program, Row, RowsBack, WritesOf, WritesRow
from stepgraph.checkpoint.growth.task_writes import read_task_writes
from stepgraph.checkpoint.growth.tracker import WHOLE
from stepgraph.checkpoint.ids import unix_time_of

__all__ = ("Plan", "doomed_of", "needs", "needs_of_writes", "plan_drop", "plan_keep_newest")

_PAGE: Final = 200


class Plan:
    """What to do in one thread and namespace.

    Attributes:
        doomed: The checkpoints to drop, with their pending writes.
        rows: Rows to put in the place of those with the same id.
        writes: Checkpoint id and the row of pending writes to put in the place of the one with the same task and index.
    """

    __slots__ = ("doomed", "rows", "writes")

    def __init__(self, doomed: set[str]) -> None:
        self.doomed = doomed
        self.rows: list[Row] = []
        self.writes: list[tuple[str, WritesRow]] = []


def doomed_of(rows: Sequence[tuple[str, str]], strategy: str, before: float | None) -> set[str]:
    """Which checkpoints of a history a strategy drops.

    Args:
        rows: Id and time (ISO 8601) of each, newest first.
        strategy: `"keep_latest"` or `"delete"`.
        before: Only those made before this time, in seconds since 1970.
    """
    rest = rows[1:] if strategy == "keep_latest" else rows
    return {row_id for row_id, ts in rest if before is None or _time_of(row_id, ts) < before}


def _time_of(checkpoint_id: str, ts: str) -> float:
    known = unix_time_of(checkpoint_id)
    if known is None:
        from datetime import datetime

        known = datetime.fromisoformat(ts).timestamp()
    return known


def plan_keep_newest(key: Key, codec: Codec) -> Program[Plan]:
    """Keep the newest checkpoint of a history only."""
    ids: list[str] = []
    last: str | None = None
    while True:
        page = yield RowsBack(key, last, _PAGE, False)
        ids += [row.id for row in page if row.id != last]
        if len(page) < _PAGE:
            break
        last = page[-1].id
    plan = Plan(set(ids[1:]))
    if plan.doomed:
        found = yield from load(key, ids[0], codec)
        if found is not None:
            plan.rows.append(_complete(found, None, None, codec))
            yield from _plan_writes(plan, key, [ids[0]], codec)
    return plan


def plan_drop(key: Key, doomed: Collection[str], codec: Codec, *, replaced: bool = False) -> Program[Plan]:
    """Drop some checkpoints of a history, and keep the others readable.

    Args:
        key: Thread and namespace.
        doomed: The checkpoints to drop.
        codec: Makes bytes and values.
        replaced: Whether others will be stored under the same ids, so that their children stay their children.
    """
    plan = Plan(set(doomed))
    parents: dict[str, str | None] = {}
    needy: list[Row] = []
    last: str | None = None
    while True:
        page = yield RowsBack(key, last, _PAGE, True)
        for row in page:
            if row.id == last:
                continue
            parents[row.id] = row.parent
            if row.id not in plan.doomed and not plan.doomed.isdisjoint((row.parent, *needs(row))):
                needy.append(row)
        if len(page) < _PAGE:
            break
        last = page[-1].id
    for row in needy:
        found = yield from load(key, row.id, codec)
        if found is None:
            continue
        parent, writes = row.parent, None
        if parent is not None and (replaced or parent not in plan.doomed) and row.writes is not None:
            writes = yield from _writes_by_value(key, row, codec)
        while not replaced and parent is not None and parent in plan.doomed:
            parent = parents.get(parent)
        plan.rows.append(_complete(found, parent, writes, codec))
    kept = [i for i in parents if replaced or i not in plan.doomed]
    yield from _plan_writes(plan, key, kept, codec)
    return plan


def needs(row: Row) -> Iterator[str]:
    """The checkpoints without which a row cannot be read."""
    record = Record(row.record)
    if not record.complete and row.parent is not None:
        yield row.parent
    yield from record.places()
    for entry in unpackb(row.values or b"\x80").values():
        if type(entry) is list and entry[0] != WHOLE:
            yield entry[1]


def needs_of_writes(rows: Iterable[bytes]) -> Iterator[str]:
    """The checkpoints without which rows of pending writes cannot be read.

    Args:
        rows: Their data.
    """
    for data in rows:
        for _, _, form in unpackb(data):
            if type(form) is list:
                yield form[1]


def _complete(found: Loaded, parent: str | None, writes: bytes | None, codec: Codec) -> Row:
    """A row that stores all of a checkpoint by itself."""
    row, own = found.row, found.row.id
    values = packb({channel: codec.pack(value) for channel, value in found.values.items()})
    found.frame.places = dict.fromkeys(found.frame.places, own)
    record = complete_record(own, found.record.stamp, found.record.updated, found.frame)
    return Row(own, parent, row.run_id, row.metadata, record, values, writes)


def _writes_by_value(key: Key, row: Row, codec: Codec) -> Program[bytes]:
    """The writes in a row, without references."""
    reader = Reader(key, codec)
    kept = [child for child in (yield Children(key, [row.parent or ""])) if child.id == row.id]
    reader.keep(kept)
    for child in kept:
        yield from reader.gather(reader.targets_in(child))
    tasks: list[Any] = []
    for task_id, path, pairs in read_task_writes(row, key[1]):
        tasks.append(
            [task_id, path, [[c, codec.pack(reader.folded_value(row, c, form))] for c, form in pairs]]
        )
    return packb(tasks)


def _plan_writes(plan: Plan, key: Key, kept: list[str], codec: Codec) -> Program[None]:
    """Store pending writes by value that refer to what is dropped, or to rows that are stored again."""
    gone = plan.doomed | {row.id for row in plan.rows}
    for start in range(0, len(kept), _PAGE):
        reader = Reader(key, codec)
        for checkpoint_id, row in (yield WritesOf(key, kept[start : start + _PAGE])):
            pairs = unpackb(row.data)
            refers = [(c, form[1]) for _, c, form in pairs if type(form) is list]
            if not any(place in gone for _, place in refers):
                continue
            yield from reader.gather(refers)
            values = [[i, c, codec.pack(reader.write_value(c, form))] for i, c, form in pairs]
            plan.writes.append((checkpoint_id, row._replace(data=packb(values))))
