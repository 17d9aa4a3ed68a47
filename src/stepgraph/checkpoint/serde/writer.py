"""Turns one value into one document.

Theory: msgpack does the plain values in native code and calls `Writer.default` for everything else. The encoder of the
type packs the state of the object with the same writer and returns an extension. The writer numbers the objects that
it enters, so one that occurs again is stored as a reference, and one that contains itself is noticed. Native packing
gives up on what it cannot do exactly (keys that are not `str`, text with surrogates, deep nesting) and does not tell
`bytearray` from `bytes`: such a level is rewritten by `careful` and packed again.

Rules: knows no type but the plain ones; keeps nothing after its document. Encoders must pack the parts of a value in
the order in which a reader meets them, since numbers are given in that order; and they give numbers only to objects
that the value itself holds, since the identity of one that lives for a moment may be that of another later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ormsgpack import (
    OPT_PASSTHROUGH_BIG_INT,
    OPT_PASSTHROUGH_DATACLASS,
    OPT_PASSTHROUGH_DATETIME,
    OPT_PASSTHROUGH_ENUM,
    OPT_PASSTHROUGH_SUBCLASS,
    OPT_PASSTHROUGH_TUPLE,
    OPT_PASSTHROUGH_UUID,
    Ext,
    packb,
)

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import Unstorable
from stepgraph.checkpoint.serde.families import ENCODERS, find_encoder, folder_of

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.policy import Policy

OPTIONS: Final = (
    OPT_PASSTHROUGH_BIG_INT
    | OPT_PASSTHROUGH_DATACLASS
    | OPT_PASSTHROUGH_DATETIME
    | OPT_PASSTHROUGH_ENUM
    | OPT_PASSTHROUGH_SUBCLASS
    | OPT_PASSTHROUGH_TUPLE
    | OPT_PASSTHROUGH_UUID
)

INT_RANGE: Final = 1 << 63
"""Native packing takes whole numbers closer to 0 than this."""
MANY: Final = 8
"""Lists longer than this are looked through for objects that repeat."""
LARGE: Final = 64
"""Text and bytes longer than this are worth a reference."""

FEW: Final = 32
"""Containers of so many parts, of which the first has more, are packed part by part."""

OBJECT: Final = codes.OBJECT
BIN_8: Final = 0xC4
BIN_16: Final = 0xC5
BIN_32: Final = 0xC6

IN_PROGRESS: Final = -1
CONTAINS_ITSELF: Final = "it contains itself. Store a tree: refer to the outer object by a key or an id."

_ONE_BYTE: Final = [bytes((number,)) for number in range(255)]
_SMALL_KINDS: Final = frozenset((int, float, bool, type(None)))


def number_bytes(number: int) -> bytes:
    """A small number in one byte, others in five."""
    return _ONE_BYTE[number] if number < 255 else b"\xff" + number.to_bytes(4, "big")


def holds_large(value: list[Any] | dict[Any, Any]) -> bool:
    """Whether a short container begins with a large one, and its keys, if it has any, are plain text."""
    first = next(iter(value if isinstance(value, list) else value.values()), None)
    kind = type(first)
    if (kind is not list and kind is not dict) or len(first) <= FEW:  # type: ignore[arg-type]
        return False
    return isinstance(value, list) or all(type(key) is str and key.isascii() for key in value)


def _head(short: int, long: int, size: int) -> bytes:
    """How a list or dict of `size` parts begins."""
    return _ONE_BYTE[short | size] if size < 16 else bytes((long, size >> 8, size & 255))


class Head:
    """The description of a class (and a shape of its state), packed once."""

    __slots__ = ("cls", "data")

    def __init__(self, cls: type, *parts: Any) -> None:
        self.cls = cls
        self.data = packb(list(parts))


class Numbered:
    """Marks a plain value that may occur again: `original` gives the identity, `content` is what is packed."""

    __slots__ = ("content", "original")

    def __init__(self, original: Any, content: Any) -> None:
        self.original = original
        self.content = content


class Repeats:
    """Marks a list in which objects repeat: the distinct ones, and which of them stands at each position."""

    __slots__ = ("distinct", "positions")

    def __init__(self, distinct: list[Any], positions: list[int]) -> None:
        self.distinct = distinct
        self.positions = positions


class KnownData:
    """Bytes that are known to hold no bytes objects: the newest ones, within a bound.

    What native packing makes of a value tells its structure: if the same bytes come again, no part of what they were made
    from is a `bytes`, `bytearray` or `memoryview` either.
    """

    __slots__ = ("_known", "_room", "bound", "largest")

    def __init__(self, bound: int = 1 << 20, largest: int = 1 << 16) -> None:
        self.bound = self._room = bound
        self.largest = largest
        self._known: set[bytes] = set()

    def __contains__(self, data: bytes) -> bool:
        return len(data) <= self.largest and data in self._known

    def add(self, data: bytes) -> None:
        """Remember data, if it is worth it."""
        size = len(data)
        if WORTH_KNOWING < size <= self.largest:
            self._room -= size
            if self._room < 0:
                self._known, self._room = set(), self.bound - size
            self._known.add(data)


Packed: TypeAlias = dict[int, tuple[Any, bytes]]
"""The id of a part to the part itself and its bytes."""

WORTH_KNOWING: Final = 1024
WITHOUT_BYTES: Final = KnownData()


class Writer:
    """Packs one value; see the module.

    Attributes:
        policy: Which classes may come back, for warnings at the time of writing.
        heads: The heads in use and their numbers.
        seen: From the identity of an entered object to its number, or `IN_PROGRESS`.
        shares: Whether a reference was written.
        failure: What an encoder raised; native code loses it.
        packed: Large plain parts that were packed already, with their bytes, by identity; for as long as no part changes.
    """

    __slots__ = ("failure", "heads", "packed", "policy", "seen", "shares")

    def __init__(self, policy: Policy, packed: Packed | None = None) -> None:
        self.policy = policy
        self.packed = packed
        self.heads: dict[Head, int] = {}
        self.seen: dict[int, int] = {}
        self.shares = False
        self.failure: BaseException | None = None

    def document(self, value: Any) -> bytes:
        """The bytes of a whole value."""
        kind = type(value)
        if kind is list:
            if len(value) > MANY:
                value = (folder_of(type(value[0])) or fold_repeats)(value)
            else:
                value = [fold_below(item) for item in value]
        elif kind is dict:
            value = fold_items(value)
        body = self.pack(value)
        if not self.heads and not self.shares:
            return body
        return packb(Ext(codes.DOCUMENT, packb([self.shares, [head.data for head in self.heads], body])))

    def pack(self, value: Any) -> bytes:
        """The bytes of a part."""
        kind = type(value)
        if kind is list or kind is dict:
            if len(value) > FEW:
                return self._pack(value) if self.packed is None else self._pack_once(value, self.packed)
            if holds_large(value):
                return self.pack_children(value)
        return self._pack(value)

    def _pack_once(self, value: Any, packed: Packed) -> bytes:
        """The bytes of a large part, those of before if it was packed before."""
        known = packed.get(id(value))
        if known is not None:
            return known[1]
        numbered, heads = len(self.seen), len(self.heads)
        data = self._pack(value)
        if len(self.seen) == numbered and len(self.heads) == heads and not self.shares:
            packed[id(value)] = (value, data)
        return data

    def _pack_child(self, value: Any) -> bytes:
        kind = type(value)
        if self.packed is not None and (kind is list or kind is dict) and len(value) > FEW:
            return self._pack_once(value, self.packed)
        return self._pack(value)

    def _pack(self, value: Any) -> bytes:
        entered = len(self.seen)
        try:
            data = packb(value, default=self.default, option=OPTIONS)
        except TypeError:
            if self.failure is not None:
                raise
        else:
            if not (BIN_8 in data or BIN_16 in data or BIN_32 in data) or data in WITHOUT_BYTES:
                return data
            from stepgraph.checkpoint.serde.careful import kinds_of_bytes

            found = kinds_of_bytes(value)
            if not found:
                WITHOUT_BYTES.add(data)
                return data
            if len(found) == 1 and bytes in found:
                return data
        from stepgraph.checkpoint.serde.careful import rewrite

        self.forget(entered)
        return packb(rewrite(value), default=self.default, option=OPTIONS)

    def pack_children(self, value: list[Any] | dict[str, Any]) -> bytes:
        """The bytes of a short container, its parts packed one by one: what was found out of a large one is known."""
        size = len(value)
        if isinstance(value, list):
            return _head(0x90, 0xDC, size) + b"".join(map(self._pack_child, value))
        parts = [_head(0x80, 0xDE, size)]
        for key, item in value.items():
            parts.append(packb(key))
            parts.append(self._pack_child(item))
        return b"".join(parts)

    def default(self, obj: Any) -> Any:
        """What native packing calls for a value that is not plain."""
        cls = type(obj)
        try:
            return (ENCODERS.get(cls) or find_encoder(cls))(self, obj)
        except BaseException as error:
            if self.failure is None:
                self.failure = error
            raise

    def object(self, obj: Any, head: Head, state: Any) -> Ext:
        """An object with an identity: a reference if it was entered before, else its head's number and its state."""
        seen = self.seen
        key = id(obj)
        if key in seen:
            return self.reference(obj)
        number = len(seen)
        seen[key] = IN_PROGRESS
        index = self.heads.get(head)
        if index is None:
            index = self.add_head(head)
        data = self.pack(state)
        seen[key] = number
        return Ext(OBJECT, (_ONE_BYTE[index] if index < 255 else number_bytes(index)) + data)

    def numbered(self, original: Any, content: Any) -> Ext:
        """A plain value with an identity: a reference if it was entered before, else the content."""
        seen = self.seen
        key = id(original)
        if key in seen:
            return self.reference(original)
        number = len(seen)
        seen[key] = IN_PROGRESS
        data = self.pack(content)
        seen[key] = number
        return Ext(codes.NUMBERED, data)

    def reference(self, obj: Any) -> Ext:
        """The number of an object that was entered before.

        Raises:
            Unstorable: It is being packed at this moment: it contains itself.
        """
        number = self.seen[id(obj)]
        if number == IN_PROGRESS:
            raise Unstorable(obj, CONTAINS_ITSELF)
        self.shares = True
        return Ext(codes.REFERENCE, number_bytes(number))

    def record(self, head: Head, state: Any) -> Ext:
        """An object that is as good as its value, such as a member of an enum."""
        index = self.heads.get(head)
        if index is None:
            index = self.add_head(head)
        return Ext(codes.RECORD, number_bytes(index) + self.pack(state))

    def add_head(self, head: Head) -> int:
        """Number a head, after making sure that whoever writes it learns what cannot come back."""
        self.policy.check_written(head.cls)
        index = self.heads[head] = len(self.heads)
        return index

    def forget(self, entered: int) -> None:
        """Drop the numbers given since there were `entered` of them: what they stood for is packed again."""
        seen = self.seen
        while len(seen) > entered:
            seen.popitem()

    def can_pack(self, value: Any) -> bool:
        """Whether a part has a stored form; leaves no trace."""
        entered, failure = len(self.seen), self.failure
        try:
            self.pack(value)
        except TypeError:
            if self.failure is not None and not isinstance(self.failure, Exception):
                raise self.failure from None
            return False
        finally:
            self.forget(entered)
            self.failure = failure
        return True


def fold_repeats(items: list[Any]) -> Any:
    """The list, or `Repeats` if most of its objects occur more than once."""
    if len(items) <= MANY or type(items[0]) in _SMALL_KINDS:
        return items
    limit = len(items) // 2
    if len(set(map(id, items))) > limit:
        return items
    positions: dict[int, int] = {}
    order = []
    for identity in map(id, items):
        position = positions.setdefault(identity, len(positions))
        if position >= limit:
            return items
        order.append(position)
    distinct = dict(zip(map(id, items), items))
    return Repeats([distinct[identity] for identity in positions], order)


def fold_below(item: Any) -> Any:
    """An item of a short list: folded if it is itself a list of repeating objects."""
    return fold_repeats(item) if type(item) is list and len(item) > MANY else item


def fold_items(mapping: dict[Any, Any]) -> dict[Any, Any]:
    """The dict, or a copy in which lists of repeating objects are folded."""
    kinds = set(map(type, mapping.values()))
    if list not in kinds or (len(kinds) == 1 and max(map(len, mapping.values())) <= MANY):
        return mapping
    folded: dict[Any, Any] | None = None
    for key, item in mapping.items():
        if type(item) is list and len(item) > MANY:
            repeats = fold_repeats(item)
            if repeats is not item:
                folded = mapping.copy() if folded is None else folded
                folded[key] = repeats
    return mapping if folded is None else folded


def share(value: Any) -> Any:
    """Mark a plain value, or the large values of a dict, so that one that occurs again is stored once."""
    kind = type(value)
    if kind is dict:
        content = value
        for key, item in value.items():
            if is_large(item):
                content = content.copy() if content is value else content
                content[key] = Numbered(item, item)
        return Numbered(value, content) if value else value
    return Numbered(value, value) if is_large(value) else value


def is_flat(value: list[Any] | dict[Any, Any]) -> bool:
    """Whether a container holds nothing but plain numbers, plain text and the like: then its bytes need no second look."""
    if isinstance(value, list):
        items: Any = value
    else:
        for key in value:
            if type(key) is not str or not key.isascii():
                return False
        items = value.values()
    for item in items:
        kind = type(item)
        if kind is str:
            if not item.isascii():
                return False
        elif kind is int:
            if not -INT_RANGE < item < INT_RANGE:
                return False
        elif item is not None and kind is not float and kind is not bool:
            return False
    return True


def is_large(value: Any) -> bool:
    """Whether a plain value is worth a reference."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value) > LARGE
    return (kind is list or kind is dict) and len(value) > 0


def encode_numbered(writer: Writer, mark: Numbered) -> Ext:
    """The first occurrence in full, later ones as a reference."""
    return writer.numbered(mark.original, mark.content)


def encode_repeats(writer: Writer, mark: Repeats) -> Ext:
    """The distinct objects and their positions."""
    return Ext(codes.REPEATS, writer.pack([mark.distinct, mark.positions]))


ENCODERS[Numbered] = encode_numbered
ENCODERS[Repeats] = encode_repeats
