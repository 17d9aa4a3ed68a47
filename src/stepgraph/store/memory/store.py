"""`InMemoryStore`: a store in this process's memory.

Rules of this file: it applies a `BatchPlan` to a `NamespaceTree` under a lock. Embedding functions are called before the
lock is taken, so a slow one delays nobody else. Values are copied on the way in and on the way out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from stepgraph.store.base.config import IndexConfig, TTLConfig, expiry, omits_expired, utc_now
from stepgraph.store.base.embed import Embeddings
from stepgraph.store.base.filters import compile_filter
from stepgraph.store.base.indexing import Indexing
from stepgraph.store.base.items import Item, SearchItem, copy_value
from stepgraph.store.base.namespaces import Namespace, literal_prefix, select
from stepgraph.store.base.ops import GetOp, ListNamespacesOp, Op, Result, SearchOp
from stepgraph.store.base.plan import NOTHING_EMBEDDED, Address, BatchPlan, Embedded, plan_batch
from stepgraph.store.base.program import Embed, Program, aembed, arun, embed, embed_batch, run
from stepgraph.store.base.protocol import BaseStore
from stepgraph.store.base.sweeper import SweepingStore
from stepgraph.store.base.vectors import cosine_scores
from stepgraph.store.memory.tree import NamespaceTree, Record

Found = tuple[Namespace, str, Record, float | None]


class InMemoryStore(SweepingStore, BaseStore):
    """A store that lives as long as this object. Safe to use from several threads and event loops.

    Items come back in the order in which they were first written, or by nearness where a search has a query.

    Args:
        index: How to embed values for search; left out, there is no vector search.
        ttl: How items expire; left out, only items that are written with a `ttl` do.

    Raises:
        ValueError: If `index` has no embedding function.

    Example:
        >>> store = InMemoryStore()
        >>> store.put(("users", "7"), "food", {"likes": "figs"})
        >>> store.get(("users", "7"), "food").value
        {'likes': 'figs'}
        >>> [item.key for item in store.search(("users",), filter={"likes": "figs"})]
        ['food']
    """

    supports_ttl = True
    index_config: IndexConfig | None = None

    def __init__(self, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        self.index_config = index
        self.ttl_config = ttl
        self.clock: Callable[[], datetime] = utc_now
        self._indexing = Indexing(index) if index else None
        self._tree = NamespaceTree()
        self._lock = threading.Lock()

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes vectors of texts, if the store has an index."""
        return self._indexing.embeddings if self._indexing else None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out several operations at once, see `BaseStore.batch`."""
        if self._indexing is None:
            return self._apply(plan_batch(ops, None), NOTHING_EMBEDDED)
        return run(self._batch(ops, self._indexing), self._perform)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`; only an embedding function is waited for."""
        if self._indexing is None:
            return self._apply(plan_batch(ops, None), NOTHING_EMBEDDED)
        return await arun(self._batch(ops, self._indexing), self._aperform)

    def sweep_ttl(self) -> int:
        """Remove what is expired.

        Returns:
            How many items that were.
        """
        now = self.clock()
        with self._lock:
            expired = [
                (namespace, key)
                for namespace, records in self._tree.below(())
                for key, record in records.items()
                if _is_expired(record, now)
            ]
            for namespace, key in expired:
                self._tree.remove(namespace, key)
        return len(expired)

    def _batch(self, ops: Iterable[Op], indexing: Indexing) -> Program[list[Result]]:
        plan = plan_batch(ops, indexing)
        embedded = yield from embed_batch(plan, indexing)
        return self._apply(plan, embedded)

    def _perform(self, request: Embed) -> Embedded:
        assert self._indexing is not None
        return embed(self._indexing, request)

    async def _aperform(self, request: Embed) -> Embedded:
        assert self._indexing is not None
        return await aembed(self._indexing, request)

    def _apply(self, plan: BatchPlan, embedded: Embedded) -> list[Result]:
        results: list[Result] = [None] * plan.size
        now = self.clock()
        values = {address: _copied(address, put.value) for address, put in plan.puts.items()}
        with self._lock:
            for position, get in plan.gets:
                results[position] = self._get(get, now)
            for position, search in plan.searches:
                results[position] = self._search(search, embedded, now)
            for position, listing in plan.listings:
                results[position] = self._list(listing, now)
            for address, put in plan.puts.items():
                vectors = [embedded.texts[text] for text in plan.fields.get(address, {}).values()]
                self._put(address, values[address], put.ttl, vectors, now)
        return results

    def _visible(self, record: Record, now: datetime) -> bool:
        return not (_is_expired(record, now) and omits_expired(self.ttl_config))

    def _get(self, op: GetOp, now: datetime) -> Item | None:
        record = self._tree.get(op.namespace, op.key)
        if record is None or not self._visible(record, now):
            return None
        if op.refresh_ttl:
            record.expires_at = expiry(now, record.ttl)
        return Item(
            value=copy_value(record.value),
            key=op.key,
            namespace=op.namespace,
            created_at=record.created_at,
            updated_at=record.updated_at,
        )

    def _search(self, op: SearchOp, embedded: Embedded, now: datetime) -> list[SearchItem]:
        candidates = self._candidates(op, now)
        if op.query:
            candidates = iter(_ranked(list(candidates), embedded.queries[op.query]))
        items = []
        for namespace, key, record, score in islice(candidates, op.offset, op.offset + op.limit):
            if op.refresh_ttl:
                record.expires_at = expiry(now, record.ttl)
            value = copy_value(record.value)
            items.append(SearchItem(namespace, key, value, record.created_at, record.updated_at, score))
        return items

    def _candidates(self, op: SearchOp, now: datetime) -> Iterator[Found]:
        matches = compile_filter(op.filter or {})
        for namespace, records in self._tree.below(op.namespace_prefix):
            for key, record in records.items():
                if matches(record.value) and (record.expires_at is None or self._visible(record, now)):
                    yield namespace, key, record, None

    def _list(self, op: ListNamespacesOp, now: datetime) -> list[Namespace]:
        below = self._tree.in_order(literal_prefix(op.match_conditions or ()))
        if omits_expired(self.ttl_config):
            below = ((namespace, records) for namespace, records in below if _has_visible(records, now))
        return select((namespace for namespace, _ in below), op)

    def _put(
        self,
        address: Address,
        value: dict[str, Any] | None,
        ttl: float | None,
        vectors: list[list[float]],
        now: datetime,
    ) -> None:
        namespace, key = address
        if value is None:
            self._tree.remove(namespace, key)
            return
        old = self._tree.get(namespace, key)
        record = Record(value, old.created_at if old else now, now)
        record.ttl = ttl
        record.expires_at = expiry(now, ttl)
        record.vectors = vectors
        self._tree.put(namespace, key, record)


def _copied(address: Address, value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A value of the store's own."""
    try:
        copied: dict[str, Any] | None = None if value is None else copy_value(dict(value))
    except RecursionError as error:
        raise ValueError(
            f"Cannot store the item with key {address[1]!r} in namespace {address[0]}: it is nested too deeply, or holds"
            " itself. Store plain data: dictionaries with text keys, lists, texts, numbers, booleans and None."
        ) from error
    return copied


def _has_visible(records: dict[str, Record], now: datetime) -> bool:
    return any(record.expires_at is None or record.expires_at > now for record in records.values())


def _is_expired(record: Record, now: datetime) -> bool:
    return record.expires_at is not None and record.expires_at <= now


def _ranked(candidates: list[Found], query: list[float]) -> list[Found]:
    """Candidates by the score of their best vector, the nearest first, those without a vector last."""
    owners: list[int] = []
    vectors: list[list[float]] = []
    for position, candidate in enumerate(candidates):
        for vector in candidate[2].vectors:
            owners.append(position)
            vectors.append(vector)
    best: dict[int, float] = {}
    for position, score in zip(owners, cosine_scores(query, vectors)):
        if score > best.get(position, float("-inf")):
            best[position] = score
    scored = sorted(best, key=best.__getitem__, reverse=True)
    unscored = [position for position in range(len(candidates)) if position not in best]
    return [(*candidates[position][:3], best.get(position)) for position in [*scored, *unscored]]
