"""The tables of a PostgreSQL store, as numbered steps, and the program that takes those that are missing.

Rules of this file: it decides, and never waits; statements are never changed once released, only added. The program runs
in one transaction. Whoever finds a step missing takes a lock first, so that of many who start at the same time one does the
work; where nothing is missing, nothing is locked, and no right to make tables is needed.

The tables `store` and `store_vectors` are laid out as is common in the field: a database that another program of this
kind has filled is read and written as it is. Steps are numbered in a table of our own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from stepgraph.store.base.program import Program
from stepgraph.store.postgres.config import ANNIndexConfig
from stepgraph.store.postgres.dialect import EXTENSION_TYPES, Distance

LOCK = 7_093_412_187_650_021
VERSIONS = "stepgraph_store_migrations"
OPERATOR_CLASSES: dict[str, str] = {"cosine": "cosine", "l2": "l2", "inner_product": "ip"}

MIGRATIONS: Sequence[str] = [
    """
    CREATE TABLE IF NOT EXISTS store (
        prefix TEXT COLLATE "C" NOT NULL,
        key TEXT COLLATE "C" NOT NULL,
        value JSONB NOT NULL,
        created_at TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP,
        PRIMARY KEY (prefix, key)
    )
    """,
    "ALTER TABLE store ADD COLUMN IF NOT EXISTS expires_at TIMESTAMPTZ",
    "ALTER TABLE store ADD COLUMN IF NOT EXISTS ttl_minutes DOUBLE PRECISION",
    "ALTER TABLE store ALTER COLUMN ttl_minutes TYPE DOUBLE PRECISION",
    "CREATE INDEX IF NOT EXISTS idx_store_expires_at ON store (expires_at) WHERE expires_at IS NOT NULL",
    """
    DO $$ BEGIN
        IF EXISTS (
            SELECT 1 FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation
            WHERE a.attrelid = 'store'::regclass AND a.attname = 'prefix' AND c.collname <> 'C'
        ) THEN
            CREATE INDEX IF NOT EXISTS stepgraph_store_prefix_idx ON store (prefix COLLATE "C");
        END IF;
    END $$
    """,
]


class Migration(NamedTuple):
    """A step that depends on the server.

    Attributes:
        sql: The statement; `{name}` stands for one of `params`.
        params: What fills the statement where the server does not say otherwise: constants of this file.
        condition: Whether a store takes the step; `None` for every store with an index.
    """

    sql: str
    params: dict[str, Any] | None = None
    condition: Callable[[Any], bool] | None = None


VECTOR_MIGRATIONS: Sequence[Migration] = [
    Migration(
        """
        CREATE TABLE IF NOT EXISTS store_vectors (
            prefix TEXT COLLATE "C" NOT NULL,
            key TEXT COLLATE "C" NOT NULL,
            field_name TEXT COLLATE "C" NOT NULL,
            embedding {type},
            created_at TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP,
            updated_at TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP,
            PRIMARY KEY (prefix, key, field_name),
            FOREIGN KEY (prefix, key) REFERENCES store (prefix, key) ON DELETE CASCADE
        )
        """,
        {"type": "vector"},
    ),
]

KEEP_LOOKING = {
    "hnsw": "SET LOCAL hnsw.iterative_scan = strict_order",
    "ivfflat": "SET LOCAL ivfflat.iterative_scan = relaxed_order",
}
"""Makes an index go on where a filter has left out most of what it found first."""

COLUMN_TYPES = {"vector": "vector", "halfvec": "halfvec", "_float4": "array"}
"""The name that the server gives to the type of a column of vectors, and what we call it."""


class Ask(NamedTuple):
    """A request to run a statement in the program's transaction; the answer is its rows."""

    sql: str
    params: tuple[Any, ...] = ()


class Do(NamedTuple):
    """A request to run a statement that gives no rows."""

    sql: str
    params: tuple[Any, ...] = ()


class Wanted(NamedTuple):
    """What a store needs of the database.

    Attributes:
        indexed: Whether it embeds values.
        dims: How long its vectors are, if that is known.
        distance: What makes two vectors near.
        ann: Its index for near vectors.
    """

    indexed: bool
    dims: int | None
    distance: Distance
    ann: ANNIndexConfig


class Vectors(NamedTuple):
    """What is to know of the table of vectors.

    Attributes:
        type: The type of their column: one of the extension, or `array`.
        ann_dims: How long the vectors are that an index finds, if there is one.
        settings: Statements to run before each search.
    """

    type: str
    ann_dims: int | None = None
    settings: tuple[str, ...] = ()


def setup_program(wanted: Wanted) -> Program[Vectors]:
    """Take the steps that are missing; returns what is to know of the table of vectors."""
    if not (yield from _is_current(wanted)):
        yield Do("SELECT PG_ADVISORY_XACT_LOCK(?)", (LOCK,))
        yield from _migrate(wanted)
    if not wanted.indexed:
        return Vectors("array")
    vector_type: str = yield from _vector_type()
    kind = wanted.ann.get("kind") or "flat"
    if kind == "flat":
        return Vectors(vector_type)
    [(version,)] = yield Ask("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    major, minor = (int(part) for part in version.split(".")[:2])
    settings = (KEEP_LOOKING[kind],) if (major, minor) >= (0, 8) else ()
    return Vectors(vector_type, wanted.dims, settings)


def _is_current(wanted: Wanted) -> Program[bool]:
    [(table,)] = yield Ask("SELECT TO_REGCLASS(?) IS NOT NULL", (VERSIONS,))
    if not table:
        return False
    items, vectors = yield from _versions()
    if items < len(MIGRATIONS) - 1 or (wanted.indexed and vectors < len(VECTOR_MIGRATIONS) - 1):
        return False
    name = ann_index_name(wanted)
    if not wanted.indexed or name is None:
        return True
    [(index,)] = yield Ask("SELECT TO_REGCLASS(?) IS NOT NULL", (name,))
    return bool(index)


def _versions() -> Program[tuple[int, int]]:
    [(items, vectors)] = yield Ask(
        "SELECT COALESCE(MAX(v) FILTER (WHERE area = 'items'), -1),"
        f" COALESCE(MAX(v) FILTER (WHERE area = 'vectors'), -1) FROM {VERSIONS}"
    )
    return items, vectors


def _migrate(wanted: Wanted) -> Program[None]:
    yield Do(
        f"CREATE TABLE IF NOT EXISTS {VERSIONS} (area TEXT NOT NULL, v INTEGER NOT NULL, PRIMARY KEY (area, v))"
    )
    items, vectors = yield from _versions()
    if items < 0:
        yield from _refuse_foreign_table()
    for version, sql in enumerate(MIGRATIONS):
        if version > items:
            yield Do(sql)
            yield Do(f"INSERT INTO {VERSIONS} VALUES ('items', ?)", (version,))
    if not wanted.indexed:
        return
    has_extension = yield from _has_extension(wanted)
    chosen = {"type": (wanted.ann.get("vector_type") or "vector") if has_extension else "REAL[]"}
    for version, step in enumerate(VECTOR_MIGRATIONS):
        if version > vectors and (step.condition is None or step.condition(wanted)):
            yield Do(_filled(step, chosen))
            yield Do(f"INSERT INTO {VERSIONS} VALUES ('vectors', ?)", (version,))
    yield from _make_ann_index(wanted)


def _filled(step: Migration, chosen: Mapping[str, str]) -> str:
    sql = step.sql
    for name, value in {**(step.params or {}), **chosen}.items():
        sql = sql.replace(f"{{{name}}}", value)
    return sql


def _refuse_foreign_table() -> Program[None]:
    """A table named `store` that is not one of ours is left alone."""
    rows = yield Ask(
        "SELECT attname FROM pg_attribute WHERE attrelid = TO_REGCLASS('store') AND attnum > 0 AND NOT attisdropped"
    )
    names = {name for (name,) in rows}
    if names and not {"prefix", "key", "value"} <= names:
        raise ValueError(
            f"The database has a table named store that is none of this library (its columns: {', '.join(sorted(names))})."
            " Give the store a schema of its own: make one, and add options=-csearch_path%3DSCHEMA,public to the URL."
        )


def _has_extension(wanted: Wanted) -> Program[bool]:
    """Whether vectors can be kept in the extension's types; makes the extension where the server brings it."""
    [(installed, available)] = yield Ask(
        "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector'),"
        " EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector')"
    )
    if available and not installed:
        yield Do("CREATE EXTENSION IF NOT EXISTS vector")
    elif not installed and (wanted.ann.get("kind") or "flat") != "flat":
        raise ValueError(
            f"The index of the kind {wanted.ann.get('kind')!r} needs the extension pgvector, which this server has not."
            " Install it on the server (https://github.com/pgvector/pgvector), or leave ann_index_config out: then"
            " every vector is compared."
        )
    return bool(installed or available)


def _vector_type() -> Program[str]:
    rows = yield Ask(
        "SELECT t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
        " WHERE a.attrelid = TO_REGCLASS('store_vectors') AND a.attname = 'embedding'"
    )
    name = rows[0][0] if rows else "nothing"
    if name not in COLUMN_TYPES:
        raise ValueError(
            f"The table store_vectors keeps its vectors as {name}; this library reads"
            f" {', '.join(COLUMN_TYPES)}. Use another schema, or write the items again to a table of its making."
        )
    return COLUMN_TYPES[name]


def ann_index_name(wanted: Wanted) -> str | None:
    """The name of a store's index for near vectors, if it has one."""
    kind = wanted.ann.get("kind") or "flat"
    return None if kind == "flat" else f"stepgraph_vectors_{kind}_{wanted.distance}_{int(wanted.dims or 0)}"


def _make_ann_index(wanted: Wanted) -> Program[None]:
    name = ann_index_name(wanted)
    if name is None:
        return
    vector_type = yield from _vector_type()
    if vector_type not in EXTENSION_TYPES:
        raise ValueError(
            "The table store_vectors was made before the server had the extension pgvector, and keeps its vectors in"
            " arrays, which no index finds. Drop the table and write the items again, or leave ann_index_config out."
        )
    config: dict[str, Any] = dict(wanted.ann)
    options = {
        "m": config.get("m"),
        "ef_construction": config.get("ef_construction"),
        "lists": config.get("nlist"),
    }
    storage = ", ".join(f"{option} = {int(number)}" for option, number in options.items() if number)
    operators = f"{vector_type}_{OPERATOR_CLASSES[wanted.distance]}_ops"
    yield Do(
        f"CREATE INDEX IF NOT EXISTS {name} ON store_vectors USING {wanted.ann['kind']}"
        f" ((embedding::{vector_type}({int(wanted.dims or 0)})) {operators})"
        + (f" WITH ({storage})" if storage else "")
    )
