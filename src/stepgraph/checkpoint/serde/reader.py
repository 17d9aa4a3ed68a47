"""Turns one document back into a value.

Theory: msgpack builds the plain values in native code and calls `Reader.hook` for every extension; the decoder of its
code reads what is inside with the same reader. Most documents need no state, so one reader serves all of them; a
`DOCUMENT` extension gets a reader of its own, with the classes that its heads describe and the numbered objects.

Rules: a decoder trusts nothing that it reads: it checks forms, calls constructors of builtin and library types only,
and gets classes of a person from the policy. What it raises is lost in native code, so it is noted in `errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ormsgpack import unpackb

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError
from stepgraph.checkpoint.serde.families import DECODERS

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.families import Restore
    from stepgraph.checkpoint.serde.policy import Policy


class Reader:
    """Reads one document, or as the reader without state all that need none; see the module.

    Attributes:
        policy: Which classes may come back.
        heads: What restores the state of each class of the document.
        objects: The numbered objects so far; `None` if nothing refers to them.
        errors: What decoders raised, the innermost first; `None` if nobody wants to know.
    """

    __slots__ = ("errors", "heads", "objects", "policy")

    def __init__(
        self,
        policy: Policy,
        errors: list[BaseException] | None = None,
        heads: tuple[Restore, ...] = (),
        objects: list[Any] | None = None,
    ) -> None:
        self.policy = policy
        self.errors = errors
        self.heads = heads
        self.objects = objects

    def hook(self, code: int, data: bytes) -> Any:
        """What native unpacking calls for an extension."""
        try:
            return DECODERS[code](self, data)
        except BaseException as error:
            if self.errors is not None:
                self.errors.append(error)
            raise

    def unpack(self, data: bytes) -> Any:
        """The value of a part."""
        return unpackb(data, ext_hook=self.hook)

    def unpack_list(self, data: bytes, length: int) -> list[Any]:
        """The value of a part that must be a list of that length."""
        items = unpackb(data, ext_hook=self.hook)
        if type(items) is not list or len(items) != length:
            raise CorruptPayloadError(
                f"The stored bytes should hold a list of {length} parts, got {items!r:.60}"
            )
        return items


def _decode_document(reader: Reader, data: bytes) -> Any:
    parts = unpackb(data)
    if (
        type(parts) is not list
        or len(parts) != 3
        or type(parts[1]) is not list
        or type(parts[2]) is not bytes
    ):
        raise CorruptPayloadError("The stored bytes should be a document of flag, heads and body.")
    shares, heads, body = parts
    policy = reader.policy
    restorers = tuple([policy.restorer(head) for head in heads])
    return Reader(policy, reader.errors, restorers, [] if shares else None).unpack(body)


def _restorer(reader: Reader, data: bytes) -> tuple[Restore, bytes]:
    """What restores the state that follows a head's number, and the packed state."""
    index = data[0] if data else 0
    rest = data[1:]
    if index == 255:
        index = int.from_bytes(rest[:4], "big")
        rest = rest[4:]
    if index >= len(reader.heads):
        raise CorruptPayloadError(f"The stored bytes name the class {index} of {len(reader.heads)}.")
    return reader.heads[index], rest


def _decode_record(reader: Reader, data: bytes) -> Any:
    restore, state = _restorer(reader, data)
    return restore(unpackb(state, ext_hook=reader.hook))


def _decode_object(reader: Reader, data: bytes) -> Any:
    objects = reader.objects
    if objects is None:
        return _decode_record(reader, data)
    number = len(objects)
    objects.append(None)
    restore, state = _restorer(reader, data)
    restored = objects[number] = restore(unpackb(state, ext_hook=reader.hook))
    return restored


def _decode_numbered(reader: Reader, data: bytes) -> Any:
    objects = reader.objects
    if objects is None:
        return unpackb(data, ext_hook=reader.hook)
    number = len(objects)
    objects.append(None)
    restored = objects[number] = unpackb(data, ext_hook=reader.hook)
    return restored


def _decode_reference(reader: Reader, data: bytes) -> Any:
    number = int.from_bytes(data if len(data) == 1 else data[1:], "big")
    if reader.objects is None or number >= len(reader.objects):
        raise CorruptPayloadError(
            f"The stored bytes refer to an object number {number} that was not there before."
        )
    return reader.objects[number]


def _decode_nested(reader: Reader, data: bytes) -> Any:
    return unpackb(data, ext_hook=reader.hook)


def _decode_repeats(reader: Reader, data: bytes) -> list[Any]:
    distinct, positions = reader.unpack_list(data, 2)
    try:
        return [distinct[position] for position in positions]
    except (IndexError, TypeError) as error:
        raise CorruptPayloadError("The stored bytes hold a list of repeats with wrong positions.") from error


DECODERS[codes.DOCUMENT] = _decode_document
DECODERS[codes.OBJECT] = _decode_object
DECODERS[codes.RECORD] = _decode_record
DECODERS[codes.REFERENCE] = _decode_reference
DECODERS[codes.NUMBERED] = _decode_numbered
DECODERS[codes.NESTED] = _decode_nested
DECODERS[codes.REPEATS] = _decode_repeats
