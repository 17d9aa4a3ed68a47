"""A batch as a program over SQL: at most one request for vectors, one read and one write.

Rules of this file: it decides, and never waits. The read sees one state of the database; the write is one transaction.
They are two, so that a store that is only read never takes a write lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, NamedTuple

from stepgraph.store.base.config import TTLConfig, omits_expired
from stepgraph.store.base.indexing import Indexing
from stepgraph.store.base.items import Item, SearchItem
from stepgraph.store.base.namespaces import from_text, select, sort_key, to_text
from stepgraph.store.base.ops import Op, Result
from stepgraph.store.base.plan import BatchPlan, Embedded, plan_batch
from stepgraph.store.base.program import Program, embed_batch
from stepgraph.store.sql.statements import (
    Change,
    Dialect,
    Query,
    Reading,
    get_queries,
    listing_query,
    put_changes,
    refresh_change,
    search_query,
    sweep_changes,
)
from stepgraph.store.sql.values import load_json, load_time

Deserializer = Callable[[Any], dict[str, Any]]


class Read(NamedTuple):
    """A request for the rows of some queries, all from one state of the database; the answer is a list for each."""

    queries: list[Query]


class Write(NamedTuple):
    """A request to make changes in one transaction; the answer is the number of rows that the last one touched."""

    changes: list[Change]


class StorePlan(NamedTuple):
    """What a SQL store is made of, as far as its programs need to know.

    Attributes:
        dialect: The database's ways.
        indexing: How values are embedded, if they are.
        ttl: How items expire.
        deserializer: Makes a value from the stored text; `None` for JSON.
        clock: Tells the time.
    """

    dialect: Dialect
    indexing: Indexing | None
    ttl: TTLConfig | None
    deserializer: Deserializer | None
    clock: Callable[[], datetime]


def batch_program(store: StorePlan, ops: Iterable[Op]) -> Program[list[Result]]:
    """Carry out a batch, see `BaseStore.batch`."""
    plan = plan_batch(ops, store.indexing)
    embedded = yield from embed_batch(plan, store.indexing)
    now = store.clock()
    changes: list[Change] = []
    if plan.puts:
        changes = put_changes(store.dialect, plan, embedded, now, store.indexing is not None)
    results: list[Result] = [None] * plan.size
    if plan.gets or plan.searches or plan.listings:
        refreshed = yield from _read(store, plan, embedded, now, results)
        if refreshed:
            changes.insert(0, refresh_change(store.dialect, refreshed, now))
    if changes:
        yield Write(changes)
    return results


def sweep_program(store: StorePlan) -> Program[int]:
    """Remove what is expired; returns how many items that were."""
    removed: int = yield Write(sweep_changes(store.dialect, store.clock(), store.indexing is not None))
    return removed


def _read(
    store: StorePlan, plan: BatchPlan, embedded: Embedded, now: datetime, results: list[Result]
) -> Program[list[tuple[str, str, float]]]:
    """Carry out the reads; returns namespace text, key and minutes to live of the items to refresh."""
    reading = Reading(store.dialect, now, omits_expired(store.ttl))
    queries = get_queries(reading, [op for _, op in plan.gets])
    chunks = len(queries)
    queries += [search_query(reading, op, embedded) for _, op in plan.searches]
    queries += [listing_query(reading, op) for _, op in plan.listings]
    answers: list[list[Any]] = yield Read(queries)
    found = {(row[0], row[1]): row for rows in answers[:chunks] for row in rows}
    refreshed: dict[tuple[str, str], float] = {}
    for position, get in plan.gets:
        row = found.get((to_text(get.namespace), get.key))
        if row is not None:
            results[position] = _item(row, store.deserializer)
            if get.refresh_ttl and row[5] is not None:
                refreshed[row[0], row[1]] = row[5]
    for (position, search), rows in zip(plan.searches, answers[chunks:]):
        results[position] = [_search_item(row, store.deserializer) for row in rows]
        if search.refresh_ttl:
            refreshed.update(((row[0], row[1]), row[5]) for row in rows if row[5] is not None)
    for (position, listing), rows in zip(plan.listings, answers[chunks + len(plan.searches) :]):
        texts = sorted([row[0] for row in rows], key=sort_key)
        results[position] = select(map(from_text, texts), listing)
    return [(*address, ttl) for address, ttl in refreshed.items()]


def _value(row: Any, deserializer: Deserializer | None) -> dict[str, Any]:
    """The value of a row.

    Raises:
        ValueError: If what is stored cannot be read.
    """
    stored = row[2]
    try:
        value = deserializer(stored) if deserializer else load_json(stored)
    except Exception as error:
        raise ValueError(_unreadable(row, str(error))) from error
    if not isinstance(value, dict):
        raise ValueError(_unreadable(row, f"a dictionary was expected, found {type(value).__name__}"))
    return value


def _unreadable(row: Any, reason: str) -> str:
    return (
        f"The stored item with key {row[1]!r} in namespace {from_text(row[0])} cannot be read: {reason}."
        " Other items are not affected; delete or write this one again."
    )


def _item(row: Any, deserializer: Deserializer | None) -> Item:
    return Item(
        value=_value(row, deserializer),
        key=row[1],
        namespace=from_text(row[0]),
        created_at=load_time(row[3]),
        updated_at=load_time(row[4]),
    )


def _search_item(row: Any, deserializer: Deserializer | None) -> SearchItem:
    value = _value(row, deserializer)
    return SearchItem(from_text(row[0]), row[1], value, load_time(row[3]), load_time(row[4]), row[6])
