"""A dict as it was stored last, and what leads from there to its next value.

Theory and rules as in `sequences`. A container that is a value of the dict is compared as well, from the second time on
that its key is set: it then has a state of its own, with a copy of its own, so a list that grows inside a dict costs
what is new in it.
"""

from __future__ import annotations

from itertools import islice
from operator import is_
from typing import Any, Final, TypeAlias

from stepgraph.checkpoint.growth.operations import DICT, IMMUTABLE, WINDOWS, DictOp, Dirty, Op, Pack
from stepgraph.checkpoint.growth.sequences import ListState, TextState
from stepgraph.values.missing import MISSING

__all__ = ("DictState", "State", "make_state")

_MAX_DEPTH: Final = 4
"""So deep containers in dicts are compared."""
_HOPELESS: Final = 64
"""Where so many keys at the front of a dict are set anew, and none is kept, all are taken to be."""
WORTH_FOLLOWING: Final = 32
"""Containers with fewer elements are stored whole, unless a dict holds one that is as large."""


class _DictWindow:
    """What a span of operations did to a dict: keys dropped; keys set, and whether they were there at its start; keys
    whose containers were changed."""

    __slots__ = ("gone", "inner", "whole")

    def __init__(self) -> None:
        self.gone: dict[Any, None] = {}
        self.whole: dict[Any, bool] = {}
        self.inner: dict[Any, None] = {}

    def drop(self, key: Any) -> None:
        self.whole.pop(key, None)
        self.inner.pop(key, None)
        self.gone[key] = None

    def set(self, key: Any, was_there: bool) -> None:
        self.inner.pop(key, None)
        if key not in self.whole:
            self.whole[key] = was_there


class DictState:
    """A dict as it was stored last.

    Attributes:
        items: A copy of it, with the very same values.
        hashes: Key to the hash of its packed value, where it is known.
        inner: Key to the state of the container it holds, for containers that are compared.
        edited: Keys whose containers were found changed in place.
        shares: Whether the states in `inner` hold the containers themselves and not copies: while a value is read.
    """

    __slots__ = (
        "_ids",
        "_pack",
        "depth",
        "edited",
        "hashed",
        "hashes",
        "inner",
        "items",
        "shares",
        "windows",
    )
    kind: Final = DICT

    def __init__(self, items: dict[Any, Any], pack: Pack, depth: int = 1, shares: bool = False) -> None:
        self.items = items
        self._pack = pack
        self.depth = depth
        self.shares = shares
        self.hashed = False
        self.hashes: dict[Any, int] = {}
        self.edited: set[Any] = set()
        self.inner: dict[Any, State] = {}
        self._ids: set[int] | None = None
        self.windows = [_DictWindow() for _ in range(WINDOWS)]

    def compare(self, now: dict[Any, Any], dirty: Dirty) -> DictOp | None:
        """What leads to `now`; `None` if it is better stored whole."""
        before = self.items
        if len(before) > _HOPELESS and not self.inner and _are_others(before, now):
            return None
        gone = self._gone(now)
        if gone is None:
            return None
        if not gone and all(map(is_, before.values(), now.values())) and self._untouched(dirty):
            new = list(islice(reversed(now), len(now) - len(before)))
            return DictOp((), {key: now[key] for key in reversed(new)}, {})
        op = DictOp(gone, {}, {}, 0, {})
        kept = 0
        for key, value in now.items():
            last = before.get(key, MISSING)
            if last is MISSING:
                op.changed[key] = value
                continue
            suspect = (dirty is None or id(value) in dirty) and type(value) not in IMMUTABLE
            if last is value and not suspect:
                kept += 1
                continue
            self._compare_value(op, key, last, value, None if suspect else dirty)
            if not kept and op.old == _HOPELESS:
                return None
        return None if op.old and op.old >= len(before) else op

    def _compare_value(self, op: DictOp, key: Any, last: Any, value: Any, dirty: Dirty) -> None:
        state = self.inner.get(key)
        if state is not None and type(value) is type(state.items):
            change = state.compare(value, dirty)  # type: ignore[arg-type]
            if change is not None:
                if change:
                    op.inner[key] = change
                return
        elif last is value:
            content = hash(self._pack(value))
            self.hashed = True
            if self.hashes.get(key) == content:
                return
            assert op.hashes is not None
            op.hashes[key] = content
            self.edited.add(key)
        op.changed[key] = value
        op.old += 1

    def _untouched(self, dirty: Dirty) -> bool:
        """Whether none of the values may have been changed in place."""
        return dirty is not None and (not dirty or dirty.isdisjoint(self._known_ids()))

    def _known_ids(self) -> set[int]:
        """The ids of all values, and maybe of some that were dropped."""
        ids = self._ids
        if ids is None or len(ids) > 2 * len(self.items) + 64:
            ids = self._ids = set(map(id, self.items.values()))
        return ids

    def _gone(self, now: dict[Any, Any]) -> list[Any] | None:
        """The keys that are no more; `None` if the others stand in another order."""
        before = self.items
        if len(now) >= len(before) and all(map(is_, before, now)):
            return []
        old = list(before)
        gone = [key for key in old if key not in now]
        if gone:
            old = [key for key in old if key in now]
        head = list(islice(now, len(old)))
        return gone if head == old and list(map(type, head)) == list(map(type, old)) else None

    def apply(self, op: DictOp, now: dict[Any, Any] | None = None) -> None:
        """Become what the operation leads to.

        Args:
            op: The operation.
            now: The dict it leads to, where it is at hand: its very containers are held.
        """
        items = self.items
        for key in op.gone:
            items.pop(key, None)
            self.inner.pop(key, None)
            self.hashes.pop(key, None)
            for window in self.windows:
                window.drop(key)
        for key, value in op.changed.items():
            was_there = key in items
            if was_there:
                self.hashes.pop(key, None)
                self._follow(key, value)
            for window in self.windows:
                window.set(key, was_there)
        items.update(op.changed)
        if op.hashes:
            self.hashes.update(op.hashes)
        if self._ids is not None:
            self._ids.update(map(id, op.changed.values()))
        for key, change in op.inner.items():
            self._apply_inner(key, change, MISSING if now is None else now[key])

    def _apply_inner(self, key: Any, change: Op, value: Any) -> None:
        state = self.inner.get(key)
        if state is None:
            state = self.inner[key] = make_state(self.items[key], self._pack, self.depth + 1, True)
        if type(state) is DictState:
            state.apply(change, None if value is MISSING else value)  # type: ignore[arg-type]
        else:
            state.apply(change)  # type: ignore[arg-type]
        if value is not MISSING:
            self.items[key] = value
            if self._ids is not None:
                self._ids.add(id(value))
        for window in self.windows:
            if key not in window.whole:
                window.inner[key] = None

    def _follow(self, key: Any, value: Any) -> None:
        """Compare a container that is set a second time from now on."""
        earlier = self.inner.pop(key, None)
        if self.depth < _MAX_DEPTH and _is_worth_following(value):
            items = value if self.shares else value.copy()
            state = self.inner[key] = make_state(items, self._pack, self.depth + 1, self.shares)
            if type(earlier) is type(state):
                state.continue_from(earlier)  # type: ignore[arg-type]

    def continue_from(self, earlier: DictState) -> None:
        """Keep on comparing what the state before this one compared, and what changed since."""
        for key, value in self.items.items() if _may_hold_large(self.items) else ():
            last = earlier.items.get(key, MISSING)
            if key in earlier.inner or key in earlier.edited or (last is not MISSING and last is not value):
                if key in earlier.inner:
                    self.inner[key] = earlier.inner[key]
                self._follow(key, value)
        if earlier.hashed:
            self.hash_all()

    def follow_all(self) -> None:
        """Compare all containers among the values, on all levels."""
        for key, value in self.items.items() if _may_hold_large(self.items) else ():
            self._follow(key, value)
            state = self.inner.get(key)
            if type(state) is DictState:
                state.follow_all()

    @property
    def follows(self) -> bool:
        """Whether containers among the values are compared."""
        return bool(self.inner)

    def merged(self, span: int, now: dict[Any, Any]) -> DictOp:
        """One operation from the start of a window to `now`, which was applied."""
        window = self.windows[span]
        changed = {key: now[key] for key in window.whole}
        inner: dict[Any, Op] = {key: self.inner[key].merged(span, now[key]) for key in window.inner}
        return DictOp(list(window.gone), changed, inner, sum(window.whole.values()))

    def restart(self, spans: int) -> None:
        """Let the first `spans` windows begin here."""
        for i in range(spans):
            self.windows[i] = _DictWindow()
        for state in self.inner.values():
            state.restart(spans)

    def hash_all(self) -> None:
        """Know the content of every value, for dicts whose values nodes hand back."""
        self.hashed = True
        self.hashes = {
            key: hash(self._pack(value))
            for key, value in self.items.items()
            if type(value) not in IMMUTABLE and key not in self.inner
        }
        for state in self.inner.values():
            state.hash_all()

    def detach(self) -> None:
        """Go on with copies: the dict itself is handed out."""
        self.shares = False
        self.items = self.items.copy()
        for state in self.inner.values():
            state.detach()


def _are_others(before: dict[Any, Any], now: dict[Any, Any]) -> bool:
    """Whether many keys at the front of a dict are set anew, and none of them is kept."""
    if len(now) <= _HOPELESS:
        return False
    for key, value in islice(now.items(), _HOPELESS):
        last = before.get(key, MISSING)
        if last is value or last is MISSING:
            return False
    return True


def _may_hold_large(items: dict[Any, Any]) -> bool:
    """Whether a value may be worth following: a quick look at all of them."""
    kinds = set(map(type, items.values()))
    if dict in kinds:
        return True
    if list not in kinds:
        return False
    lists = items.values() if len(kinds) == 1 else [value for value in items.values() if type(value) is list]
    return max(map(len, lists)) >= WORTH_FOLLOWING


def _is_worth_following(value: Any) -> bool:
    kind = type(value)
    if kind is list:
        return len(value) >= WORTH_FOLLOWING
    if kind is dict:
        return len(value) >= WORTH_FOLLOWING or any(map(_is_worth_following, value.values()))
    return False


State: TypeAlias = ListState | DictState | TextState


def make_state(items: Any, pack: Pack, depth: int = 1, shares: bool = False) -> State:
    """The state of a container. `items` is held, not copied."""
    if type(items) is list:
        return ListState(items, pack)
    if type(items) is dict:
        return DictState(items, pack, depth, shares)
    return TextState(items)
