"""Finds where in a value an object is, for messages such as `value['x'][3].y`.

Runs only after a failure, so it may be slow; it looks at what encoders look at and never fails itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final

from stepgraph.checkpoint.serde.classes import is_dataclass, is_model
from stepgraph.checkpoint.serde.records import slots_of

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
        try:
            waiting.extend([(path + step, child) for step, child in _children(item)])
        except (
            Exception
        ):  # user code of the value, such as a property, may fail: the search goes on without it
            continue
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
    """What is inside an object whose state is stored: of other objects nothing is looked at."""
    cls = type(item)
    if is_model(cls):
        for part in (item.__dict__, item.__pydantic_extra__, item.__pydantic_private__):
            yield from [(f".{name}", value) for name, value in (part or {}).items()]
    elif is_dataclass(cls) or cls.__module__.startswith("stepgraph."):
        for name in slots_of(cls):
            if hasattr(item, name):
                yield f".{name.removeprefix('_' + cls.__name__)}", getattr(item, name)
        yield from [(f".{name}", value) for name, value in getattr(item, "__dict__", {}).items()]
