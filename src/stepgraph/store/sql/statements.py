"""Store operations as SQL statements with parameters.

Rules of this file: pure functions. What differs between databases is asked of a `Dialect`; `?` stands for a parameter.

Tables: `store(prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)` and, with an index,
`store_vectors(prefix, key, field_name, embedding, created_at, updated_at)`. `prefix` is the namespace as text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from stepgraph.store.base.config import expiry
from stepgraph.store.base.namespaces import Namespace, literal_prefix, to_text
from stepgraph.store.base.ops import GetOp, ListNamespacesOp, PutOp, SearchOp
from stepgraph.store.base.plan import Address, BatchPlan, Embedded
from stepgraph.store.sql.values import dump_value

GETS_PER_QUERY = 200
"""How many addresses one query asks for: databases limit the number of parameters."""

UPSERT = """
INSERT INTO store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (prefix, key) DO UPDATE SET
    value = excluded.value, updated_at = excluded.updated_at,
    expires_at = excluded.expires_at, ttl_minutes = excluded.ttl_minutes
"""
DELETE = "DELETE FROM store WHERE prefix = ? AND key = ?"
REFRESH = "UPDATE store SET expires_at = ? WHERE prefix = ? AND key = ?"
DELETE_VECTORS = "DELETE FROM store_vectors WHERE prefix = ? AND key = ?"
INSERT_VECTOR = """
INSERT INTO store_vectors (prefix, key, field_name, embedding, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)
"""
SWEEP = "DELETE FROM store WHERE expires_at IS NOT NULL AND expires_at <= ?"
SWEEP_VECTORS = """
DELETE FROM store_vectors WHERE EXISTS (
    SELECT 1 FROM store s WHERE s.prefix = store_vectors.prefix AND s.key = store_vectors.key
    AND s.expires_at IS NOT NULL AND s.expires_at <= ?)
"""


class Query(NamedTuple):
    """A statement that reads."""

    sql: str
    params: tuple[Any, ...]


class Change(NamedTuple):
    """A statement that writes, once for each row of parameters."""

    sql: str
    rows: list[tuple[Any, ...]]


class Page(NamedTuple):
    """A part of what a search finds."""

    limit: int
    offset: int


class Dialect(ABC):
    """What differs between databases. All values go into parameters.

    Attributes:
        value_column: The column of the value, as its stored text.
        order_suffix: What makes the database compare the texts `prefix` and `key` by their characters.
        cascades: Whether the vectors of an item go with it by themselves.
    """

    value_column = "s.value"
    order_suffix = ""
    cascades = False

    def columns(self) -> str:
        """The columns of an item, in the order that `stepgraph.store.sql.program` reads them."""
        return f"s.prefix, s.key, {self.value_column}, s.created_at, s.updated_at, s.ttl_minutes"

    def newest_first(self) -> str:
        """The order of items without a score."""
        return f"s.updated_at DESC, s.prefix{self.order_suffix}, s.key{self.order_suffix}"

    @abstractmethod
    def filter(self, filter: Mapping[str, Any]) -> tuple[str, list[Any]]:
        """A condition on the column `s.value`, with the meaning of `stepgraph.store.base.filters`."""

    @abstractmethod
    def score(self, query: Sequence[float]) -> tuple[str, list[Any]]:
        """An expression for how near the column `v.embedding` (never NULL) is to a vector."""

    @abstractmethod
    def time(self, moment: datetime) -> Any:
        """A time as a parameter."""

    @abstractmethod
    def vector(self, vector: Sequence[float]) -> Any:
        """A vector as a parameter."""

    def value(self, text: str) -> Any:
        """The JSON text of a value as a parameter."""
        return text

    def nearest(self, query: Sequence[float], where: str, params: list[Any], page: Page) -> Query | None:
        """The query for the items that are nearest to a vector, where an index finds them; else `None`.

        Args:
            query: The vector.
            where: A condition on the table `store s`.
            params: The parameters of the condition.
            page: Which of the items.
        """
        return None


class Reading(NamedTuple):
    """What all reads of a batch share.

    Attributes:
        dialect: The database's ways.
        now: The time of the batch.
        omit_expired: Whether what is expired but not swept is left out.
    """

    dialect: Dialect
    now: datetime
    omit_expired: bool

    def not_expired(self) -> tuple[str, list[Any]]:
        """The condition that leaves out what is expired, empty if nothing is left out."""
        if not self.omit_expired:
            return "", []
        return " AND (s.expires_at IS NULL OR s.expires_at > ?)", [self.dialect.time(self.now)]


def get_queries(reading: Reading, gets: Sequence[GetOp]) -> list[Query]:
    """Queries for single items; their rows are matched to the operations by address."""
    addresses = list(dict.fromkeys((to_text(op.namespace), op.key) for op in gets))
    alive, alive_params = reading.not_expired()
    queries = []
    for start in range(0, len(addresses), GETS_PER_QUERY):
        chunk = addresses[start : start + GETS_PER_QUERY]
        places = " OR ".join(["(s.prefix = ? AND s.key = ?)"] * len(chunk))
        sql = f"SELECT {reading.dialect.columns()} FROM store s WHERE ({places}){alive}"
        queries.append(Query(sql, (*[part for address in chunk for part in address], *alive_params)))
    return queries


def search_query(reading: Reading, op: SearchOp, embedded: Embedded) -> Query:
    """The query of one search. Its last column is the score."""
    dialect = reading.dialect
    where, params = _below(dialect, op.namespace_prefix)
    alive, alive_params = reading.not_expired()
    where += alive
    params += alive_params
    if op.filter:
        condition, filter_params = dialect.filter(op.filter)
        where += f" AND {condition}"
        params += filter_params
    page = Page(op.limit, op.offset)
    if not op.query:
        sql = (
            f"SELECT {dialect.columns()}, NULL FROM store s WHERE {where}"
            f" ORDER BY {dialect.newest_first()} LIMIT ? OFFSET ?"
        )
        return Query(sql, (*params, *page))
    vector = embedded.queries[op.query]
    by_index = dialect.nearest(vector, where, params, page)
    if by_index is not None:
        return by_index
    score, score_params = dialect.score(vector)
    sql = (
        f"SELECT {dialect.columns()}, MAX(CASE WHEN v.embedding IS NULL THEN NULL ELSE {score} END) AS score"
        " FROM store s LEFT JOIN store_vectors v ON v.prefix = s.prefix AND v.key = s.key"
        f" WHERE {where} GROUP BY s.prefix, s.key"
        f" ORDER BY score DESC NULLS LAST, {dialect.newest_first()} LIMIT ? OFFSET ?"
    )
    return Query(sql, (*score_params, *params, *page))


def listing_query(reading: Reading, op: ListNamespacesOp) -> Query:
    """A query for the namespaces that a listing may select; `namespaces.select` does the rest."""
    where, params = _below(reading.dialect, literal_prefix(op.match_conditions or ()))
    alive, alive_params = reading.not_expired()
    return Query(f"SELECT DISTINCT s.prefix FROM store s WHERE {where}{alive}", (*params, *alive_params))


def _below(dialect: Dialect, prefix: Namespace) -> tuple[str, list[Any]]:
    """The condition that a namespace starts with a prefix: a range, so that an index serves it.

    The namespaces below `a.b` are the texts from `a.b.` up to `a.b/`: `/` is the character after the period.
    """
    if not prefix:
        return "1 = 1", []
    text, column = to_text(prefix), f"s.prefix{dialect.order_suffix}"
    return f"({column} = ? OR ({column} >= ? AND {column} < ?))", [text, text + ".", text + "/"]


def put_changes(
    dialect: Dialect, plan: BatchPlan, embedded: Embedded, now: datetime, indexed: bool
) -> list[Change]:
    """The statements that carry out the writes of a batch."""
    written: list[tuple[Any, ...]] = []
    deleted: list[tuple[Any, ...]] = []
    vectors: list[tuple[Any, ...]] = []
    stamp = dialect.time(now)
    for address, op in plan.puts.items():
        place = (to_text(address[0]), address[1])
        if op.value is None:
            deleted.append(place)
            continue
        written.append((*place, *_row(dialect, address, op, now)))
        for field, text in plan.fields.get(address, {}).items():
            vectors.append((*place, field, dialect.vector(embedded.texts[text]), stamp, stamp))
    changes = [Change(DELETE, deleted), Change(UPSERT, written)]
    if indexed:
        stale = [*([] if dialect.cascades else deleted), *[row[:2] for row in written]]
        changes += [Change(DELETE_VECTORS, stale), Change(INSERT_VECTOR, vectors)]
    return [change for change in changes if change.rows]


def _row(dialect: Dialect, address: Address, op: PutOp, now: datetime) -> tuple[Any, ...]:
    assert op.value is not None
    expires_at = expiry(now, op.ttl)
    stamp = dialect.time(now)
    value = dialect.value(dump_value(op.value, address))
    return (value, stamp, stamp, None if expires_at is None else dialect.time(expires_at), op.ttl)


def refresh_change(dialect: Dialect, found: Iterable[tuple[str, str, float]], now: datetime) -> Change:
    """The statement that starts times to live anew.

    Args:
        dialect: The database's ways.
        found: Namespace text, key and minutes to live of each item.
        now: The time of the batch.
    """
    rows = []
    for prefix, key, ttl in found:
        expires_at = expiry(now, ttl)
        assert expires_at is not None
        rows.append((dialect.time(expires_at), prefix, key))
    return Change(REFRESH, rows)


def sweep_changes(dialect: Dialect, now: datetime, indexed: bool) -> list[Change]:
    """The statements that remove what is expired; the last one counts the items."""
    stamp = dialect.time(now)
    changes = [Change(SWEEP_VECTORS, [(stamp,)])] if indexed and not dialect.cascades else []
    return [*changes, Change(SWEEP, [(stamp,)])]
