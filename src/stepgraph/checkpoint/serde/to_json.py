"""Stored values as JSON can show them, without any class: for tools that look into a store.

Rules: no class of a person is looked up; identifiers and dates become text, sets and arrays lists, objects dicts of
their fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepgraph.checkpoint.serde.families import DECODERS
from stepgraph.checkpoint.serde.policy import Policy
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.values.commands import Send


class _NoClasses(Policy):
    """Restores no class; says nothing about it."""

    def find(self, module: str, qualname: str, accepts: Any, kind: str) -> None:
        return None


_READER: Final = Reader(_NoClasses())


def json_hook(code: int, data: bytes) -> Any:
    """What an unpacker of msgpack calls for an extension, ours or LangGraph's, to get something that JSON can show."""
    return to_json(DECODERS[code](_READER, data))


def to_json(value: Any) -> Any:
    """The value in terms of JSON; a `Send` stays itself, as tools expect."""
    if value is None or isinstance(value, str | int | float | Send):
        return value
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in value]
    if isinstance(value, BaseException):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    for name in ("isoformat", "tolist", "to_dict"):
        convert = getattr(value, name, None)
        if callable(convert):
            return convert()
    fields = getattr(value, "record_fields", None)
    if fields:
        return {name: to_json(getattr(value, name)) for name in fields}
    try:
        return [to_json(item) for item in value]
    except TypeError:
        return str(value)
