"""`BaseStore`: the face of every store.

Rules of this file: each method builds one operation and hands it to `batch` or `abatch`; nothing else happens here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from stepgraph.store.base.config import TTLConfig, effective_refresh, effective_ttl
from stepgraph.store.base.items import Item, SearchItem
from stepgraph.store.base.namespaces import Namespace, as_namespace, conditions_of, validate_namespace
from stepgraph.store.base.ops import (
    NOT_PROVIDED,
    GetOp,
    ListNamespacesOp,
    NamespacePath,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchOp,
)
from stepgraph.store.base.plan import as_key


class BaseStore(ABC):
    """Memory that outlives a thread: dictionaries under a namespace and a key.

    A subclass implements `batch` and `abatch`; all other methods are made of them.

    Attributes:
        supports_ttl: Whether items can expire.
        ttl_config: How they do.
    """

    supports_ttl: bool = False
    ttl_config: TTLConfig | None = None

    @abstractmethod
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out several operations at once.

        All reads see the store as it was before the batch; the last write to an address wins.

        Args:
            ops: The operations.

        Returns:
            One result for each operation, in order: an item or `None` for a `GetOp`, a list for a `SearchOp` or a
            `ListNamespacesOp`, `None` for a `PutOp`.
        """

    @abstractmethod
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, asynchronously."""

    def get(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """The item at an address, or `None`.

        Args:
            namespace: The labels that lead to the item.
            key: The name of the item.
            refresh_ttl: Whether to start its time to live anew; `None` does what the store is configured to do.

        Raises:
            InvalidNamespaceError: If a label is not one.
        """
        return cast("Item | None", self.batch([self._get_op(namespace, key, refresh_ttl)])[0])

    def search(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """Items below a namespace.

        Args:
            namespace_prefix: Labels that the items' namespaces start with; `()` for all.
            query: A text to rank by, the nearest first, where the store has an index. Items without a vector come last.
            filter: Conditions on fields, such as `{"status": "open", "price": {"$gt": 3}}`. Operators: `$eq`, `$ne`,
                `$gt`, `$gte`, `$lt`, `$lte`; a dictionary without operators matches a part of a nested value.
            limit: The highest number of items.
            offset: How many items to leave out first.
            refresh_ttl: Whether to start the times to live of the found items anew.

        Raises:
            InvalidNamespaceError: If a label is not one.
            ValueError: If an operator is unknown.
        """
        op = self._search_op(namespace_prefix, filter, limit, offset, query, refresh_ttl)
        return cast("list[SearchItem]", self.batch([op])[0])

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Write an item.

        Args:
            namespace: The labels that lead to the item; none may be empty or hold a period.
            key: The name of the item.
            value: The fields to store.
            index: Paths to embed for vector search; `None` takes the store's own, `False` embeds nothing.
            ttl: Minutes until the item expires; `None` for never; left out, the store's default.

        Raises:
            InvalidNamespaceError: If the namespace breaks the rules.
            NotImplementedError: If a `ttl` was given and the store cannot expire items.
            TypeError: If the value is not a dictionary, or holds what the store cannot keep.
        """
        self.batch([self._put_op(namespace, key, value, index, ttl)])

    def delete(self, namespace: Namespace, key: str) -> None:
        """Remove an item; nothing happens if there is none.

        Args:
            namespace: The labels that lead to the item.
            key: The name of the item.
        """
        self.batch([PutOp(as_namespace(namespace), as_key(key), None)])

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """The namespaces that hold items, sorted.

        Args:
            prefix: Labels that the namespaces start with; `"*"` stands for any one label.
            suffix: Labels that the namespaces end with.
            max_depth: Cut namespaces to this many labels, and list each once.
            limit: The highest number of namespaces.
            offset: How many namespaces to leave out first.
        """
        op = ListNamespacesOp(conditions_of(prefix, suffix), max_depth, limit, offset)
        return cast("list[Namespace]", self.batch([op])[0])

    async def aget(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """As `get`, asynchronously."""
        return cast("Item | None", (await self.abatch([self._get_op(namespace, key, refresh_ttl)]))[0])

    async def asearch(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """As `search`, asynchronously."""
        op = self._search_op(namespace_prefix, filter, limit, offset, query, refresh_ttl)
        return cast("list[SearchItem]", (await self.abatch([op]))[0])

    async def aput(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """As `put`, asynchronously."""
        await self.abatch([self._put_op(namespace, key, value, index, ttl)])

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """As `delete`, asynchronously."""
        await self.abatch([PutOp(as_namespace(namespace), as_key(key), None)])

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """As `list_namespaces`, asynchronously."""
        op = ListNamespacesOp(conditions_of(prefix, suffix), max_depth, limit, offset)
        return cast("list[Namespace]", (await self.abatch([op]))[0])

    def _get_op(self, namespace: Namespace, key: str, refresh_ttl: bool | None) -> GetOp:
        if type(namespace) is not tuple:
            namespace = as_namespace(namespace)
        return GetOp(namespace, as_key(key), effective_refresh(self.ttl_config, refresh_ttl))

    def _search_op(
        self,
        prefix: Namespace,
        filter: dict[str, Any] | None,
        limit: int,
        offset: int,
        query: str | None,
        refresh_ttl: bool | None,
    ) -> SearchOp:
        refresh = effective_refresh(self.ttl_config, refresh_ttl)
        return SearchOp(as_namespace(prefix), filter, limit, offset, query, refresh)

    def _put_op(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None,
        ttl: float | NotProvided | None,
    ) -> PutOp:
        namespace = as_namespace(namespace)
        validate_namespace(namespace)
        if ttl and not self.supports_ttl:
            raise NotImplementedError(
                f"TTL is not supported by {type(self).__name__}. Use a store implementation that supports TTL"
                " or set ttl=None."
            )
        return PutOp(namespace, as_key(key), value, index, effective_ttl(self.ttl_config, ttl))
