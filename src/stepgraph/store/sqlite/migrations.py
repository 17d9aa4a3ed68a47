"""The tables of a SQLite store, as numbered steps.

Rules of this file: statements are never changed once released, only added. The layout is the one that is common in the
field, step by step, so files are exchanged with other programs that use it.
"""

from __future__ import annotations

MIGRATIONS: list[str] = [
    """
    CREATE TABLE IF NOT EXISTS store (
        prefix TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        PRIMARY KEY (prefix, key)
    )
    """,
    "CREATE INDEX IF NOT EXISTS store_prefix_idx ON store (prefix)",
    "ALTER TABLE store ADD COLUMN expires_at TIMESTAMP",
    "ALTER TABLE store ADD COLUMN ttl_minutes REAL",
    "CREATE INDEX IF NOT EXISTS idx_store_expires_at ON store (expires_at) WHERE expires_at IS NOT NULL",
]

VECTOR_MIGRATIONS: list[str] = [
    """
    CREATE TABLE IF NOT EXISTS store_vectors (
        prefix TEXT NOT NULL,
        key TEXT NOT NULL,
        field_name TEXT NOT NULL,
        embedding BLOB,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        PRIMARY KEY (prefix, key, field_name),
        FOREIGN KEY (prefix, key) REFERENCES store (prefix, key) ON DELETE CASCADE
    )
    """,
]


def tables(indexed: bool) -> list[tuple[str, list[str]]]:
    """The name of each table that numbers migrations, with those migrations.

    Args:
        indexed: Whether the store embeds values.
    """
    numbered = [("store_migrations", MIGRATIONS)]
    return [*numbered, ("vector_migrations", VECTOR_MIGRATIONS)] if indexed else numbered


def create_version_table(name: str) -> str:
    """The statement that makes a table of migration numbers; `name` is one of `tables`."""
    return f"CREATE TABLE IF NOT EXISTS {name} (v INTEGER PRIMARY KEY)"


def newest_version(name: str) -> str:
    """The query for the newest migration number; `name` is one of `tables`."""
    return f"SELECT COALESCE(MAX(v), -1) FROM {name}"


def insert_version(name: str) -> str:
    """The statement that notes a migration; `name` is one of `tables`."""
    return f"INSERT INTO {name} (v) VALUES (?)"
