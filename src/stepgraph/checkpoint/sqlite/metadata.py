"""Metadata of checkpoints in a row: JSON text that can be searched, and packed bytes for what JSON cannot say exactly.

Rules: pure. Keys and values of filters are parameters, never part of a statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from json import JSONEncoder, loads
from math import isfinite
from typing import Any, NamedTuple

from stepgraph.checkpoint.growth.codec import Codec
from stepgraph.checkpoint.growth.lanes import Lane, common_part

__all__ = ("StoredMetadata", "filter_condition", "pack_metadata", "unpack_metadata")

_encode = JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_SCALARS = frozenset((str, int, bool, type(None)))


class StoredMetadata(NamedTuple):
    """Metadata as it stands in a row.

    Attributes:
        text: What JSON can say, as JSON.
        more: Everything else, packed.
    """

    text: str
    more: bytes | None


def pack_metadata(lane: Lane, metadata: Mapping[str, Any], codec: Codec) -> StoredMetadata:
    """Metadata in the form for a row; the lane remembers the part that stays the same from step to step."""
    source, step = metadata.get("source"), metadata.get("step")
    if type(source) is not str or not source.isidentifier() or not source.isascii() or type(step) is not int:
        return _pack(metadata, codec)
    rest: StoredMetadata = common_part(lane, metadata, lambda part: _pack(part, codec))
    tail = rest.text[1:] if len(rest.text) == 2 else "," + rest.text[1:]
    return StoredMetadata(f'{{"source":"{source}","step":{step}{tail}', rest.more)


def _pack(metadata: Mapping[str, Any], codec: Codec) -> StoredMetadata:
    for key, value in metadata.items():
        if not (type(key) is str and _exact(value)):
            break
    else:
        return StoredMetadata(_encode(metadata), None)
    plain = {key: value for key, value in metadata.items() if type(key) is str and _exact(value)}
    more = {key: value for key, value in metadata.items() if key not in plain}
    return StoredMetadata(_encode(plain), codec.pack(more))


def unpack_metadata(stored: StoredMetadata, codec: Codec) -> dict[str, Any]:
    """Metadata from the form for a row."""
    result: dict[str, Any] = loads(stored.text)
    if stored.more is not None:
        result.update(codec.unpack(stored.more))
    return result


def _exact(value: Any) -> bool:
    """Whether JSON brings the value back as it is."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is float:
        return isfinite(value)
    if kind is list:
        return all(map(_exact, value))
    if kind is dict:
        return all(type(key) is str and _exact(item) for key, item in value.items())
    return False


def filter_condition(filter: Mapping[str, Any] | None) -> tuple[str, list[Any]]:
    """SQL that lets through every row that a filter may let through, and its parameters.

    What it lets through must be looked at again: it knows only text, numbers and truth values.
    """
    sql, params = "", []
    for key, value in (filter or {}).items():
        kind = type(value)
        if type(key) is not str or not key.isprintable():
            continue
        if (kind is str and value.isprintable()) or kind is bool or (kind is int and abs(value) < 1 << 53):
            sql += (
                " AND (metadata_more IS NOT NULL OR EXISTS"
                " (SELECT 1 FROM json_each(metadata) AS item WHERE item.key = ? AND item.value = ?))"
            )
            params += [key, value]
    return sql, params
