"""The slower way to pack plain containers, for what native packing refuses or does not tell apart.

It marks the parts that need a code of their own: dicts with keys that are not `str`, text with surrogates, `bytearray`
and `memoryview`, and what is nested deeper than native packing goes. Marks are packed later, in order, so numbers stay
right.

Rules: only exact plain types are looked into; every other object packs its own state and comes here by itself if needed.
"""

from __future__ import annotations

from gc import get_referents
from typing import Any, Final

from ormsgpack import Ext

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import Unstorable
from stepgraph.checkpoint.serde.families import ENCODERS
from stepgraph.checkpoint.serde.writer import CONTAINS_ITSELF, Writer

_CONTAINERS: Final[frozenset[type]] = frozenset((list, dict))
_BYTES: Final[frozenset[type]] = frozenset((bytes, bytearray, memoryview))

DEPTH: Final = 200
"""Native packing stops at 255 levels."""


class SurrogateText:
    """Marks text that UTF-8 cannot hold."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Pairs:
    """Marks a dict whose keys are not all `str`."""

    __slots__ = ("mapping",)

    def __init__(self, mapping: dict[Any, Any]) -> None:
        self.mapping = mapping


class Nested:
    """Marks a container that is packed by itself, because of its depth."""

    __slots__ = ("container",)

    def __init__(self, container: Any) -> None:
        self.container = container


class ChangeableBytes:
    """Marks a `bytearray` or `memoryview`."""

    __slots__ = ("data",)

    def __init__(self, data: bytearray | memoryview) -> None:
        self.data = data


def kinds_of_bytes(value: Any) -> set[type]:
    """Which of `bytes`, `bytearray` and `memoryview` there are in a plain value that was packed natively."""
    found: set[type] = set()
    level = [value]
    while True:
        kinds = set(map(type, level))
        found |= kinds & _BYTES
        if list not in kinds and dict not in kinds:
            return found
        if not kinds <= _CONTAINERS:
            level = [item for item in level if type(item) in _CONTAINERS]
        level = get_referents(*level)


def rewrite(value: Any) -> Any:
    """A copy of a plain value in which the parts that need it are marked.

    Raises:
        Unstorable: A container contains itself.
    """
    _refuse_cycles(value)
    return _rewrite(value, 0)


def _rewrite(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return value if _is_clean(value) else SurrogateText(value)
    if kind is list:
        if depth >= DEPTH:
            return Nested(value)
        return [_rewrite(item, depth + 1) for item in value]
    if kind is dict:
        if depth >= DEPTH:
            return Nested(value)
        if all(type(key) is str and _is_clean(key) for key in value):
            return {key: _rewrite(item, depth + 1) for key, item in value.items()}
        return Pairs(value)
    if kind is bytearray or kind is memoryview:
        return ChangeableBytes(value)
    return value


def _is_clean(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_cycles(root: Any) -> None:
    """Walk the plain containers depth first; one that is met inside itself is refused."""
    open_containers: set[int] = set()
    done: set[int] = set()
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        item, leave = stack.pop()
        kind = type(item)
        if kind is not list and kind is not dict:
            continue
        identity = id(item)
        if leave:
            open_containers.discard(identity)
            done.add(identity)
            continue
        if identity in open_containers:
            raise Unstorable(item, CONTAINS_ITSELF)
        if identity in done:
            continue
        open_containers.add(identity)
        stack.append((item, True))
        stack.extend([(child, False) for child in (item.values() if kind is dict else item)])


def _encode_text(writer: Writer, mark: SurrogateText) -> Ext:
    return Ext(codes.TEXT, mark.text.encode("utf-8", "surrogatepass"))


def _encode_pairs(writer: Writer, mark: Pairs) -> Ext:
    return Ext(codes.PAIRS, writer.pack([list(mark.mapping), list(mark.mapping.values())]))


def _encode_nested(writer: Writer, mark: Nested) -> Ext:
    return Ext(codes.NESTED, writer.pack(mark.container))


def _encode_changeable_bytes(writer: Writer, mark: ChangeableBytes) -> Ext:
    data = mark.data
    if type(data) is bytearray:
        return Ext(codes.BYTEARRAY, bytes(data))
    assert isinstance(data, memoryview)
    return Ext(codes.MEMORYVIEW, writer.pack([data.format, list(data.shape or ()), data.tobytes()]))


ENCODERS[SurrogateText] = _encode_text
ENCODERS[Pairs] = _encode_pairs
ENCODERS[Nested] = _encode_nested
ENCODERS[ChangeableBytes] = _encode_changeable_bytes
