"""Values that another program stored, taken over without being restored.

Extensions (objects of classes) are kept as the bytes that they are and packed again as they are: our format reads their
codes, so a person's objects come to life in the person's program, where their classes are loaded. The importer needs
none of them, imports nothing and calls nothing.

Rules: knows forms of bytes, not of tables.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ormsgpack import OPT_NON_STR_KEYS, Ext, packb, unpackb

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.families import ENCODERS
from stepgraph.values.commands import Interrupt
from stepgraph.values.missing import MISSING

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.ciphers import AesCipher
    from stepgraph.checkpoint.serde.writer import Writer

_NAMED: Final = frozenset((codes.LEGACY_KEYWORDS, codes.LEGACY_MODEL_1, codes.LEGACY_MODEL_2))


class NotReadable(ValueError):
    """Stored bytes that cannot be taken over; the text says why."""


class Stored:
    """An object as the bytes that stand for it."""

    __slots__ = ("code", "data")

    def __init__(self, code: int, data: bytes) -> None:
        self.code = code
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stored) and (self.code, self.data) == (other.code, other.data)

    def __hash__(self) -> int:
        return hash((self.code, self.data))

    def __repr__(self) -> str:
        return f"<stored object, {len(self.data)} bytes>"

    def described(self) -> tuple[str, dict[str, Any]] | None:
        """The name of its class and its fields, where it is stored as these."""
        if self.code not in _NAMED:
            return None
        parts = unpackb(self.data, ext_hook=Stored, option=OPT_NON_STR_KEYS)
        if isinstance(parts, list) and len(parts) >= 3 and isinstance(parts[2], dict):
            return str(parts[1]), parts[2]
        return None


def _encode(writer: Writer, stored: Stored) -> Ext:
    return Ext(stored.code, stored.data)


ENCODERS[Stored] = _encode


def take_over(tag: str | None, data: bytes | None, cipher: AesCipher | None = None) -> Any:
    """The value that stored bytes stand for; `MISSING` where they stand for none.

    Raises:
        NotReadable: They are of a form that cannot be taken over, or damaged.
    """
    if tag is None:
        return MISSING
    content = bytes(data or b"")
    kind, encrypted, name = tag.partition("+")
    if encrypted:
        content = _decrypted(name, content, cipher)
    if kind == "empty":
        return MISSING
    if kind == "null":
        return None
    if kind == "bytes":
        return content
    if kind == "bytearray":
        return bytearray(content)
    try:
        if kind == "msgpack":
            return unpackb(content, ext_hook=Stored, option=OPT_NON_STR_KEYS)
        if kind == "json":
            return json.loads(content, object_hook=_revived)
    except (ValueError, RecursionError) as error:
        raise NotReadable(f"its bytes are damaged ({error})") from error
    if kind == "pickle":
        raise NotReadable(
            "it is pickled, and unpickling would run code that the data names. Store it again without pickle_fallback"
        )
    raise NotReadable(f"its format {tag!r} is not known")


def _decrypted(name: str, content: bytes, cipher: AesCipher | None) -> bytes:
    if cipher is None:
        raise NotReadable("it is encrypted; give the key with --aes-key-env NAME")
    try:
        return cipher.decrypt(name, content)
    except ValueError as error:
        raise NotReadable(f"it cannot be decrypted: {error}") from error


def _revived(found: dict[str, Any]) -> Any:
    """An object of the old JSON form, as the same object in the old msgpack form."""
    path = found.get("id")
    if found.get("lc") not in (1, 2) or found.get("type") != "constructor" or not isinstance(path, list):
        return found
    module, name = ".".join(map(str, path[:-1])), str(path[-1])
    fields, arguments, method = found.get("kwargs"), found.get("args"), found.get("method")
    packed = ENCODERS[Stored]

    def pack(parts: list[Any]) -> bytes:
        return packb(parts, default=lambda item: packed(None, item), option=OPT_NON_STR_KEYS)  # type: ignore[arg-type]

    methods = method if isinstance(method, list) else [method]
    if methods[-1] not in (None, "construct") and methods[0] not in (None, "construct"):
        return Stored(codes.LEGACY_METHOD, pack([module, name, (arguments or [None])[0], methods[0]]))
    if fields or not arguments:
        return Stored(codes.LEGACY_KEYWORDS, pack([module, name, fields or {}]))
    return Stored(codes.LEGACY_POSITIONAL, pack([module, name, arguments]))


def whole(value: Any) -> Any:
    """What a channel holds: a `DeltaChannel` of LangGraph wraps the value that it stored whole."""
    if isinstance(value, Stored) and value.code == codes.LEGACY_DELTA:
        return unpackb(value.data, ext_hook=Stored, option=OPT_NON_STR_KEYS)
    return value


def questions(value: Any, seeded: Any) -> list[Interrupt[Any]]:
    """The questions in the stored value of a task's `__interrupt__`.

    Args:
        value: What was stored.
        seeded: Makes the id of a question that was stored without one, from its namespace.
    """
    found = []
    for item in value if isinstance(value, (list, tuple)) else [value]:
        described = item.described() if isinstance(item, Stored) else None
        if described is None or described[0] != "Interrupt":
            continue
        fields = described[1]
        id = fields.get("id") or fields.get("interrupt_id")
        namespace = fields.get("ns")
        if not id and namespace:
            id = seeded(namespace if isinstance(namespace, str) else "|".join(map(str, namespace)))
        options = {"id": id} if id else {}
        found.append(Interrupt(fields.get("value"), **options, response_schema=fields.get("response_schema")))
    return found
