"""Operations that lead from one value of a container to the next, and the form in which they are stored.

The stored form has two parts: `shape()`, plain numbers, and `payload()`, which holds a person's values and goes through
the serializer.

Rules: data, no decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

__all__ = (
    "DICT",
    "IMMUTABLE",
    "LIST",
    "TEXT",
    "WINDOWS",
    "DictOp",
    "Dirty",
    "ListOp",
    "Op",
    "Pack",
    "TextOp",
    "restore_op",
)

IMMUTABLE: Final = frozenset((str, int, float, bool, type(None), bytes, complex))
"""Exact types whose objects can be changed by nobody and hold nothing that can."""

LIST: Final = 1
DICT: Final = 2
TEXT: Final = 3

WINDOWS: Final = 2
"""For how many spans of stored values a state tells what changed since their start."""

Dirty: TypeAlias = set[int] | None
"""Ids of objects that may have been changed in place; `None`: any may."""
Pack: TypeAlias = Callable[[Any], bytes]


class ListOp:
    """Replace parts of a list.

    Attributes:
        cuts: Start, stop and the number of elements put in between, for each part, ascending, all flat.
        fresh: The elements put in, for all parts one after the other.
        hashes: For each of `fresh` the hash of its packed form, `None` where it is not known; `None` if none is.
    """

    __slots__ = ("cuts", "fresh", "hashes")
    kind: Final = LIST

    def __init__(self, cuts: list[int], fresh: list[Any], hashes: list[int | None] | None = None) -> None:
        self.cuts = cuts
        self.fresh = fresh
        self.hashes = hashes

    def __bool__(self) -> bool:
        return bool(self.cuts)

    def weight(self) -> int:
        """How many elements it stores."""
        return len(self.fresh)

    def replaced(self) -> int:
        """How many elements it drops."""
        cuts = self.cuts
        return sum([cuts[i + 1] - cuts[i] for i in range(0, len(cuts), 3)])

    def shape(self) -> Any:
        return self.cuts

    def payload(self) -> Any:
        return self.fresh


class DictOp:
    """Drop keys, set keys, and change containers that are values.

    Attributes:
        gone: The keys to drop, before others are set.
        changed: The keys to set; those that the dict does not hold come last, in this order.
        inner: Key to what is done to the container it holds.
        old: How many of `changed` the dict held before.
        hashes: Key to the hash of its packed value, where it was looked at.
    """

    __slots__ = ("changed", "gone", "hashes", "inner", "old")
    kind: Final = DICT

    def __init__(
        self,
        gone: Sequence[Any],
        changed: dict[Any, Any],
        inner: dict[Any, Op],
        old: int = 0,
        hashes: dict[Any, int] | None = None,
    ) -> None:
        self.gone = gone
        self.changed = changed
        self.inner = inner
        self.old = old
        self.hashes = hashes

    def __bool__(self) -> bool:
        return bool(self.changed or self.inner or self.gone)

    def weight(self) -> int:
        """How many elements it stores, on all levels."""
        total = len(self.changed)
        for value in self.changed.values():
            if type(value) is list or type(value) is dict:
                total += len(value)
        for op in self.inner.values():
            total += op.weight()
        return total

    def replaced(self) -> int:
        """How many keys it drops or sets anew."""
        return self.old + len(self.gone)

    def shape(self) -> Any:
        return 1 if self.gone or self.inner else 0

    def payload(self) -> Any:
        if not (self.gone or self.inner):
            return self.changed
        inner = [[key, op.kind, op.shape(), op.payload()] for key, op in self.inner.items()]
        return [list(self.gone), self.changed, inner]


class TextOp:
    """Continue a text.

    Attributes:
        start: How long the text is before.
        fresh: What comes behind.
    """

    __slots__ = ("fresh", "start")
    kind: Final = TEXT

    def __init__(self, start: int, fresh: Any) -> None:
        self.start = start
        self.fresh = fresh

    def __bool__(self) -> bool:
        return bool(self.fresh)

    def weight(self) -> int:
        """How long the continuation is."""
        return len(self.fresh)

    def replaced(self) -> int:
        """Nothing is dropped."""
        return 0

    def shape(self) -> Any:
        return self.start

    def payload(self) -> Any:
        return self.fresh


Op: TypeAlias = ListOp | DictOp | TextOp


def restore_op(kind: int, shape: Any, payload: Any) -> Op:
    """The operation that `shape()` and `payload()` tell.

    Raises:
        ValueError: They tell none.
    """
    if kind == LIST and type(payload) is list and type(shape) is list and len(shape) % 3 == 0:
        return ListOp(shape, payload)
    if kind == TEXT and type(shape) is int:
        return TextOp(shape, payload)
    if kind == DICT and shape == 0 and type(payload) is dict:
        return DictOp((), payload, {})
    if kind == DICT and shape == 1:
        gone, changed, inner = payload
        return DictOp(gone, changed, {key: restore_op(k, s, p) for key, k, s, p in inner})
    raise ValueError(f"No known difference: kind {kind!r}, shape {shape!r:.60}, {type(payload).__name__}")
