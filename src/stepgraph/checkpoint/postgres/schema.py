"""The tables and functions, and how they came to be: numbered migrations, applied in order, each once.

A function does what one superstep needs in one statement, and so in one round trip: it takes the locks, compares the head,
and inserts. Where something is out of the ordinary it raises `UNUSUAL`, and the same is done by a program, step by step.

Rules: a migration that was released is never changed; another one is added. All names begin with `stepgraph_`. A function
is never changed either: older processes may still call it; one that does more gets another number. Text is ordered by its
code points (`COLLATE "C"`), whatever the database's own order.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from stepgraph.checkpoint.sql.statements import Statement

__all__ = ("MIGRATIONS", "UNUSUAL", "migrate")

UNUSUAL: Final = "SG001"
"""What a function raises (SQLSTATE) where a batch has to be looked at more closely. Nothing of it is stored then."""

_LOCK: Final = "hashtextextended({thread}, 0)"
_LOCK_KEY: Final = "hashtextextended({thread} || E'\\x01' || {namespace}, 1)"

_PUT_STEP: Final = f"""CREATE FUNCTION stepgraph_put_step_1(
    in_thread text, in_ns text, in_bucket integer, in_generation bigint, in_needed text[],
    in_compare boolean, in_expected text, in_id text, in_parent text, in_run text, in_metadata jsonb, in_more bytea,
    in_record bytea, in_values bytea, in_writes bytea
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    generation bigint;
    head text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = '{UNUSUAL}', MESSAGE = 'stepgraph: another isolation level';
    END IF;
    PERFORM pg_advisory_xact_lock_shared({_LOCK.format(thread="in_thread")});
    PERFORM pg_advisory_xact_lock({_LOCK_KEY.format(thread="in_thread", namespace="in_ns")});
    SELECT value INTO generation FROM stepgraph_deletions WHERE bucket = in_bucket;
    generation := coalesce(generation, 0);
    IF generation <> in_generation AND (in_needed IS NULL OR cardinality(in_needed) > (
        SELECT count(*) FROM stepgraph_checkpoints
        WHERE thread_id = in_thread AND checkpoint_ns = in_ns AND checkpoint_id = ANY(in_needed)
    )) THEN
        RAISE EXCEPTION USING ERRCODE = '{UNUSUAL}', MESSAGE = 'stepgraph: there was a deletion';
    END IF;
    IF in_compare THEN
        SELECT checkpoint_id INTO head FROM stepgraph_checkpoints
            WHERE thread_id = in_thread AND checkpoint_ns = in_ns ORDER BY checkpoint_id DESC LIMIT 1;
        IF head IS DISTINCT FROM in_expected THEN
            RAISE EXCEPTION USING ERRCODE = '{UNUSUAL}', MESSAGE = 'stepgraph: another writer was here';
        END IF;
    END IF;
    INSERT INTO stepgraph_checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_id, run_id, metadata,
            metadata_more, record, channel_values, task_writes)
        VALUES (in_thread, in_ns, in_id, in_parent, in_run, in_metadata, in_more, in_record, in_values, in_writes);
    RETURN generation;
END
$$"""

_PUT_WRITES: Final = f"""CREATE FUNCTION stepgraph_put_writes_1(
    in_thread text, in_ns text, in_id text, in_task text, in_place integer, in_path text, in_writes bytea, in_run text
) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared({_LOCK.format(thread="in_thread")});
    IF in_place < 0 THEN
        INSERT INTO stepgraph_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, place, task_path, writes, run_id)
            VALUES (in_thread, in_ns, in_id, in_task, in_place, in_path, in_writes, in_run)
            ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, place) DO UPDATE
            SET task_path = excluded.task_path, writes = excluded.writes, run_id = excluded.run_id;
    ELSE
        INSERT INTO stepgraph_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, place, task_path, writes, run_id)
            VALUES (in_thread, in_ns, in_id, in_task, in_place, in_path, in_writes, in_run)
            ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = '{UNUSUAL}', MESSAGE = 'stepgraph: the task has writes';
        END IF;
    END IF;
    RETURN NULL;
END
$$"""

_LOCK_KEYS: Final = f"""CREATE FUNCTION stepgraph_lock_1(in_threads text[], in_namespaces text[])
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(in_threads) LOOP
        PERFORM pg_advisory_xact_lock_shared({_LOCK.format(thread="in_threads[i]")});
    END LOOP;
    FOR i IN 1 .. cardinality(in_threads) LOOP
        PERFORM pg_advisory_xact_lock({_LOCK_KEY.format(thread="in_threads[i]", namespace="in_namespaces[i]")});
    END LOOP;
    RETURN NULL;
END
$$"""

_LOCK_THREADS: Final = f"""CREATE FUNCTION stepgraph_lock_threads_1(in_threads text[])
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(in_threads) LOOP
        PERFORM pg_advisory_xact_lock({_LOCK.format(thread="in_threads[i]")});
    END LOOP;
    RETURN NULL;
END
$$"""

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE stepgraph_checkpoints (
            thread_id text COLLATE "C" NOT NULL,
            checkpoint_ns text COLLATE "C" NOT NULL,
            checkpoint_id text COLLATE "C" NOT NULL,
            parent_id text COLLATE "C",
            run_id text COLLATE "C",
            metadata jsonb NOT NULL,
            metadata_more bytea,
            record bytea NOT NULL,
            channel_values bytea NOT NULL,
            task_writes bytea
        )""",
        """CREATE UNIQUE INDEX stepgraph_checkpoints_by_id
            ON stepgraph_checkpoints (thread_id, checkpoint_ns, checkpoint_id)""",
        """CREATE INDEX stepgraph_checkpoints_by_parent
            ON stepgraph_checkpoints (parent_id) WHERE task_writes IS NOT NULL""",
        """CREATE TABLE stepgraph_writes (
            thread_id text COLLATE "C" NOT NULL,
            checkpoint_ns text COLLATE "C" NOT NULL,
            checkpoint_id text COLLATE "C" NOT NULL,
            task_id text COLLATE "C" NOT NULL,
            place integer NOT NULL,
            task_path text COLLATE "C" NOT NULL,
            run_id text COLLATE "C",
            writes bytea NOT NULL
        )""",
        """CREATE UNIQUE INDEX stepgraph_writes_by_task
            ON stepgraph_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, place)""",
        "CREATE TABLE stepgraph_deletions (bucket integer PRIMARY KEY, value bigint NOT NULL)",
        _PUT_STEP,
        _PUT_WRITES,
        _LOCK_KEYS,
        _LOCK_THREADS,
    ),
    (
        """CREATE TABLE stepgraph_threads (
            thread_id text COLLATE "C" PRIMARY KEY,
            run_id text COLLATE "C",
            token text COLLATE "C",
            held_until double precision,
            expires_at double precision
        )""",
        "CREATE INDEX stepgraph_threads_by_expiry ON stepgraph_threads (expires_at) WHERE expires_at IS NOT NULL",
    ),
)
"""Migration number i (from 1) is entry i - 1: its statements."""

_VERSION: Final = "SELECT coalesce(max(version), 0) FROM stepgraph_checkpoint_migrations"


def migrate() -> Generator[Statement, Any, None]:
    """Bring the tables to the newest form; run it in a write transaction. Where they are in it, only looks.

    Raises:
        RuntimeError: The tables were made by a later version of the library.
    """
    there = yield Statement("SELECT to_regclass('stepgraph_checkpoint_migrations')::text")
    if there[0][0] is not None and (yield from _version()) == len(MIGRATIONS):
        return
    yield Statement("SELECT pg_advisory_xact_lock(hashtextextended('stepgraph_checkpoint_migrations', 2))")
    yield Statement(
        "CREATE TABLE IF NOT EXISTS stepgraph_checkpoint_migrations"
        " (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    version = yield from _version()
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        for text in statements:
            yield Statement(text)
        yield Statement("INSERT INTO stepgraph_checkpoint_migrations (version) VALUES (?)", (number,))


def _version() -> Generator[Statement, Any, int]:
    version: int = (yield Statement(_VERSION))[0][0]
    if version > len(MIGRATIONS):
        raise RuntimeError(
            f"The checkpoints in this database have form {version}; this version of stepgraph knows forms up to"
            f" {len(MIGRATIONS)}. Upgrade stepgraph, or use another database or schema."
        )
    return version
