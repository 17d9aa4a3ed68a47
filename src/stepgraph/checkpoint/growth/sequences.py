"""A list or a text as it was stored last, and what leads from there to its next value.

Theory: the copy kept here is shallow, so an element is unchanged if it is the identical object *and* no node returned
it (then it may have been changed in place): returned ones are packed and compared by hash. Never by `==`, which calls
code of others and takes `1` for `True`. What cannot be told as an operation is answered by `None`: store it whole.

Beside the copy, a state tells for two spans of stored values ("windows") what changed since their start, so that one
merged operation can stand for many, and chains of differences stay short.

Rules: pure; makes no bytes but those whose hash it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress, count, islice, repeat
from operator import is_, is_not
from typing import Any, Final

from stepgraph.checkpoint.growth.operations import IMMUTABLE, LIST, TEXT, WINDOWS, Dirty, ListOp, Pack, TextOp

__all__ = ("ListState", "TextState")

_SLIDES_TRIED: Final = 4
"""At how many places the rest of a list is compared that may have lost its front."""


class _ListWindow:
    """What a span of operations did to a list.

    Attributes:
        size: How long the list was at the start of the span.
        start: So many elements at its front stand where they stood.
        tail: So many elements at its end do. Both are `size` until something moved.
        front: The places of elements replaced by others, counted from the start; valid below `start`.
        back: The same, counted from the end; valid up to `tail`.
    """

    __slots__ = ("back", "front", "size", "start", "tail")

    def __init__(self, size: int) -> None:
        self.size = self.start = self.tail = size
        self.front: set[int] = set()
        self.back: set[int] = set()

    def note(self, cuts: list[int], size: int) -> None:
        """Take in an operation on a list of `size` elements."""
        start, stop, moved = size, 0, False
        for i in range(0, len(cuts), 3):
            a, b = cuts[i], cuts[i + 1]
            if b - a == cuts[i + 2]:
                self.front.update(range(a, b))
                self.back.update(range(size - b + 1, size - a + 1))
            else:
                moved = True
                start, stop = min(start, a), max(stop, b)
        if moved:
            self.start = min(self.start, start)
            self.tail = min(self.tail, size - stop)

    def merged(self, now: list[Any]) -> ListOp:
        """One operation from the start of the span to `now`."""
        size, length = self.size, len(now)
        cuts: list[int] = []
        fresh: list[Any] = []

        def cut(start: int, stop: int, part: list[Any]) -> None:
            if cuts and cuts[-2] == start and cuts[-3] + cuts[-1] == start and stop - start == len(part):
                cuts[-2] = stop
                cuts[-1] += len(part)
            else:
                cuts.extend((start, stop, len(part)))
            fresh.extend(part)

        untouched = self.start == self.tail == size == length
        for i in sorted([i for i in self.front if i < self.start]):
            cut(i, i + 1, now[i : i + 1])
        if not untouched:
            cut(self.start, size - self.tail, now[self.start : length - self.tail])
            for k in sorted([k for k in self.back if k <= self.tail], reverse=True):
                cut(size - k, size - k + 1, now[length - k : length - k + 1])
        return ListOp(cuts, fresh)


class ListState:
    """A list as it was stored last.

    Attributes:
        items: A copy of it, with the very same elements.
        hashes: For each element the hash of its packed form; only for lists whose elements nodes hand back.
    """

    __slots__ = ("_ids", "_pack", "hashes", "items", "windows")
    kind: Final = LIST
    follows: Final = False

    def __init__(self, items: list[Any], pack: Pack) -> None:
        self.items = items
        self._pack = pack
        self.hashes: list[int | None] | None = None
        self._ids: set[int] | None = None
        self.windows = [_ListWindow(len(items)) for _ in range(WINDOWS)]

    def compare(self, now: list[Any], dirty: Dirty) -> ListOp | None:
        """What leads to `now`; `None` if it is better stored whole."""
        before = self.items
        size, length = len(before), len(now)
        shorter = size if size < length else length
        start = shorter if all(map(is_, before, now)) else next(compress(count(), map(is_not, before, now)))
        tail = 0
        if start < shorter and before[-1] is now[-1]:
            tail = next(compress(count(), map(is_not, reversed(before), reversed(now))), shorter)
            tail = min(tail, shorter - start)
        if not start and not tail and size and length:
            return self._slide(now, dirty)
        if (start or tail) and (dirty is None or (dirty and not dirty.isdisjoint(self._known_ids()))):
            return self._with_edits(now, start, tail, dirty)
        if start == size == length:
            return ListOp([], [])
        fresh = now[start : length - tail]
        return ListOp([start, size - tail, len(fresh)], fresh, self._hashes_of(fresh))

    def _known_ids(self) -> set[int]:
        """The ids of all elements, and maybe of some that were dropped."""
        ids = self._ids
        if ids is None or len(ids) > 2 * len(self.items) + 64:
            ids = self._ids = set(map(id, self.items))
        return ids

    def _hashes_of(self, fresh: list[Any]) -> list[int | None] | None:
        return None if self.hashes is None else [_hash(x, self._pack) for x in fresh]

    def _slide(self, now: list[Any], dirty: Dirty) -> ListOp | None:
        """Whether the list lost its front and goes on as it was: capped histories do."""
        before = self.items
        size = len(before)
        places = compress(count(1), map(is_, islice(before, 1, None), repeat(now[0])))
        for dropped in islice(places, _SLIDES_TRIED):
            kept = size - dropped
            if kept <= len(now) and all(map(is_, islice(before, dropped, None), now)):
                break
        else:
            return None
        for x in islice(now, kept):
            if (dirty is None or id(x) in dirty) and type(x) not in IMMUTABLE:
                return None
        fresh = now[kept:]
        cuts = [0, dropped, 0]
        if fresh:
            cuts += (size, size, len(fresh))
        return ListOp(cuts, fresh, self._hashes_of(fresh))

    def _with_edits(self, now: list[Any], start: int, tail: int, dirty: Dirty) -> ListOp | None:
        """Elements that stand where they stood may have been changed in place."""
        size, length = len(self.items), len(now)
        if IMMUTABLE.issuperset(map(type, now)):
            fresh = now[start : length - tail]
            return ListOp([start, size - tail, len(fresh)] if fresh or start + tail < size else [], fresh)
        if self.hashes is None:
            self.hashes = [None] * size
        hashes = self.hashes
        op = ListOp([], [], [])
        for i in chain(range(start), range(length - tail, length)):
            if i == length - tail and tail:
                _add_part(op, start, size - tail, now[start : length - tail], self._pack)
            x = now[i]
            if type(x) in IMMUTABLE or (dirty is not None and id(x) not in dirty):
                continue
            place = i if i < start else i - length + size
            content = hash(self._pack(x))
            if hashes[place] != content:
                _add_edit(op, place, x, content)
        if not tail:
            _add_part(op, start, size, now[start:], self._pack)
        return None if len(op.fresh) >= length > 0 else op

    def apply(self, op: ListOp) -> None:
        """Become what the operation leads to."""
        items, cuts = self.items, op.cuts
        if not cuts:
            return
        size = len(items)
        if cuts[0] == size:
            items += op.fresh
            for window in self.windows:
                window.tail = 0
        else:
            _splice(items, cuts, op.fresh)
            for window in self.windows:
                window.note(cuts, size)
        if self._ids is not None:
            self._ids.update(map(id, op.fresh))
        if self.hashes is not None:
            _splice(self.hashes, cuts, op.hashes if op.hashes is not None else [None] * len(op.fresh))

    def merged(self, span: int, now: list[Any]) -> ListOp:
        """One operation from the start of a window to `now`, which was applied."""
        return self.windows[span].merged(now)

    def restart(self, spans: int) -> None:
        """Let the first `spans` windows begin here."""
        for i in range(spans):
            self.windows[i] = _ListWindow(len(self.items))

    def follow_all(self) -> None:
        """Do nothing: containers in lists are stored whole."""

    def hash_all(self) -> None:
        """Know the content of every element, for lists whose elements nodes hand back."""
        self.hashes = [_hash(x, self._pack) for x in self.items]

    def continue_from(self, earlier: ListState) -> None:
        """Keep on looking at the content of elements if the state before this one did."""
        if earlier.hashes is not None:
            self.hash_all()

    @property
    def hashed(self) -> bool:
        """Whether the content of elements is looked at."""
        return self.hashes is not None

    def detach(self) -> None:
        """Go on with a copy: the list itself is handed out."""
        self.items = self.items.copy()


def _hash(value: Any, pack: Pack) -> int | None:
    return None if type(value) in IMMUTABLE else hash(pack(value))


def _add_edit(op: ListOp, place: int, value: Any, content: int) -> None:
    cuts = op.cuts
    if cuts and cuts[-2] == place and cuts[-3] + cuts[-1] == place:
        cuts[-2] += 1
        cuts[-1] += 1
    else:
        cuts += (place, place + 1, 1)
    op.fresh.append(value)
    assert op.hashes is not None
    op.hashes.append(content)


def _add_part(op: ListOp, start: int, stop: int, part: list[Any], pack: Pack) -> None:
    if part or stop > start:
        op.cuts += (start, stop, len(part))
        op.fresh += part
        assert op.hashes is not None
        op.hashes += [_hash(x, pack) for x in part]


def _splice(items: list[Any], cuts: list[int], fresh: Sequence[Any]) -> None:
    end = len(fresh)
    for i in range(len(cuts) - 3, -1, -3):
        begin = end - cuts[i + 2]
        items[cuts[i] : cuts[i + 1]] = fresh[begin:end]
        end = begin


class TextState:
    """A `str` or `bytes` as it was stored last.

    Attributes:
        items: The text.
    """

    __slots__ = ("items", "sizes")
    kind: Final = TEXT
    hashed: Final = False
    follows: Final = False

    def __init__(self, items: Any) -> None:
        self.items = items
        self.sizes = [len(items)] * WINDOWS

    def compare(self, now: Any, dirty: Dirty) -> TextOp | None:
        """What leads to `now`; `None` if it does not begin with the text."""
        return TextOp(len(self.items), now[len(self.items) :]) if now.startswith(self.items) else None

    def apply(self, op: TextOp) -> None:
        """Become what the operation leads to."""
        self.items = self.items[: op.start] + op.fresh

    def merged(self, span: int, now: Any) -> TextOp:
        """One operation from the start of a window to `now`, which was applied."""
        return TextOp(self.sizes[span], now[self.sizes[span] :])

    def restart(self, spans: int) -> None:
        """Let the first `spans` windows begin here."""
        for i in range(spans):
            self.sizes[i] = len(self.items)

    def continue_from(self, earlier: TextState) -> None:
        """Do nothing: nobody can change a text."""

    def hash_all(self) -> None:
        """Do nothing: nobody can change a text."""

    def follow_all(self) -> None:
        """Do nothing: a text holds no containers."""

    def detach(self) -> None:
        """Do nothing: nobody can change a text."""
