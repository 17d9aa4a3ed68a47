"""The namespaces of an `InMemoryStore` as a tree, so that a search below a prefix looks at nothing else.

Rules of this file: a data structure without locks, clocks or copies. A namespace exists exactly as long as it holds
items: reads make none, and removing the last item removes the branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from stepgraph.store.base.namespaces import Namespace


class Record:
    """What the store keeps of one item.

    Attributes:
        value: The stored fields; nobody else holds its containers.
        created_at: When the address was first written.
        updated_at: When it was last written.
        ttl: Minutes to live, or `None`.
        expires_at: When it expires, or `None`.
        vectors: Its vectors; several where several fields are embedded.
    """

    __slots__ = ("created_at", "expires_at", "ttl", "updated_at", "value", "vectors")

    def __init__(self, value: dict[str, Any], created_at: datetime, updated_at: datetime) -> None:
        self.value = value
        self.created_at = created_at
        self.updated_at = updated_at
        self.ttl: float | None = None
        self.expires_at: datetime | None = None
        self.vectors: list[list[float]] = []


class _Branch:
    __slots__ = ("children", "order", "records")

    def __init__(self) -> None:
        self.children: dict[str, _Branch] = {}
        self.records: dict[str, Record] = {}
        self.order = 0


class NamespaceTree:
    """Records by namespace and key."""

    __slots__ = ("_next_order", "_root")

    def __init__(self) -> None:
        self._root = _Branch()
        self._next_order = 0

    def get(self, namespace: Namespace, key: str) -> Record | None:
        """The record at an address."""
        branch = self._find(namespace)
        return None if branch is None else branch.records.get(key)

    def put(self, namespace: Namespace, key: str, record: Record) -> None:
        """Set the record at an address."""
        branch = self._root
        for label in namespace:
            child = branch.children.get(label)
            if child is None:
                child = branch.children[label] = _Branch()
            branch = child
        if not branch.records:
            self._next_order += 1
            branch.order = self._next_order
        branch.records[key] = record

    def remove(self, namespace: Namespace, key: str) -> None:
        """Drop the record at an address, and the namespace if that was its last."""
        path = [self._root]
        for label in namespace:
            child = path[-1].children.get(label)
            if child is None:
                return
            path.append(child)
        path[-1].records.pop(key, None)
        for label in reversed(namespace):
            branch = path.pop()
            if branch.records or branch.children:
                return
            del path[-1].children[label]

    def below(self, prefix: Namespace) -> Iterator[tuple[Namespace, dict[str, Record]]]:
        """The namespaces that start with a prefix, oldest first, each with its records in the order of writing."""
        start = self._find(prefix)
        if start is None:
            return
        found: list[tuple[int, Namespace, dict[str, Record]]] = []
        open_branches = [(prefix, start)]
        while open_branches:
            namespace, branch = open_branches.pop()
            if branch.records:
                found.append((branch.order, namespace, branch.records))
            open_branches.extend(((*namespace, label), child) for label, child in branch.children.items())
        found.sort(key=_order)
        for _, namespace, records in found:
            yield namespace, records

    def in_order(self, prefix: Namespace) -> Iterator[tuple[Namespace, dict[str, Record]]]:
        """The namespaces that start with a prefix, sorted, each with its records. The caller may stop at any time."""
        start = self._find(prefix)
        if start is None:
            return
        open_branches = [iter([(prefix, start)])]
        while open_branches:
            for namespace, branch in open_branches[-1]:
                if branch.records:
                    yield namespace, branch.records
                open_branches.append(_children_in_order(namespace, branch))
                break
            else:
                open_branches.pop()

    def _find(self, namespace: Namespace) -> _Branch | None:
        branch: _Branch | None = self._root
        for label in namespace:
            if branch is None:
                return None
            branch = branch.children.get(label)
        return branch


def _children_in_order(namespace: Namespace, branch: _Branch) -> Iterator[tuple[Namespace, _Branch]]:
    for label in sorted(branch.children):
        yield (*namespace, label), branch.children[label]


def _order(entry: tuple[int, Namespace, dict[str, Record]]) -> int:
    return entry[0]
