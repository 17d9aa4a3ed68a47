"""Everything that is done with the tables, as programs that yield statements: once, for every kind of database.

Rules: no connections, no waiting. A program that writes runs in a write transaction, one that reads several times in a
read transaction: whoever runs it sees to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from stepgraph.checkpoint.growth.codec import Codec
from stepgraph.checkpoint.growth.frames import Record
from stepgraph.checkpoint.growth.retention import Plan, doomed_of, plan_drop, plan_keep_newest
from stepgraph.checkpoint.growth.rows import Key
from stepgraph.checkpoint.sql.holds import Holds
from stepgraph.checkpoint.sql.reading import COLUMNS, HERE, WRITES_COLUMNS
from stepgraph.checkpoint.sql.statements import Statement, StatementProgram
from stepgraph.checkpoint.sql.storing import Storing

__all__ = ("Programs",)

_TABLES: Final = {
    "stepgraph_checkpoints": COLUMNS,
    "stepgraph_writes": f"checkpoint_id, {WRITES_COLUMNS}",
}
"""The tables that hold a thread, with their columns from the checkpoint on."""


class Programs(Holds, Storing):
    """All programs. A kind of database overrides what it says in its own way."""

    def lock_threads(self, threads: Iterable[str]) -> StatementProgram[None]:
        """Let nobody else store in these threads, nor delete there, until the transaction ends."""
        return
        yield

    def note_deletion(self, threads: Iterable[str]) -> StatementProgram[None]:
        """Count that something was deleted or replaced in these threads."""
        raise NotImplementedError
        yield

    def make_room(self, key: Key, checkpoint_id: str, codec: Codec) -> StatementProgram[bool]:
        """Before a checkpoint is stored under an id that is taken: let no other one refer to what it replaces."""
        here = Statement(
            f"SELECT 1 FROM stepgraph_checkpoints WHERE {HERE} AND checkpoint_id = ?", (*key, checkpoint_id)
        )
        if not (yield here):
            return False
        yield from self.lock_threads([key[0]])
        if not (yield here):
            return False
        plan = yield from self.read_rows(plan_drop(key, (checkpoint_id,), codec, replaced=True))
        yield from self._replace(key, plan)
        yield from self.note_deletion([key[0]])
        return True

    def _replace(self, key: Key, plan: Plan) -> StatementProgram[None]:
        if plan.rows:
            rows = [(row.parent, row.record, row.values, row.writes, *key, row.id) for row in plan.rows]
            yield Statement(
                "UPDATE stepgraph_checkpoints SET parent_id = ?, record = ?, channel_values = ?, task_writes = ?"
                f" WHERE {HERE} AND checkpoint_id = ?",
                rows,
                True,
            )
        if plan.writes:
            writes = [
                (row.data, *key, checkpoint_id, row.task_id, row.place) for checkpoint_id, row in plan.writes
            ]
            yield Statement(
                f"UPDATE stepgraph_writes SET writes = ? WHERE {HERE} AND checkpoint_id = ? AND task_id = ? AND place = ?",
                writes,
                True,
            )

    def _carry_out(self, key: Key, plan: Plan) -> StatementProgram[None]:
        yield from self._replace(key, plan)
        for table in _TABLES:
            for condition, ids in self.among("checkpoint_id", sorted(plan.doomed)):
                yield Statement(f"DELETE FROM {table} WHERE {HERE} AND {condition}", (*key, *ids))

    def delete_thread(self, thread_id: str) -> StatementProgram[None]:
        """Delete all of a thread."""
        yield from self.lock_threads([thread_id])
        for table in _TABLES:
            yield Statement(f"DELETE FROM {table} WHERE thread_id = ?", (thread_id,))
        yield from self.forget_expiry(thread_id)
        yield from self.note_deletion([thread_id])

    def copy_thread(self, source: str, target: str, ttl: float | None = None) -> StatementProgram[None]:
        """Copy all of a thread.

        Args:
            source: The thread.
            target: The other one.
            ttl: Seconds that the copy lives.

        Raises:
            ValueError: The target has checkpoints.
        """
        yield from self.lock_threads([source, target])
        if ttl is not None:
            for thread_id in (source, target):
                if (yield from self.is_expired(thread_id)):
                    yield from self.delete_thread(thread_id)
            yield from self.live_on(target, ttl)
        if (yield Statement("SELECT 1 FROM stepgraph_checkpoints WHERE thread_id = ? LIMIT 1", (target,))):
            raise ValueError(
                f"Thread {target!r} has checkpoints. Copy to a new thread id, or delete it first."
            )
        for table, columns in _TABLES.items():
            yield Statement(
                f"INSERT INTO {table} (thread_id, checkpoint_ns, {columns})"
                f" SELECT ?, checkpoint_ns, {columns} FROM {table} WHERE thread_id = ? ORDER BY checkpoint_id",
                (target, source),
            )

    def prune(
        self,
        threads: Sequence[str],
        strategy: str,
        before: float | None,
        namespaces: Sequence[str] | None,
        codec: Codec,
    ) -> StatementProgram[None]:
        """Delete old checkpoints of threads; arguments as in `StepSaver.prune`."""
        yield from self.lock_threads(threads)
        for thread_id in threads:
            found = yield Statement(
                "SELECT DISTINCT checkpoint_ns FROM stepgraph_checkpoints WHERE thread_id = ?", (thread_id,)
            )
            for (namespace,) in found:
                if namespaces is None or namespace in namespaces:
                    yield from self._prune_history((thread_id, namespace), strategy, before, codec)
        yield from self.note_deletion(threads)

    def _prune_history(
        self, key: Key, strategy: str, before: float | None, codec: Codec
    ) -> StatementProgram[None]:
        if before is None and strategy == "delete":
            for table in _TABLES:
                yield Statement(f"DELETE FROM {table} WHERE {HERE}", key)
        elif before is None:
            plan = yield from self.read_rows(plan_keep_newest(key, codec))
            yield from self._carry_out(key, plan)
        else:
            found = yield Statement(
                f"SELECT checkpoint_id, record FROM stepgraph_checkpoints WHERE {HERE} ORDER BY checkpoint_id DESC",
                key,
            )
            doomed = doomed_of([(i, Record(record).made_at(i)) for i, record in found], strategy, before)
            yield from self._drop(key, doomed, codec)

    def _drop(self, key: Key, doomed: set[str], codec: Codec) -> StatementProgram[None]:
        if doomed:
            plan = yield from self.read_rows(plan_drop(key, doomed, codec))
            yield from self._carry_out(key, plan)

    def delete_for_runs(self, run_ids: Sequence[str], codec: Codec) -> StatementProgram[None]:
        """Delete the checkpoints and pending writes that these runs stored."""
        threads: set[str] = set()
        for table in _TABLES:
            for condition, runs in self.among("run_id", run_ids):
                found = yield Statement(f"SELECT DISTINCT thread_id FROM {table} WHERE {condition}", runs)
                threads.update([row[0] for row in found])
        yield from self.lock_threads(threads)
        doomed: dict[Key, set[str]] = {}
        for condition, runs in self.among("run_id", run_ids):
            found = yield Statement(
                f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM stepgraph_checkpoints WHERE {condition}",
                runs,
            )
            for thread_id, namespace, checkpoint_id in found:
                if thread_id in threads:
                    doomed.setdefault((thread_id, namespace), set()).add(checkpoint_id)
            for owned, ids in self.among("thread_id", sorted(threads)):
                yield Statement(f"DELETE FROM stepgraph_writes WHERE {condition} AND {owned}", (*runs, *ids))
        for key, checkpoints in doomed.items():
            yield from self._drop(key, checkpoints, codec)
        yield from self.note_deletion(threads)
