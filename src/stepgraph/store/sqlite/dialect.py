"""What SQLite lacks, as functions of this process: filters and vector distances.

Rules of this file: no SQL statement is run here. A filter reaches SQLite as one parameter, and is applied to each row by
the very function that the in-memory store uses, so it cannot mean anything else, and none of it can become SQL text.

Where the extension `sqlite-vec` is installed and can be loaded, it computes the distances; else NumPy or Python does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from importlib import import_module
from typing import Any

from stepgraph.store.base.filters import Predicate, compile_filter
from stepgraph.store.base.vectors import cosine_scores, pack_vector, unpack_vector
from stepgraph.store.sql.statements import Dialect
from stepgraph.store.sql.values import dump_json, dump_time, load_json
from stepgraph.store.sqlite.prefilter import prefilter

MATCHES = "stepgraph_matches"
COSINE = "stepgraph_cosine"


class SqliteDialect(Dialect):
    """How SQLite is asked. One object for each connection that a store uses.

    Args:
        load: Makes a value from the stored text.
        suffix: Tells functions of stores on one connection apart.
    """

    def __init__(self, load: Callable[[Any], Any] = load_json, suffix: str = "") -> None:
        self.has_vector_extension = False
        self.error: BaseException | None = None
        self._load = load
        self._matches = MATCHES + suffix
        self._cosine = COSINE + suffix

    def functions(self) -> list[tuple[str, int, Callable[..., Any]]]:
        """Name, number of arguments and body of each function to register with a connection."""
        return [
            (self._matches, 2, self._matches_row),
            (self._cosine, 2, self._cosine_row),
        ]

    def filter(self, filter: Mapping[str, Any]) -> tuple[str, list[Any]]:
        """A condition on the column `s.value`."""
        matches, params = f"{self._matches}(s.value, ?)", [dump_json(filter)]
        first, first_params = prefilter(filter) if self._load is load_json else ("", [])
        return (f"{first} AND {matches}", [*first_params, *params]) if first else (matches, params)

    def score(self, query: Sequence[float]) -> tuple[str, list[Any]]:
        """An expression for how near the column `v.embedding` is to a vector."""
        packed = pack_vector(query)
        ours = f"{self._cosine}(v.embedding, ?)"
        if not self.has_vector_extension:
            return ours, [packed]
        theirs = "COALESCE(1.0 - vec_distance_cosine(v.embedding, ?), 0.0)"
        sql = (
            f"CASE WHEN LENGTH(v.embedding) = ? THEN {theirs} ELSE {ours} END"  # ours refuses another length
        )
        return sql, [len(packed), packed, packed]

    def time(self, moment: datetime) -> str:
        """A time as text that sorts like the times do."""
        return dump_time(moment)

    def vector(self, vector: Sequence[float]) -> bytes:
        """A vector as 32-bit floats."""
        return pack_vector(vector)

    def explain(self, error: sqlite3.Error) -> BaseException:
        """The error that a function of this process raised inside SQLite, else the error that SQLite reports."""
        kept, self.error = self.error, None
        return error if kept is None else kept

    def _matches_row(self, stored: Any, filter: str) -> bool:
        try:
            value = self._load(stored)
        except Exception:
            return True  # who reads it says which item it is
        try:
            return isinstance(value, dict) and _parsed(filter)(value)
        except Exception as error:
            self.error = error
            raise

    def _cosine_row(self, stored: bytes, query: bytes) -> float:
        try:
            return cosine_scores(unpack_vector(query), [unpack_vector(stored)])[0]
        except Exception as error:
            self.error = error
            raise


@lru_cache(maxsize=64)
def _parsed(filter: str) -> Predicate:
    return compile_filter(load_json(filter))


def vector_extension_path() -> str | None:
    """Where the extension `sqlite-vec` is, if the package is installed."""
    try:
        package = import_module("sqlite_vec")
    except ImportError:
        return None
    path: str = package.loadable_path()
    return path
