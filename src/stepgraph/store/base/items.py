"""What a store returns: `Item` and `SearchItem`.

Rules of this file: values only. Nothing here knows a store, a namespace rule or a clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any


class Item:
    """A value that a store holds, with its address and its times.

    Args:
        value: The stored fields.
        key: The name of the item within its namespace.
        namespace: The labels that lead to the item.
        created_at: When the item was first written; ISO text is accepted.
        updated_at: When the item was last written; ISO text is accepted.

    Example:
        >>> from datetime import datetime, timezone
        >>> day = datetime(2024, 5, 1, tzinfo=timezone.utc)
        >>> Item(value={"theme": "dark"}, key="ui", namespace=("users", "7"), created_at=day, updated_at=day).key
        'ui'
    """

    __slots__ = ("created_at", "key", "namespace", "updated_at", "value")

    def __init__(
        self,
        *,
        value: dict[str, Any],
        key: str,
        namespace: Iterable[str],
        created_at: datetime | str,
        updated_at: datetime | str,
    ) -> None:
        self.value = value
        self.key = key
        self.namespace = tuple(namespace)
        self.created_at = as_datetime(created_at)
        self.updated_at = as_datetime(updated_at)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Item):
            return NotImplemented
        return (
            self.namespace == other.namespace
            and self.key == other.key
            and self.value == other.value
            and self.created_at == other.created_at
            and self.updated_at == other.updated_at
        )

    def __hash__(self) -> int:
        return hash((self.namespace, self.key))

    def dict(self) -> dict[str, Any]:
        """The item as plain data that JSON can hold: times as ISO text, the namespace as a list."""
        return {
            "namespace": list(self.namespace),
            "key": self.key,
            "value": self.value,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={field!r}" for name, field in self.dict().items())
        return f"{type(self).__name__}({fields})"


class SearchItem(Item):
    """An item that a search found.

    Args:
        namespace: The labels that lead to the item.
        key: The name of the item within its namespace.
        value: The stored fields.
        created_at: When the item was first written.
        updated_at: When the item was last written.
        score: How near the item is to the query (1 is identical); `None` for a search without a query, and for an
            item that has no vector.
    """

    __slots__ = ("score",)

    def __init__(
        self,
        namespace: Iterable[str],
        key: str,
        value: dict[str, Any],
        created_at: datetime | str,
        updated_at: datetime | str,
        score: float | None = None,
    ) -> None:
        super().__init__(
            value=value, key=key, namespace=namespace, created_at=created_at, updated_at=updated_at
        )
        self.score = score

    def dict(self) -> dict[str, Any]:
        """The item and its score as plain data that JSON can hold."""
        return {**super().dict(), "score": self.score}


def as_datetime(value: datetime | str) -> datetime:
    """A time from a time or from its ISO text."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def copy_value(value: Any) -> Any:
    """A copy that shares no container with the original; what is not a plain dict, list or tuple is shared.

    Stores that keep objects in memory use it on the way in and on the way out, so that a later change of a dictionary
    that was stored, or of one that was read, is not a write that nobody asked for.
    """
    kind = type(value)
    if kind is dict:
        return {
            key: copy_value(field) if type(field) in _CONTAINERS else field for key, field in value.items()
        }
    if kind is list:
        return [copy_value(element) if type(element) in _CONTAINERS else element for element in value]
    if kind is tuple:
        return tuple([copy_value(element) for element in value])
    return value


_CONTAINERS = frozenset((dict, list, tuple))
