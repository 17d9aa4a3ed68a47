"""One channel's stored values: the last one, and the chain of differences that a reader must walk to it.

A stored value ("entry") stands in the row of the checkpoint that stored it, so a place is a checkpoint's id. It is one of

- `bytes`: the packed value; `None`, a number, a truth value or text: the value itself;
- `[0, packed, flags]`: the same, with flags;
- `[kind, base, packed, shape, level, flags]`: a difference against the value stored at `base`;
- `[4, place]`: the value is the one stored at `place`.

Theory of growth. A single difference costs what is new. Every `SPAN`-th one is merged: it reaches back to the start of
the span; every `MERGED_SPAN`-th merged one reaches back over a span of those, so a reader walks few steps. What is new is
so stored three times at most. A whole value is stored only when the values dropped since the last whole one,
and the steps to it, outweigh it; so edits cost twice what they store. Counters are worked out anew while a chain is read:
a new process goes on where the last one stopped.

Rules: decides, and packs through the codec; knows no rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from stepgraph.checkpoint.growth.codec import Codec
from stepgraph.checkpoint.growth.mappings import DictState, State, make_state
from stepgraph.checkpoint.growth.operations import WINDOWS, Dirty, Op

__all__ = ("FOLLOWED", "HASHED", "SAME", "WHOLE", "Difference", "Entry", "Tracker")

Entry: TypeAlias = bytes | list[Any] | str | float | None

WHOLE: Final = 0
SAME: Final = 4

HASHED: Final = 1
"""Flag: elements are handed back by nodes; their content must be known before a node can change it."""
FOLLOWED: Final = 2
"""Flag: containers in this dict are compared."""

SPAN: Final = 16
"""So many differences are merged into one."""
MERGED_SPAN: Final = 12
"""So many merged ones are merged into one again."""
STEP_COST: Final = 128
"""A step of a chain costs a reader about as much as so many bytes of a whole value."""
CHEAP: Final = 1024
"""A whole value up to this size counts as this size."""
WORTH_TRACKING: Final = 200
"""Smaller values are stored whole, always."""


class Difference(NamedTuple):
    """A difference that was read.

    Attributes:
        place: Where it is stored.
        op: What it does.
        level: How far it reaches: 0 to the value before, 1 over a span, 2 over a span of spans.
        size: With how many bytes it is stored.
    """

    place: str
    op: Op
    level: int
    size: int


class _Anchor:
    """Where a span of stored values begins.

    Attributes:
        place: The stored value there.
        live: About how many bytes the whole value is there.
        dead: How many bytes on the chain to it hold what was replaced later.
        steps: How many differences the chain has.
        size: How many elements the value has.
        entries: How many values were stored since, of the level below.
        weight: How many elements they store.
    """

    __slots__ = ("dead", "entries", "live", "place", "size", "steps", "weight")

    def __init__(self, place: str, live: float, dead: float, steps: int, size: int) -> None:
        self.place = place
        self.live = live
        self.dead = dead
        self.steps = steps
        self.size = size
        self.entries = 0
        self.weight = 0


class Tracker:
    """The value of a channel as it was stored last.

    Attributes:
        state: The container, and what changed in it.
        place: Where it was stored.
        live: About how many bytes it would be as a whole.
    """

    __slots__ = ("_anchors", "_last", "state", "stored_op")

    def __init__(self, state: State, place: str, size: int) -> None:
        self.state = state
        self.stored_op: Op | None = None
        self._last = _Anchor(place, size, 0, 0, len(state.items))
        self._anchors = [_Anchor(place, size, 0, 0, len(state.items)) for _ in range(WINDOWS)]

    @property
    def place(self) -> str:
        return self._last.place

    @property
    def live(self) -> float:
        return self._last.live

    # ---- writing

    def fits(self, value: Any) -> int:
        """Whether the value seems to go on from the very objects held here: 0 is no, 2 is a better guess than 1."""
        items: Any = self.state.items
        if type(value) is not type(items) or not items or not value:
            return 0
        if type(value) is list:
            last = len(items) - 1
            return (value[0] is items[0]) + (last < len(value) and value[last] is items[last])
        if type(value) is dict:
            first, last = next(iter(items)), next(reversed(items))
            return (value.get(first) is items[first]) + (value.get(last) is items[last])
        return 2 if value.startswith(items) else 0

    def compare(self, value: Any, dirty: Dirty) -> Op | None:
        """What leads from the stored value to this one; `None` if it is better stored whole."""
        if type(value) is not type(self.state.items):
            return None
        return self.state.compare(value, dirty)  # type: ignore[arg-type]

    def advance(self, op: Op, value: Any, place: str, codec: Codec) -> Entry | None:
        """Store the operation, or one that stands for several.

        Args:
            op: What `compare` answered.
            value: The value it leads to.
            place: Where it will be stored.
            codec: Makes bytes.

        Returns:
            The entry; `None` if it is time to store the value whole.
        """
        state = self.state
        if type(state) is DictState:
            state.apply(op, value)  # type: ignore[arg-type]
        else:
            state.apply(op)  # type: ignore[arg-type]
        level, stored, base = self._choose(op, value)
        packed = codec.pack(stored.payload())
        following = self._following(base, stored, len(packed), place)
        if following is None:
            return None
        self._take(following, level, op.weight())
        self.stored_op = stored
        entry = [stored.kind, base.place, packed, stored.shape()]
        flags = (HASHED if state.hashed else 0) | (FOLLOWED if state.follows else 0)
        if level or flags:
            entry.append(level)
            if flags:
                entry.append(flags)
        return entry

    def _choose(self, op: Op, value: Any) -> tuple[int, Op, _Anchor]:
        """The level to store at, the operation, and from where it leads."""
        first, second = self._anchors
        if first.entries + 1 < SPAN:
            return 0, op, self._last
        merged = self.state.merged(0, value)
        if merged.weight() > first.weight + op.weight():
            return 0, op, self._last
        if second.entries + 1 >= MERGED_SPAN:
            twice = self.state.merged(1, value)
            if twice.weight() <= second.weight + op.weight():
                return 2, twice, second
        return 1, merged, first

    def _following(self, base: _Anchor, op: Op, size: int, place: str) -> _Anchor | None:
        """What is known once a difference of this size is stored; `None` if a whole value costs less."""
        moved = base.live * min(1.0, op.replaced() / base.size) if base.size else 0.0
        live, dead, steps = base.live - moved + size, base.dead + moved, base.steps + 1
        if dead + steps * STEP_COST > max(live, CHEAP) or size > live:
            return None
        return _Anchor(place, live, dead, steps, len(self.state.items))

    def _take(self, following: _Anchor, level: int, weight: int) -> None:
        self._last = following
        first, second = self._anchors
        second.weight += weight
        if not level:
            first.entries += 1
            first.weight += weight
            return
        self._anchors[0] = _copy(following)
        if level == 2:
            self._anchors[1] = _copy(following)
        else:
            second.entries += 1
        self.state.restart(level)

    @classmethod
    def whole(
        cls, value: Any, place: str, codec: Codec, earlier: Tracker | None, hashed: bool
    ) -> tuple[Entry, Tracker | None]:
        """Store a value whole.

        Args:
            value: A list, dict, `str` or `bytes`.
            place: Where it will be stored.
            codec: Makes bytes.
            earlier: The tracker that could not tell a difference.
            hashed: Whether it is not known what nodes hand back, so that content must be looked at.

        Returns:
            The entry, and the tracker to go on with if the value is worth it.
        """
        packed = codec.pack(value)
        if len(packed) < WORTH_TRACKING:
            return packed, None
        items = value.copy() if type(value) in (list, dict) else value
        state = make_state(items, codec.digest)
        if earlier is not None and type(earlier.state) is type(state):
            state.continue_from(earlier.state)  # type: ignore[arg-type]
        if hashed and not state.hashed:
            state.hash_all()
        flags = (HASHED if state.hashed else 0) | (FOLLOWED if state.follows else 0)
        return ([WHOLE, packed, flags] if flags else packed), cls(state, place, len(packed))

    # ---- reading

    @classmethod
    def read(
        cls, value: Any, place: str, size: int, flags: int, chain: Sequence[Difference], codec: Codec
    ) -> Tracker:
        """Walk a chain: the value at its end, and all that is known of it.

        Args:
            value: The whole value at its start. It is changed.
            place: Where it is stored.
            size: With how many bytes.
            flags: Of its entry.
            chain: The differences, in order.
            codec: Makes bytes.

        Returns:
            A tracker that goes on from the value; `hand_out()` gives the value itself.
        """
        state = make_state(value, codec.digest, 1, True)
        if flags & FOLLOWED:
            state.follow_all()
        tracker = cls(state, place, size)
        if not chain:
            return tracker
        at = tracker._last
        second = max([i for i, d in enumerate(chain) if d.level == 2], default=-1)
        first = max([i for i, d in enumerate(chain) if d.level], default=-1)
        for i, difference in enumerate(chain):
            op, weight = difference.op, 0
            replaced, before = op.replaced(), len(state.items)
            state.apply(op)  # type: ignore[arg-type]
            if replaced and before:
                moved = at.live * min(1.0, replaced / before)
                at.live -= moved
                at.dead += moved
            at.live += difference.size
            at.place = difference.place
            at.steps += 1
            at.size = len(state.items)
            if i > second:
                weight = op.weight()
                tracker._anchors[1].weight += weight
                tracker._anchors[1].entries += 1 if difference.level else 0
            if i > first:
                tracker._anchors[0].weight += weight
                tracker._anchors[0].entries += 1
            elif i in (first, second):
                for n in range(difference.level):
                    tracker._anchors[n] = _copy(at)
                state.restart(difference.level)
        return tracker

    def hand_out(self, flags: int) -> Any:
        """End reading: the value, which the tracker no longer touches."""
        value = self.state.items
        self.state.detach()
        if flags & HASHED:
            self.state.hash_all()
        return value


def _copy(anchor: _Anchor) -> _Anchor:
    return _Anchor(anchor.place, anchor.live, anchor.dead, anchor.steps, anchor.size)
