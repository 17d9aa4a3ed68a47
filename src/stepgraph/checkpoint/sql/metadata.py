"""Metadata of checkpoints in a row: JSON text that can be searched, and packed bytes for what JSON cannot say exactly.

Rules: pure. Keys and values of filters are parameters, never part of a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from json import JSONEncoder, loads
from math import isfinite
from typing import Any, NamedTuple

from stepgraph.checkpoint.growth.codec import Codec, unreadable
from stepgraph.checkpoint.growth.lanes import Lane, common_part

__all__ = ("StoredMetadata", "is_exact", "is_searchable", "pack_metadata", "step_in", "unpack_metadata")

_encode = JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_SCALARS = frozenset((str, int, bool, type(None)))
_MOST_LEVELS = 50
"""What is nested deeper is packed: readers of JSON differ in how deep they look."""


class StoredMetadata(NamedTuple):
    """Metadata as it stands in a row.

    Attributes:
        text: What JSON can say, as JSON.
        more: Everything else, packed.
    """

    text: str
    more: bytes | None


def is_exact(value: Any) -> bool:
    """Whether JSON text brings a value back as it is."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is float:
        return isfinite(value)
    if kind is list:
        return all(map(is_exact, value))
    if kind is dict:
        return all(type(key) is str and is_exact(item) for key, item in value.items())
    return False


def is_shallow(value: Any, levels: int = _MOST_LEVELS) -> bool:
    """Whether a value is not nested too deeply for JSON text."""
    inner = value.values() if type(value) is dict else value if type(value) is list else ()
    return levels > 0 and all(is_shallow(item, levels - 1) for item in inner)


def is_searchable(key: Any, value: Any) -> bool:
    """Whether every database finds a key with this value in JSON: plain text, truth values and not too large integers."""
    kind = type(value)
    if type(key) is not str or not key.isprintable():
        return False
    return (kind is str and value.isprintable()) or kind is bool or (kind is int and abs(value) < 1 << 53)


def pack_metadata(
    lane: Lane, metadata: Mapping[str, Any], codec: Codec, exact: Callable[[Any], bool] = is_exact
) -> StoredMetadata:
    """Metadata in the form for a row; the lane remembers the part that stays the same from step to step.

    Args:
        lane: Remembers.
        metadata: The metadata.
        codec: Packs what JSON cannot say.
        exact: Whether the database brings a key or a value back as it is from JSON.
    """
    source, step = metadata.get("source"), metadata.get("step")
    if type(source) is not str or not source.isidentifier() or not source.isascii() or type(step) is not int:
        return _pack(metadata, codec, exact)
    rest: StoredMetadata = common_part(lane, metadata, lambda part: _pack(part, codec, exact))
    tail = rest.text[1:] if len(rest.text) == 2 else "," + rest.text[1:]
    return StoredMetadata(f'{{"source":"{source}","step":{step}{tail}', rest.more)


def _pack(metadata: Mapping[str, Any], codec: Codec, exact: Callable[[Any], bool]) -> StoredMetadata:
    plain = {
        key: value
        for key, value in metadata.items()
        if type(key) is str and exact(key) and is_shallow(value) and exact(value)
    }
    if len(plain) == len(metadata):
        return StoredMetadata(_encode(metadata), None)
    more = {key: value for key, value in metadata.items() if key not in plain}
    return StoredMetadata(_encode(plain), codec.pack(more))


def unpack_metadata(
    stored: StoredMetadata, codec: Codec, key: tuple[str, str], checkpoint_id: str
) -> dict[str, Any]:
    """Metadata from the form for a row.

    Args:
        stored: The form.
        codec: Unpacks what JSON cannot say.
        key: Thread and namespace, for errors.
        checkpoint_id: The checkpoint, for errors.

    Raises:
        CorruptCheckpointError: It cannot be read.
    """
    try:
        result: dict[str, Any] = {**loads(stored.text)}
        if stored.more is not None:
            result |= {**codec.unpack(stored.more)}
    except (ValueError, TypeError, RecursionError) as error:
        raise unreadable(key, checkpoint_id, error, part="its metadata is") from error
    return result


def step_in(text: str) -> int | None:
    """The step that metadata tell, for a message: `None` where they do not, or cannot be read."""
    try:
        found = loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return found.get("step") if isinstance(found, dict) else None
