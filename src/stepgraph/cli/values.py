"""Values of any kind in terms of JSON, for programs; and as one short line, for people.

Rules: takes whatever a saver can store; what has no form in JSON becomes text. Control characters never reach a terminal
as they are: what a store holds must not be able to steer it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, Final

_PLAIN: Final = (str, bool, int, type(None))
_CONTROLS: Final = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
}
_CONTROLS.update({0x2028: "\\u2028", 0x2029: "\\u2029", 0x202A: "\\u202a", 0x202B: "\\u202b"})
_CONTROLS.update({0x202D: "\\u202d", 0x202E: "\\u202e", 0x2066: "\\u2066", 0x2067: "\\u2067"})


def jsonable(value: Any) -> Any:
    """The value as dicts, lists, texts, numbers, truth values and None.

    Example:
        >>> jsonable({"when": {1, 2}, 3: b"x", "x": float("inf")})
        {'when': [1, 2], '3': 'eA==', 'x': 'inf'}
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else _key(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return jsonable(value._asdict())
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    if isinstance(value, bytes | bytearray):
        from base64 import b64encode

        return b64encode(value).decode()
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    return _object(value)


def _key(key: Any) -> str:
    text = jsonable(key)
    return text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)


def _object(value: Any) -> Any:
    """An object as a dict of its fields, a list of its items, or text."""
    fields = _fields(value)
    if fields is not None:
        return {name: jsonable(getattr(value, name, None)) for name in fields}
    for name in ("isoformat", "tolist", "to_dict"):
        convert = getattr(value, name, None)
        if callable(convert):
            return jsonable(convert())
    if hasattr(value, "__len__") and hasattr(value, "__iter__"):
        return [jsonable(item) for item in value]
    return str(value)


def _fields(value: Any) -> Iterable[str] | None:
    cls = type(value)
    for name in ("record_fields", "__dataclass_fields__", "model_fields"):
        fields = getattr(cls, name, None)
        if fields:
            return tuple(fields)
    return None


def dumps(value: Any, *, indent: int | None = None) -> str:
    """The value as JSON text.

    Example:
        >>> print(dumps({"name": "Zoë", "tags": ("a",)}))
        {"name": "Zoë", "tags": ["a"]}
    """
    return json.dumps(jsonable(value), ensure_ascii=False, indent=indent)


def clean(text: str) -> str:
    """A text that cannot steer a terminal: control characters and reversals of direction are spelled out.

    Example:
        >>> clean("a\\x1b[2Jb")
        'a\\\\x1b[2Jb'
    """
    return text.translate(_CONTROLS)


def brief(value: Any, width: int = 72) -> str:
    """One line that shows the value, cut where it is longer than `width`.

    Example:
        >>> brief({"log": ["a" * 50]}, 20)
        '{"log": ["aaaaaaaaa…'
    """
    text = clean(value if isinstance(value, str) else dumps(value)).replace("\n", " ")
    return text if len(text) <= width else text[: width - 1] + "…"
