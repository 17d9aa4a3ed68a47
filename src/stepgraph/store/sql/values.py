"""Values as JSON text in a table, and rows as items.

Rules of this file: pure functions. What JSON cannot hold is refused at the write, with the place inside the value: a value
never comes back as something else without a word, apart from what JSON tools in the field write as text (times, UUIDs,
enums by their value) or as an object (dataclasses), and tuples, which come back as lists.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any

from stepgraph.store.base.plan import Address


def dump_value(value: Mapping[str, Any], address: Address) -> str:
    """The JSON text of a value.

    Args:
        value: The fields to store.
        address: Where, for error messages.

    Raises:
        TypeError: If the value holds something that JSON has no form for, or a key that is not text.
        ValueError: If it holds a number that JSON has no form for, or contains itself.
    """
    try:
        _check(value, "value")
        return dump_json(dict(value))
    except (TypeError, ValueError, RecursionError) as error:
        kind = ValueError if isinstance(error, (ValueError, RecursionError)) else TypeError
        raise kind(
            f"Cannot store the item with key {address[1]!r} in namespace {address[0]}: {error}"
            " Store plain data: dictionaries with text keys, lists, texts, numbers, booleans and None."
        ) from error


def dump_json(value: Any) -> str:
    """Plain data as compact JSON text.

    >>> dump_json({"day": date(2024, 5, 1), "n": 2**64})
    '{"day":"2024-05-01","n":18446744073709551616}'
    """
    text = json.dumps(value, default=_as_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if text.isascii() or _is_encodable(text):
        return text
    return json.dumps(value, default=_as_plain, allow_nan=False, separators=(",", ":"))


def _is_encodable(text: str) -> bool:
    """Whether the text has a UTF-8 form: a half of a surrogate pair has none, and is written as an escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check(value: Any, path: str) -> None:
    """Refuse what the JSON encoder would change silently or report without its place."""
    if isinstance(value, Mapping):
        for key, field in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{path} has the key {key!r} of type {type(key).__name__}, not text.")
            if field.__class__ is not str:
                _check(field, f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for position, element in enumerate(value):
            if element.__class__ is not str:
                _check(element, f"{path}[{position}]")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{path} is {value}, a number that JSON has no form for.")
    elif not (value is None or isinstance(value, (str, int))):
        try:
            plain = _as_plain(value)
        except TypeError as error:
            raise TypeError(f"{path} is a {type(value).__name__}, which JSON has no form for.") from error
        _check(plain, path)


def _as_plain(value: Any) -> Any:
    """The plain form of a value that the JSON encoder does not know."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is not None:
        return {name: getattr(value, name) for name in fields if hasattr(value, name)}
    if hasattr(type(value), "__members__"):
        return value.value
    if type(value).__name__ == "UUID":
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def load_json(text: str | bytes) -> Any:
    """Plain data from JSON text."""
    return json.loads(text)


def dump_time(moment: datetime) -> str:
    """A time as text that sorts like the times do.

    >>> dump_time(datetime(2024, 5, 1, 12, tzinfo=UTC))
    '2024-05-01 12:00:00.000000+00:00'
    """
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(sep=" ", timespec="microseconds")


def load_time(stored: str | datetime) -> datetime:
    """A time from a column; without a zone it is meant as UTC."""
    moment = datetime.fromisoformat(stored) if isinstance(stored, str) else stored
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
