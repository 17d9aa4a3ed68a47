"""Pending writes in bytes: what tasks wrote, as references to the values that fold it where it is stored there already.

The writes of a step's tasks stand in the row of the checkpoint that folds them. An element that a task added to a list
is stored in that row as part of the list's difference, so the write only says which elements they are. Forms:

- `bytes`: the packed value; `None`, numbers, truth values and text: the value itself;
- `[10]`: the value that the row's checkpoint holds in the write's channel;
- `[11, start, stop]`: a list of elements of what the row stores for the write's channel;
- `[12, place]`: one element of it;
- `[13]`, `[13, places]`: a dict of the keys that the row sets in the write's channel: all, or those at these places;
- `[14, keys]`: a dict of these keys (packed) of the value that the row's checkpoint holds in the write's channel;
- a difference as in `tracker`: against a stored value of the channel (writes stored before their step is).

Tasks are stored as one of

- `[id, path, writes]`: writes are `[[channel, form], ...]`;
- `[step, node]`, `[step, node, writes]`, `[step, node, writes, number of the Send]`: id and path follow from where the
  task ran; without writes, it wrote the very values that the row holds, in their order;
- `[step, node, writes, number of the Send or -1, [start, count]]`: behind these writes, so many `Send`s that the row
  stores in a row;
- `[step, node, tail, number of the first Send, columns, count]`: so many tasks, that wrote `tail` behind what each of
  the columns says: `[channel, forms]`, or `[channel, start, sizes]` for lists of elements that the row stores for the
  channel in a row (one size, if all have the same).

Rules: pure; identity decides, never `==`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from operator import is_
from typing import Any, Final

from ormsgpack import packb, unpackb

from stepgraph.checkpoint.changes import StepChanges
from stepgraph.checkpoint.growth.codec import Codec, is_literal, not_storable
from stepgraph.checkpoint.growth.rows import Row
from stepgraph.checkpoint.placed import FanWrites, Placed, PlacedWrites, expanded
from stepgraph.checkpoint.serde.errors import NotStorableError
from stepgraph.values.missing import MISSING
from stepgraph.values.names import TASKS

__all__ = ("PART", "VALUE", "encode_task_writes", "read_task_writes", "resolve")

VALUE: Final = 10
ELEMENTS: Final = 11
ELEMENT: Final = 12
KEYS: Final = 13
PART: Final = 14

_CONTAINERS: Final = frozenset((list, dict))

_MOST_TASKS: Final = 1 << 20
"""A superstep has no more."""


class _Source:
    """What a row stores for one channel, and how far writes were found in it."""

    __slots__ = ("at", "places", "stored")

    def __init__(self, stored: Any) -> None:
        self.stored = stored
        self.at: int | None = None
        self.places: dict[int, int] | None = None

    def find(self, value: Any) -> int | None:
        """Where an object is among the elements."""
        if self.places is None:
            items = self.stored if type(self.stored) is list else self.stored.values()
            self.places = {id(x): i for i, x in enumerate(items)}
        return self.places.get(id(value))


def encode_task_writes(changes: StepChanges, stored: Mapping[str, Any], codec: Codec) -> bytes:
    """The writes of a step's tasks.

    Args:
        changes: What the step changed.
        stored: Channel to the elements (a list) or the keys and values (a dict) that its row stores.
        codec: Makes bytes.
    """
    sources: dict[str, _Source] = {}
    values = changes.values
    tasks: list[Any] = [
        (task_id, path, _encode_pairs(pairs, values, stored, codec, sources))
        for task_id, path, pairs in changes.writes
    ]
    for placed in changes.placed:
        if isinstance(placed, FanWrites):
            tasks.append(_encode_fan(placed, values, stored, codec, sources))
        elif placed.pairs is None:
            tasks.append((placed.step, placed.name))
        else:
            tasks.append(_encode_placed(placed, values, stored, codec, sources))
    return packb(tasks)


def _encode_placed(
    placed: PlacedWrites,
    values: Mapping[str, Any],
    stored: Mapping[str, Any],
    codec: Codec,
    sources: dict[str, _Source],
) -> tuple[Any, ...]:
    pairs, index = placed.pairs or (), placed.index
    place = _refer_to_run([placed.sends], stored.get(TASKS)) if placed.sends else None
    if place is None:
        pairs = placed.all_pairs()
    head = placed.step, placed.name, _encode_pairs(pairs, values, stored, codec, sources)
    if place:
        return *head, index, place
    return (*head, index) if index >= 0 else head


def _encode_fan(
    fan: FanWrites,
    values: Mapping[str, Any],
    stored: Mapping[str, Any],
    codec: Codec,
    sources: dict[str, _Source],
) -> tuple[Any, ...]:
    columns: list[tuple[Any, ...]] = []
    for channel, column in fan.columns:
        run = _refer_to_run(column, stored.get(channel))
        if run is None:
            pairs = [(channel, value) for value in column]
            run = ([form for _, form in _encode_pairs(pairs, values, stored, codec, sources)],)
        columns.append((channel, *run))
    tail = _encode_pairs(fan.tail, values, stored, codec, sources)
    return fan.step, fan.name, tail, fan.first, columns, len(fan)


def _refer_to_run(column: list[Any], parts: Any) -> tuple[Any, ...] | None:
    """Where lists of elements stand one after the other at the end of what a row stores; `None` if they do not."""
    if type(parts) is not list or set(map(type, column)) != {list}:
        return None
    flat = list(chain.from_iterable(column))
    start = len(parts) - len(flat)
    if start < 0 or not all(map(is_, flat, parts[start:] if start else parts)):
        return None
    sizes = list(map(len, column))
    return start, sizes[0] if len(set(sizes)) == 1 else sizes


def _encode_pairs(
    pairs: Sequence[tuple[str, Any]],
    values: Mapping[str, Any],
    stored: Mapping[str, Any],
    codec: Codec,
    sources: dict[str, _Source],
) -> list[tuple[str, Any]]:
    literals = codec.keeps_literals
    encoded = []
    for channel, value in pairs:
        form = value
        if value is not None and not (literals and is_literal(value)):
            form = _refer(channel, value, values, stored, sources) if channel in values else None
            if form is None and channel in values and type(value) in _CONTAINERS:
                form = _refer_to_part(value, values[channel], codec)
            if form is None:
                try:
                    form = codec.pack(value)
                except NotStorableError as error:
                    raise not_storable(error, channel) from error.__cause__
        encoded.append((channel, form))
    return encoded


def _refer(
    channel: str,
    value: Any,
    values: Mapping[str, Any],
    stored: Mapping[str, Any],
    sources: dict[str, _Source],
) -> list[Any] | None:
    """A reference to where the value is stored; `None` if it is not."""
    if value is values[channel]:
        return [VALUE]
    parts = stored.get(channel)
    if parts is None or not parts:
        return None
    source = sources.get(channel)
    if source is None:
        source = sources[channel] = _Source(parts)
    if type(parts) is dict:
        return _refer_to_keys(source, value)
    if type(value) is not list:
        place = source.find(value)
        return None if place is None else [ELEMENT, place]
    if not value:
        return None
    at = source.at if source.at is not None else len(parts) - len(value)
    stop = at + len(value)
    if at < 0 or stop > len(parts) or not all(map(is_, value, parts[at:stop])):
        found = source.find(value[0])
        if found is None:
            return None
        at, stop = found, found + len(value)
        if stop > len(parts) or not all(map(is_, value, parts[at:stop])):
            return None
    source.at = stop if stop < len(parts) else None
    return [ELEMENTS, at, stop]


def _refer_to_keys(source: _Source, value: Any) -> list[Any] | None:
    parts = source.stored
    if type(value) is not dict or not value:
        return None
    if (
        len(value) == len(parts)
        and all(map(is_, value.values(), parts.values()))
        and list(value) == list(parts)
    ):
        return [KEYS]
    order = {key: i for i, key in enumerate(parts)}
    places = []
    for key, item in value.items():
        place = order.get(key)
        if place is None or parts[key] is not item:
            return None
        places.append(place)
    return [KEYS, places]


def _refer_to_part(value: Any, whole: Any, codec: Codec) -> list[Any] | None:
    """A reference to keys of the channel's value, or to all of it, where the very objects are in it."""
    if not value or type(value) is not type(whole):
        return None
    if type(value) is list:
        return [VALUE] if len(value) == len(whole) and all(map(is_, value, whole)) else None
    for key, item in value.items():
        if whole.get(key, MISSING) is not item:
            return None
    return [PART, codec.pack(list(value))]


def resolve(form: list[Any], stored: Any, value_of: Callable[[], Any], codec: Codec) -> Any:
    """The value that a reference stands for.

    Args:
        form: The reference.
        stored: What the row stores for the channel, unpacked; not needed where the form refers to the channel's value.
        value_of: Gives the value that the row's checkpoint holds in the channel.
        codec: Makes values of bytes.

    Raises:
        ValueError: It is no reference, or refers to nothing.
    """
    kind = form[0]
    if kind == VALUE:
        return value_of()
    if kind == PART:
        whole = value_of()
        return {key: whole[key] for key in codec.unpack(form[1])}
    if kind == ELEMENTS and type(stored) is list and form[2] <= len(stored):
        return stored[form[1] : form[2]]
    if kind == ELEMENT and type(stored) is list:
        return stored[form[1]]
    if kind == ELEMENT and type(stored) is dict:
        return list(stored.values())[form[1]]
    if kind == KEYS and type(stored) is dict:
        if len(form) == 1:
            return dict(stored)
        items = list(stored.items())
        return dict([items[i] for i in form[1]])
    raise ValueError(f"a pending write refers to nothing: {form!r:.60}")


def read_task_writes(row: Row, namespace: str) -> list[tuple[str, str, list[tuple[str, Any]]]]:
    """The tasks whose writes a row stores: id, path, and channel and form of each write.

    Args:
        row: The row.
        namespace: Its namespace, which ids of tasks depend on.
    """
    tasks: list[tuple[str, str, list[tuple[str, Any]]]] = []
    for entry in unpackb(b"\x90" if row.writes is None else row.writes):
        if type(entry[0]) is str:
            task_id, path, writes = entry
            tasks.append((task_id, path, list(map(tuple, writes))))
            continue
        values = _value_forms(row) if len(entry) == 2 else ()
        for task_id, path, pairs in expanded(_placed(entry), row.parent or "", namespace, values):
            tasks.append((task_id, path, list(pairs)))
    return tasks


def _placed(entry: list[Any]) -> Placed:
    step, name, *rest = entry
    if len(rest) < 4:
        pairs = [(channel, form) for channel, form in rest[0]] if rest else None
        sends: list[Any] = []
        if len(rest) == 3:
            start, count = rest[2]
            sends = [[ELEMENT, i] for i in range(start, start + _believed(count))]
        return PlacedWrites(step, name, pairs, rest[1] if len(rest) > 1 else -1, sends)
    tail, first, columns, count = rest
    return FanWrites(
        step,
        name,
        first,
        [(column[0], list(_column_forms(column[1:], _believed(count)))) for column in columns],
        [(channel, form) for channel, form in tail],
    )


def _believed(count: int) -> int:
    """A number of tasks, if it can be one: damaged bytes must not take all memory."""
    if not 0 <= count <= _MOST_TASKS:
        raise ValueError(f"it counts {count!r} tasks")
    return count


def _column_forms(column: list[Any], count: int) -> Iterator[Any]:
    """The form of what each task wrote to a channel."""
    if len(column) == 1:
        yield from column[0]
        return
    at, sizes = column
    for size in [sizes] * count if type(sizes) is int else sizes:
        yield [ELEMENTS, at, at + size]
        at += size


def _value_forms(row: Row) -> list[tuple[str, Any]]:
    """The values that a row holds, as forms of writes."""
    entries = unpackb(b"\x80" if row.values is None else row.values)
    return [(c, [VALUE] if type(entry) in (bytes, list) else entry) for c, entry in entries.items()]
