"""A batch of operations, checked and grouped: what every store works from.

Rules of this file: pure. It decides what a batch means, before any storage is touched, so a bad operation fails the
whole batch and changes nothing.

What a batch means: all reads see the store as it was before the batch; then the writes are made, the last one to an
address wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stepgraph.store.base.filters import validate_filter
from stepgraph.store.base.indexing import Indexing
from stepgraph.store.base.namespaces import Namespace, as_namespace, validate_op_namespace
from stepgraph.store.base.ops import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp

Address = tuple[Namespace, str]


class Embedded(NamedTuple):
    """Vectors by the text they were made of."""

    texts: dict[str, list[float]]
    queries: dict[str, list[float]]


NOTHING_EMBEDDED = Embedded({}, {})


class BatchPlan:
    """What a batch asks for.

    Attributes:
        size: How many results the batch has.
        gets: Position in the batch and operation of each read of one item.
        searches: The same for searches.
        listings: The same for listings of namespaces.
        puts: The operation that wins at each address, in order.
        fields: The texts to embed of each written address, by field name.
    """

    __slots__ = ("fields", "gets", "listings", "puts", "searches", "size")

    def __init__(self) -> None:
        self.size = 0
        self.gets: list[tuple[int, GetOp]] = []
        self.searches: list[tuple[int, SearchOp]] = []
        self.listings: list[tuple[int, ListNamespacesOp]] = []
        self.puts: dict[Address, PutOp] = {}
        self.fields: dict[Address, dict[str, str]] = {}

    def texts(self) -> list[str]:
        """The texts to embed for what is written, each once."""
        return list(dict.fromkeys(text for fields in self.fields.values() for text in fields.values()))

    def queries(self) -> list[str]:
        """The texts to embed for what is searched, each once."""
        return list(dict.fromkeys(op.query for _, op in self.searches if op.query))


def plan_batch(ops: Iterable[Op], indexing: Indexing | None) -> BatchPlan:
    """Check and group a batch.

    Args:
        ops: The operations, in order.
        indexing: How the store embeds, if it does; else queries of searches and indexes of puts are ignored.

    Raises:
        InvalidNamespaceError: If a namespace breaks the rules.
        ValueError: If a filter, a limit, a time to live or an operation is not one.
        TypeError: If a key or a value has the wrong type.
    """
    plan = BatchPlan()
    for position, op in enumerate(ops):
        plan.size += 1
        validate_op_namespace(op)
        if isinstance(op, GetOp):
            if type(op.namespace) is not tuple or type(op.key) is not str:
                op = GetOp(tuple(op.namespace), as_key(op.key), op.refresh_ttl)
            plan.gets.append((position, op))
        elif isinstance(op, PutOp):
            _add_put(plan, op, indexing)
        elif isinstance(op, SearchOp):
            plan.searches.append((position, _checked_search(op, indexing)))
        elif isinstance(op, ListNamespacesOp):
            plan.listings.append((position, _checked_listing(op)))
        else:
            raise ValueError(
                f"Unknown operation type: {type(op)}. A store batch takes GetOp, PutOp, SearchOp and ListNamespacesOp."
            )
    return plan


def as_key(key: Any) -> str:
    """The key as text.

    Raises:
        TypeError: If there is no key.
    """
    if isinstance(key, str):
        return key
    if key is None:
        raise TypeError("The key of a store item is a text, got None.")
    return str(key)


def _add_put(plan: BatchPlan, op: PutOp, indexing: Indexing | None) -> None:
    address = (as_namespace(op.namespace), as_key(op.key))
    if op.value is not None and not isinstance(op.value, Mapping):
        raise TypeError(
            f"The value of a store item is a dictionary, got {type(op.value).__name__}"
            f" (namespace {address[0]}, key {address[1]!r})."
        )
    if op.ttl is not None and op.ttl < 0:
        raise ValueError(
            f"The ttl of a store item is a number of minutes from now, got {op.ttl}"
            f" (namespace {address[0]}, key {address[1]!r})."
        )
    plan.puts.pop(address, None)
    plan.fields.pop(address, None)
    plan.puts[address] = op
    if op.value is not None and indexing is not None:
        fields = indexing.texts(op.value, op.index)
        if fields:
            plan.fields[address] = fields


def _checked_search(op: SearchOp, indexing: Indexing | None) -> SearchOp:
    _check_page(op.limit, op.offset)
    if op.filter:
        validate_filter(op.filter)
    return op._replace(
        namespace_prefix=tuple(op.namespace_prefix), query=op.query if indexing is not None else None
    )


def _checked_listing(op: ListNamespacesOp) -> ListNamespacesOp:
    _check_page(op.limit, op.offset)
    if op.max_depth is not None and op.max_depth < 0:
        raise ValueError(f"max_depth is a number of labels, got {op.max_depth}.")
    conditions = []
    for kind, path in op.match_conditions or ():
        if kind not in ("prefix", "suffix"):
            raise ValueError(f"Unsupported match type: {kind}. Use 'prefix' or 'suffix'.")
        conditions.append(MatchCondition(kind, tuple(path)))
    return op._replace(match_conditions=tuple(conditions))


def _check_page(limit: int, offset: int) -> None:
    if limit < 0 or offset < 0:
        raise ValueError(f"limit and offset are 0 or more, got limit={limit}, offset={offset}.")
