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

Each task is stored as `[id, path, [[channel, form], ...]]`; the only task of its step as `[step, node, [[channel, form],
...]]`, since its id and path follow from where it ran; or as `[step, node]`, if it wrote the very values that the row
holds, in their order.

Rules: pure; identity decides, never `==`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, Final

from ormsgpack import packb, unpackb

from stepgraph.checkpoint.changes import LoneWrites, TaskWrites
from stepgraph.checkpoint.growth.codec import Codec, is_literal, not_storable
from stepgraph.checkpoint.growth.rows import Row
from stepgraph.checkpoint.serde.errors import NotStorableError
from stepgraph.values.missing import MISSING
from stepgraph.values.names import NO_WRITES
from stepgraph.values.task_ids import pull_path, task_id

__all__ = ("PART", "VALUE", "encode_lone_writes", "encode_task_writes", "read_task_writes", "resolve")

VALUE: Final = 10
ELEMENTS: Final = 11
ELEMENT: Final = 12
KEYS: Final = 13
PART: Final = 14

_CONTAINERS: Final = frozenset((list, dict))


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


def encode_task_writes(
    writes: Sequence[TaskWrites], values: Mapping[str, Any], stored: Mapping[str, Any], codec: Codec
) -> bytes:
    """The writes of a step's tasks.

    Args:
        writes: Of each task.
        values: Channel to value, of the checkpoint that folds them.
        stored: Channel to the elements (a list) or the keys and values (a dict) that its row stores.
        codec: Makes bytes.
    """
    sources: dict[str, _Source] = {}
    return packb(
        [
            (task_id, path, _encode_pairs(pairs, values, stored, codec, sources))
            for task_id, path, pairs in writes
        ]
    )


def encode_lone_writes(
    lone: LoneWrites, values: Mapping[str, Any], stored: Mapping[str, Any], codec: Codec
) -> bytes:
    """The writes of a step's only task. Arguments as in `encode_task_writes`."""
    if lone.pairs is None:
        return packb(((lone.step, lone.name),))
    return packb(((lone.step, lone.name, _encode_pairs(lone.pairs, values, stored, codec, {})),))


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
    tasks = []
    for first, second, *rest in unpackb(row.writes or b"\x90"):
        if type(first) is str:
            pairs = [(channel, form) for channel, form in rest[0]]
            tasks.append((first, second, pairs))
            continue
        path = pull_path(second)
        if rest:
            pairs = [(channel, form) for channel, form in rest[0]]
        else:
            entries = unpackb(row.values or b"\x80")
            pairs = [(c, [VALUE] if type(entry) in (bytes, list) else entry) for c, entry in entries.items()]
        own = task_id(row.parent or "", namespace, first, second, path)
        tasks.append((own, path, pairs or [(NO_WRITES, None)]))
    return tasks
