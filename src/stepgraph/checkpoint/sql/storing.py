"""Storing what was encoded, as programs that yield statements: once, for every kind of database.

Rules: no connections, no waiting. A program runs in a write transaction: whoever runs it sees to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from stepgraph.checkpoint.growth.retention import needs, needs_of_writes
from stepgraph.checkpoint.growth.rows import Key, Row, RowParts, WritesRow, without_known
from stepgraph.checkpoint.sql.metadata import step_in
from stepgraph.checkpoint.sql.reading import COLUMNS, HERE, WRITES_COLUMNS, Reading
from stepgraph.checkpoint.sql.statements import Statement, StatementProgram
from stepgraph.checkpoint.step_saver import (
    Encoded,
    EncodedStep,
    EncodedWrites,
    deleted_meanwhile,
    refers_to_lost,
)
from stepgraph.errors import ThreadBusyError
from stepgraph.values.missing import MISSING

__all__ = ("INSERT", "INSERT_WRITES", "REPLACE", "REPLACE_WRITES", "Storing")

INSERT: Final = (
    f"INSERT INTO stepgraph_checkpoints (thread_id, checkpoint_ns, {COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?)"
)
REPLACE: Final = f"{INSERT} ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id) DO UPDATE SET " + ", ".join(
    f"{column} = excluded.{column}" for column in COLUMNS.split(", ")[1:]
)
INSERT_WRITES: Final = (
    f"INSERT INTO stepgraph_writes (thread_id, checkpoint_ns, checkpoint_id, {WRITES_COLUMNS})"
    " VALUES (?,?,?,?,?,?,?,?)"
)
REPLACE_WRITES: Final = (
    f"{INSERT_WRITES} ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, place) DO UPDATE SET"
    " task_path = excluded.task_path, writes = excluded.writes, run_id = excluded.run_id"
)


class Storing(Reading):
    """The programs that store a batch, and all that read."""

    def lock_for(self, batch: Sequence[Encoded]) -> StatementProgram[None]:
        """Let nobody else store where a batch goes, nor delete there, until the transaction ends."""
        return
        yield

    def store_batch(self, batch: Sequence[Encoded]) -> StatementProgram[dict[int, int]]:
        """Store what was encoded.

        Returns:
            How many deletions there had been, for each counter that counts there.

        Raises:
            ThreadBusyError: The newest checkpoint is not the expected one, or rows that the batch refers to were deleted.
        """
        yield from self.lock_for(batch)
        generations: dict[int, int] = {}
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
                known = stored.setdefault(key, set())
                if item.lane.broken:
                    yield from self._check_references(item, needs(Row(*item.row)), known, lost=True)
                bucket = self.bucket(key[0])
                if bucket not in generations:
                    generations[bucket] = yield from self.generation(key[0])
                if item.expected_head is not MISSING:
                    yield from self._check_head(item, heads.get(key))
                if item.generation != generations[bucket] or item.lane.contested:
                    lost = item.generation == generations[bucket]
                    yield from self._check_references(item, needs(Row(*item.row)), known, lost=lost)
                heads[key] = max(heads.get(key, ""), checkpoint_id)
                known.add(checkpoint_id)
                (replacing if item.replaces else rows).append((*key, *_columns(item.row)))
            elif isinstance(item, EncodedWrites):
                if item.lane.broken or item.lane.contested:
                    places = (item.checkpoint_id, *needs_of_writes([writes[3] for writes in item.rows]))
                    yield from self._check_references(item, places, stored.setdefault(key, set()), lost=True)
                for writes in item.rows:
                    target = special if writes[1] < 0 else ordinary
                    target.append((*key, item.checkpoint_id, *writes))
        if rows:
            yield Statement(INSERT, rows, True)
        if replacing:
            yield Statement(REPLACE, replacing, True)
        if special:
            yield Statement(REPLACE_WRITES, special, True)
        if ordinary:
            count = yield Statement(f"{INSERT_WRITES} ON CONFLICT DO NOTHING", ordinary, True)
            if count < len(ordinary):
                yield from self._store_rest(ordinary)
        return generations

    def _check_head(self, item: EncodedStep, in_batch: str | None) -> StatementProgram[None]:
        _, parent, own_run, *_ = item.row
        newest, run_id = in_batch, own_run
        if newest is None:
            found = yield Statement(
                f"SELECT checkpoint_id, run_id FROM stepgraph_checkpoints WHERE {HERE} ORDER BY checkpoint_id DESC LIMIT 1",
                item.key,
            )
            newest, run_id = found[0] if found else (None, None)
        if newest == item.expected_head:
            return
        found = yield Statement(
            f"SELECT {self.metadata_text} FROM stepgraph_checkpoints WHERE {HERE} AND checkpoint_id = ?",
            (*item.key, parent),
        )
        raise ThreadBusyError(
            item.key[0],
            item.key[1],
            run_id=own_run,
            other_run_id=run_id,
            last_step=step_in(found[0][0]) if found else None,
        )

    def _check_references(
        self, item: Encoded, places: Iterable[str], stored: set[str], *, lost: bool
    ) -> StatementProgram[None]:
        """Is what this refers to there? It was deleted since, or with `lost` it may never have been stored."""
        own, run_id = (item.row[0], item.row[2]) if isinstance(item, EncodedStep) else (None, None)
        needed = sorted({place for place in places if place != own and place not in stored})
        found = 0
        for condition, ids in self.among("checkpoint_id", needed):
            rows = yield Statement(
                f"SELECT count(*) FROM stepgraph_checkpoints WHERE {HERE} AND {condition}", (*item.key, *ids)
            )
            found += rows[0][0]
        if found < len(needed):
            raise refers_to_lost(item, run_id) if lost else deleted_meanwhile(item.key, run_id)

    def _store_rest(self, rows: Sequence[Any]) -> StatementProgram[None]:
        """Some tasks had ordinary writes already: add what is not among them."""
        for row in rows:
            found = yield Statement(
                f"SELECT {WRITES_COLUMNS} FROM stepgraph_writes"
                f" WHERE {HERE} AND checkpoint_id = ? AND task_id = ? AND place >= 0",
                row[:4],
            )
            rest = without_known([WritesRow(*known) for known in found], WritesRow(*row[3:]))
            if rest is not None:
                yield Statement(INSERT_WRITES, (*row[:3], *rest))


def _columns(row: RowParts) -> tuple[Any, ...]:
    checkpoint_id, parent, run_id, (text, more), record, values, writes = row
    return checkpoint_id, parent, run_id, text, more, record, values, writes
