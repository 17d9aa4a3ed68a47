"""What PostgreSQL says in its own way, and the one statement that stores an ordinary batch.

Rules: texts and parameters only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from json import dumps
from math import isfinite
from typing import Any, ClassVar, Final, NamedTuple
from zlib import crc32

from stepgraph.checkpoint.growth.retention import needs
from stepgraph.checkpoint.growth.rows import Row
from stepgraph.checkpoint.sql.metadata import is_searchable
from stepgraph.checkpoint.sql.programs import Programs
from stepgraph.checkpoint.sql.statements import R, Statement, StatementProgram
from stepgraph.checkpoint.step_saver import Encoded, EncodedStep, EncodedWrites
from stepgraph.values.missing import MISSING

__all__ = ("AtOnce", "PostgresPrograms", "is_exact")

_BUCKETS: Final = 1024
"""So many counters of deletions: a deletion makes steps of few other threads look twice."""
_CALLS: Final = 400
"""So many calls a statement at most."""
_STEP: Final = f"stepgraph_put_step_1({','.join('?' * 15)})"
_WRITES: Final = f"stepgraph_put_writes_1({','.join('?' * 8)})"
_LOCK: Final = "stepgraph_lock_1(?,?)"
_LAZY: Final = "set_config('synchronous_commit', 'off', true)"
_SAFE: Final = "CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END"


class AtOnce(NamedTuple):
    """One statement that stores a batch, all of it or nothing, and is a transaction by itself.

    Attributes:
        statement: It gives one row.
        counters: Which counter of deletions each value of the row but the first is; -1 for those that are none.
    """

    statement: Statement
    counters: list[int]

    def counted(self, row: Sequence[Any]) -> dict[int, int]:
        """The counters that the row tells."""
        return {bucket: value for bucket, value in zip(self.counters, row[1:]) if bucket >= 0}


class PostgresPrograms(Programs):
    """The programs for a server where many write at once.

    Who stores holds a shared lock of the thread and one of the (thread, namespace) for itself; who deletes or replaces holds
    the lock of the thread for itself. All are advisory locks that end with the transaction.
    """

    now: ClassVar[str] = "extract(epoch FROM clock_timestamp())::double precision"
    metadata_text: ClassVar[str] = "metadata::text"

    def among(self, column: str, values: Sequence[str]) -> list[tuple[str, Sequence[Any]]]:
        """A condition that lets through the rows whose column has one of these values, with its parameter."""
        return [(f"{column} = ANY(?)", (list(values),))]

    def filter_condition(self, filter: Mapping[str, Any] | None) -> tuple[str, list[Any]]:
        """SQL that lets through every row that a filter on metadata may let through, and its parameters."""
        sql, params = "", []
        for key, value in (filter or {}).items():
            if not is_searchable(key, value) or not is_exact(key) or not is_exact(value):
                continue
            forms = [value]
            if value in (0, 1) and type(value) is not str:
                forms = [int(value), bool(value)]
            tests = " OR ".join(["metadata @> ?::jsonb"] * len(forms))
            sql += f" AND (metadata_more IS NOT NULL OR {tests})"
            params += [dumps({key: form}) for form in forms]
        return sql, params

    def bucket(self, thread_id: str) -> int:
        """Which of the counters of deletions a thread belongs to."""
        return crc32(thread_id.encode("utf-8", "replace")) % _BUCKETS

    def generation(self, thread_id: str) -> StatementProgram[int]:
        """How many deletions there were where a thread is."""
        sql = "SELECT value FROM stepgraph_deletions WHERE bucket = ?"
        found = yield Statement(sql, (self.bucket(thread_id),))
        return found[0][0] if found else 0

    def note_deletion(self, threads: Iterable[str]) -> StatementProgram[None]:
        """Count that something was deleted or replaced in these threads."""
        buckets = sorted({self.bucket(thread_id) for thread_id in threads})
        if buckets:
            yield Statement(
                "INSERT INTO stepgraph_deletions (bucket, value) SELECT bucket, 1 FROM unnest(?::integer[]) AS bucket"
                " ON CONFLICT (bucket) DO UPDATE SET value = stepgraph_deletions.value + 1",
                (buckets,),
            )

    def lock_threads(self, threads: Iterable[str]) -> StatementProgram[None]:
        """Let nobody else store in these threads, nor delete there, until the transaction ends."""
        names = sorted(set(threads))
        if names:
            yield Statement("SELECT stepgraph_lock_threads_1(?)", (names,))

    def lock_for(self, batch: Sequence[Encoded]) -> StatementProgram[None]:
        """Let nobody else store where a batch goes, nor delete there, until the transaction ends."""
        yield Statement(f"SELECT {_LOCK}", _lock_params(batch))

    def settled(self, program: StatementProgram[R], durable: bool) -> StatementProgram[R]:
        """A program whose transaction waits at its end for the disk, or does not."""
        yield Statement(f"SELECT {_SAFE if durable else _LAZY}")
        return (yield from program)

    def at_once(self, batch: Sequence[Encoded], durable: bool, known: Mapping[int, int]) -> AtOnce | None:
        """One statement that stores a batch, all of it or nothing; `None` where that takes more.

        Args:
            batch: What was encoded.
            durable: Whether the end of the transaction waits for the disk.
            known: The counters of deletions, as they were last seen.
        """
        form = ""
        params: list[Any] = []
        counters: list[int] = []
        for item in batch:
            if item.lane.broken or item.lane.contested:
                return None
            if isinstance(item, EncodedStep):
                if item.replaces or item.lane.broken or item.lane.contested:
                    return None
                bucket = self.bucket(item.key[0])
                outdated = known.get(bucket, item.generation) != item.generation
                form += "s"
                counters.append(bucket)
                params += _step_params(item, bucket, outdated)
            elif isinstance(item, EncodedWrites):
                if item.lane.broken or item.lane.contested:
                    return None
                for task_id, place, path, data, run_id in item.rows:
                    form += "w"
                    counters.append(-1)
                    params += (*item.key, item.checkpoint_id, task_id, place, path, data, run_id)
        if len(form) > _CALLS or not form:
            return None
        if any(item.key != batch[0].key for item in batch):
            form = "l" + form
            counters.insert(0, -1)
            params = [*_lock_params(batch), *params]
        return AtOnce(Statement(_text(form, durable), params), counters)


_CALL_OF: Final = {"l": _LOCK, "s": _STEP, "w": _WRITES}


@lru_cache(256)
def _text(form: str, durable: bool) -> str:
    calls = ", ".join([_CALL_OF[letter] for letter in form])
    return f"SELECT {_SAFE if durable else _LAZY}, {calls}"


def _lock_params(batch: Sequence[Encoded]) -> tuple[list[str], list[str]]:
    keys = sorted({item.key for item in batch})
    return [key[0] for key in keys], [key[1] for key in keys]


def _step_params(item: EncodedStep, bucket: int, outdated: bool) -> tuple[Any, ...]:
    checkpoint_id, parent, run_id, (text, more), record, values, writes = item.row
    compare = item.expected_head is not MISSING
    needed = None
    if outdated:
        needed = sorted({place for place in needs(Row(*item.row)) if place != checkpoint_id})
    return (
        *item.key,
        bucket,
        item.generation,
        needed,
        compare,
        item.expected_head if compare else None,
        checkpoint_id,
        parent,
        run_id,
        text,
        more,
        record,
        values,
        writes,
    )


def is_exact(value: Any) -> bool:
    """Whether PostgreSQL's `jsonb` brings a value back as it is.

    It refuses the character NUL and halves of pairs in text, and writes numbers without an exponent.
    """
    kind = type(value)
    if kind is str:
        return "\0" not in value and (value.isascii() or _is_whole(value))
    if kind is int or kind is bool or value is None:
        return True
    if kind is float:
        return isfinite(value) and "e" not in repr(value) and not (value == 0 and repr(value)[0] == "-")
    if kind is list:
        return all(map(is_exact, value))
    if kind is dict:
        return all(type(key) is str and is_exact(key) and is_exact(item) for key, item in value.items())
    return False


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
