"""The operations a store understands, as values.

Rules of this file: plain tuples. What an operation means is written in `plan.py`, `filters.py` and `namespaces.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, Union

from stepgraph.store.base.items import Item, SearchItem

NamespacePath = tuple[Union[str, Literal["*"]], ...]
"""Labels to compare a namespace with; `"*"` stands for any one label."""

NamespaceMatchType = Literal["prefix", "suffix"]
"""From which end of a namespace a `NamespacePath` is compared."""


class NotProvided:
    """The type of `NOT_PROVIDED`: tells an argument that was left out from one that was given as `None`."""

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_PROVIDED = NotProvided()


class GetOp(NamedTuple):
    """Read one item.

    Attributes:
        namespace: The labels that lead to the item.
        key: The name of the item.
        refresh_ttl: Whether the read starts the item's time to live anew.
    """

    namespace: tuple[str, ...]
    key: str
    refresh_ttl: bool = True


class SearchOp(NamedTuple):
    """Find items below a namespace.

    Attributes:
        namespace_prefix: Labels that the namespaces of the items start with.
        filter: Conditions on fields of the value, see `stepgraph.store.base.filters`.
        limit: The highest number of items to return.
        offset: How many items to leave out first.
        query: Text to rank the items by, where the store has an index.
        refresh_ttl: Whether the read starts the times to live of the returned items anew.
    """

    namespace_prefix: tuple[str, ...]
    filter: dict[str, Any] | None = None
    limit: int = 10
    offset: int = 0
    query: str | None = None
    refresh_ttl: bool = True


class MatchCondition(NamedTuple):
    """A condition on namespaces.

    Attributes:
        match_type: `"prefix"` or `"suffix"`.
        path: The labels to find there; `"*"` stands for any one label.
    """

    match_type: NamespaceMatchType
    path: NamespacePath


class ListNamespacesOp(NamedTuple):
    """List namespaces that hold items.

    Attributes:
        match_conditions: Conditions that all must hold.
        max_depth: Cut namespaces to this many labels, and list each once.
        limit: The highest number of namespaces to return.
        offset: How many namespaces to leave out first.
    """

    match_conditions: tuple[MatchCondition, ...] | None = None
    max_depth: int | None = None
    limit: int = 100
    offset: int = 0


class PutOp(NamedTuple):
    """Write or delete one item.

    Attributes:
        namespace: The labels that lead to the item.
        key: The name of the item.
        value: The fields to store; `None` deletes the item.
        index: Paths of the value to embed; `None` takes the store's own, `False` embeds nothing.
        ttl: Minutes until the item expires; `None` for never.
    """

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any] | None
    index: Literal[False] | list[str] | None = None  # type: ignore[assignment]  # hides tuple.index
    ttl: float | None = None


Op: TypeAlias = GetOp | SearchOp | PutOp | ListNamespacesOp
Result: TypeAlias = Item | list[Item] | list[SearchItem] | list[tuple[str, ...]] | None
