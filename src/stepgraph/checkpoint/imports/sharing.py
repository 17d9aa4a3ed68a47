"""Values of one checkpoint after the other, with the very same objects where nothing changed.

Our savers store what is new by comparing objects by identity. Values that were read one checkpoint at a time share none,
so what is equal to the byte is replaced by the object that stood for it before.

Rules: pure. Bytes decide, never `==`, which takes `1` for `True`; an object is used once in a value, so that values hold no
object twice that did not before.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from ormsgpack import OPT_NON_STR_KEYS, packb

from stepgraph.checkpoint.imports.values import Stored

_CONTAINERS: Final = frozenset((list, dict, Stored))


class Sharing:
    """What the channels of one thread held last."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], tuple[Any, list[int]]] = {}

    def of(self, namespace: str, channel: str, value: Any) -> Any:
        """The value, with objects of the channel's last value where these are the same.

        Args:
            namespace: Of the checkpoint.
            channel: The channel.
            value: What it holds in the next checkpoint.
        """
        kind = type(value)
        if kind is not list and kind is not dict:
            return value
        key = (namespace, channel)
        contents = [_content(item) for item in (value if kind is list else value.values())]
        held = self._held.get(key)
        if held is not None and type(held[0]) is kind:
            value = _shared(value, contents, held[0], held[1])
        self._held[key] = value, contents
        return value


def _content(item: Any) -> int:
    """What tells the content of an object; nothing for text and numbers, which have no identity that matters."""
    if type(item) not in _CONTAINERS:
        return 0
    return hash(packb(item, default=_plain, option=OPT_NON_STR_KEYS))


def _plain(item: Any) -> Any:
    if isinstance(item, Stored):
        return [item.code, item.data]
    return [type(item).__name__, bytes(item)]


def _shared(value: Any, contents: list[int], before: Any, held: list[int]) -> Any:
    if type(value) is dict:
        known = dict(zip(before, zip(before.values(), held)))
        return {
            key: known[key][0] if content and key in known and known[key][1] == content else item
            for (key, item), content in zip(value.items(), contents)
        }
    if contents[: len(held)] == held:
        return [*_text_or(value, before, contents), *value[len(held) :]]
    left: dict[int, deque[Any]] = {}
    for item, content in zip(before, held):
        if content:
            left.setdefault(content, deque()).append(item)
    return [left[content].popleft() if left.get(content) else item for item, content in zip(value, contents)]


def _text_or(value: list[Any], before: list[Any], contents: list[int]) -> list[Any]:
    """The beginning of a list: objects from before, text and numbers as they are now."""
    return [old if content else now for now, old, content in zip(value, before, contents)]
