"""How PostgreSQL is asked: values in a `jsonb` column, vectors in one of `pgvector` or in arrays.

Rules of this file: pure functions; no statement is run here. Where the server has the extension `pgvector` it computes
the distances; elsewhere an expression over arrays does, with the same answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from stepgraph.store.postgres.conditions import filter_condition
from stepgraph.store.postgres.texts import decode_text, encode_json, encode_text
from stepgraph.store.sql.statements import Dialect, Page, Query

Distance = Literal["cosine", "l2", "inner_product"]

EXTENSION_TYPES = ("vector", "halfvec")
OPERATORS: dict[str, str] = {"cosine": "<=>", "l2": "<->", "inner_product": "<#>"}
SCORES: dict[str, str] = {
    "cosine": "COALESCE(NULLIF(1 - (v.embedding <=> {}), 'NaN'::float8), 0)",
    "l2": "-(v.embedding <-> {})",
    "inner_product": "-(v.embedding <#> {})",
}
ARRAY_SCORES: dict[str, str] = {
    "cosine": "CASE WHEN SUM(a * a) > 0 AND SUM(b * b) > 0"
    " THEN SUM(a * b) / (SQRT(SUM(a * a)) * SQRT(SUM(b * b))) ELSE 0 END",
    "l2": "-SQRT(SUM((a - b) * (a - b)))",
    "inner_product": "SUM(a * b)",
}
ENOUGH_FOR_EACH = 4
"""So many vectors are asked of an index for each item that is wanted: an item may have several."""
NEAREST = """
WITH near AS MATERIALIZED (
    SELECT v.prefix, v.key, {score} AS score
    FROM store_vectors v JOIN store s ON s.prefix = v.prefix AND s.key = v.key
    WHERE {where} ORDER BY {embedding} {operator} {vector} LIMIT ?)
SELECT {columns}, best.score FROM (SELECT prefix, key, MAX(score) AS score FROM near GROUP BY prefix, key) AS best
JOIN store s ON s.prefix = best.prefix AND s.key = best.key
ORDER BY best.score DESC NULLS LAST, {newest_first} LIMIT ? OFFSET ?
"""
LENGTHS_DIFFER = re.compile(r"different (?:vector|halfvec) dimensions (\d+) and (\d+)")


class PostgresDialect(Dialect):
    """How PostgreSQL is asked. One object for each store.

    Attributes:
        vector_type: The type of the column of vectors: `vector` or `halfvec` of the extension, or `array`.
        distance: What makes two vectors near.
        ann_dims: How long the vectors are that an index finds; `None` where there is none.
    """

    value_column = "s.value::text"
    order_suffix = ' COLLATE "C"'
    cascades = True

    def __init__(self, distance: Distance = "cosine") -> None:
        self.vector_type = "array"
        self.distance = distance
        self.ann_dims: int | None = None

    def filter(self, filter: Mapping[str, Any]) -> tuple[str, list[Any]]:
        """A condition on the column `s.value`."""
        sql, params = filter_condition(filter)
        return f"({sql})", params

    def score(self, query: Sequence[float]) -> tuple[str, list[Any]]:
        """An expression for how near the column `v.embedding` is to a vector."""
        if self.vector_type in EXTENSION_TYPES:
            return SCORES[self.distance].replace("{}", f"?::{self.vector_type}"), [self.vector(query)]
        differ = (
            "('different vector dimensions ' || CARDINALITY(v.embedding) || ' and ' || ?::integer)::float8"
        )
        pairs = "UNNEST(v.embedding::float8[], ?::float8[]) AS pairs(a, b)"
        sql = (
            f"CASE WHEN CARDINALITY(v.embedding) = ? THEN (SELECT {ARRAY_SCORES[self.distance]} FROM {pairs})"
            f" ELSE {differ} END"
        )
        return sql, [len(query), self.vector(query), len(query)]

    def nearest(self, query: Sequence[float], where: str, params: list[Any], page: Page) -> Query | None:
        """The query that an index for near vectors can carry out: it is ordered by the very expression of the index."""
        if self.ann_dims is None:
            return None
        vector = f"?::{self.vector_type}"
        sql = NEAREST.format(
            score=SCORES[self.distance].replace("{}", vector),
            where=where,
            embedding=f"(v.embedding::{self.vector_type}({self.ann_dims}))",
            operator=OPERATORS[self.distance],
            vector=vector,
            columns=self.columns(),
            newest_first=self.newest_first(),
        )
        text = self.vector(query)
        enough = (page.limit + page.offset) * ENOUGH_FOR_EACH
        return Query(sql, (text, *params, text, enough, *page))

    def time(self, moment: datetime) -> datetime:
        """A time with its zone."""
        return moment

    def vector(self, vector: Sequence[float]) -> Any:
        """A vector: text for the extension's types, else a list."""
        if self.vector_type in EXTENSION_TYPES:
            return f"[{','.join(map(repr, map(float, vector)))}]"
        return [float(number) for number in vector]

    def value(self, text: str) -> Any:
        """The JSON text of a value for a `jsonb` column."""
        return encode_json(text)


def parameters(params: Iterable[Any]) -> list[Any]:
    """Parameters whose texts the database can hold."""
    return [_parameter(param) for param in params]


def _parameter(param: Any) -> Any:
    if type(param) is str:
        return encode_text(param)
    if type(param) is list and param and type(param[0]) is str:
        return [encode_text(step) for step in param]
    return param


def rows_of(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows of items, or of namespaces, with the texts that were meant."""
    return [_row(row) for row in rows]


def _row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    prefix = decode_text(row[0])
    if len(row) == 1:
        return (prefix,)
    return (prefix, decode_text(row[1]), *row[2:])


def lengths_differ(message: str) -> ValueError | None:
    """The error for vectors of different lengths, if this is what the server says."""
    found = LENGTHS_DIFFER.search(message)
    if found is None:
        return None
    stored, wanted = found.groups()
    return ValueError(
        f"The query has a vector of {wanted} numbers, but a stored vector has {stored}."
        " Was the embedding model changed? Write the items again to embed them anew."
    )
