"""Finds where in a value an object is, for messages such as `value['x'][3].y`.

Runs only after a failure, so it may be slow; it looks at what encoders look at and never fails itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final

MAX_STEPS: Final = 1_000_000


def locate(root: Any, culprit: Any) -> str:
    """The path from a value to an object in it; empty if they are the same, `" (somewhere inside)"` if not found."""
    waiting: deque[tuple[str, Any]] = deque([("", root)])
    entered: set[int] = set()
    keep = []
    steps = 0
    while waiting and steps < MAX_STEPS:
        steps += 1
        path, item = waiting.popleft()
        if item is culprit:
            return path
        if id(item) in entered:
            continue
        entered.add(id(item))
        keep.append(item)
        waiting.extend([(path + step, child) for step, child in _children(item)])
    return " (somewhere inside)"


def _children(item: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(item, str | bytes | bytearray | int | float | type) or item is None:
        return
    if isinstance(item, Mapping):
        for key, value in list(item.items()):
            yield f" key {key!r:.60}", key
            yield f"[{key!r:.60}]", value
    elif isinstance(item, tuple) and hasattr(item, "_fields"):
        yield from [(f".{name}", value) for name, value in zip(item._fields, item)]
    elif isinstance(item, list | tuple | deque):
        yield from [(f"[{position}]", value) for position, value in enumerate(item)]
    elif isinstance(item, set | frozenset):
        yield from [("{...}", value) for value in item]
    elif isinstance(item, BaseException):
        yield from [(f".args[{position}]", value) for position, value in enumerate(item.args)]
    else:
        yield from _attributes(item)


def _attributes(item: Any) -> Iterator[tuple[str, Any]]:
    for name, value in list(getattr(item, "__dict__", None) or {}.items()) if _has_dict(item) else ():
        yield f".{name}", value
    for holder in ("__pydantic_extra__", "__pydantic_private__"):
        part = getattr(item, holder, None) if hasattr(type(item), "__pydantic_fields__") else None
        if isinstance(part, dict):
            yield from [(f".{name}", value) for name, value in part.items()]
    for base in type(item).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if not name.startswith("__") and hasattr(item, name):
                yield f".{name}", getattr(item, name)


def _has_dict(item: Any) -> bool:
    return isinstance(getattr(item, "__dict__", None), dict)
