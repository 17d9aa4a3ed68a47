"""The protocols of serializers and ciphers, and what savers call to store with any of them.

Rules: imports nothing; whoever writes a saver or a serializer of his own depends on this file only.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = (
    "CipherProtocol",
    "SerializerCompat",
    "SerializerProtocol",
    "UntypedSerializerProtocol",
    "maybe_add_typed_methods",
    "pack_value",
    "unpack_value",
)


class UntypedSerializerProtocol(Protocol):
    """A serializer whose bytes do not say how they were made."""

    def dumps(self, obj: Any) -> bytes:
        """Turn a value into bytes."""
        ...

    def loads(self, data: bytes) -> Any:
        """Turn bytes that `dumps` made back into the value."""
        ...


@runtime_checkable
class SerializerProtocol(Protocol):
    """A serializer that gives a tag with its bytes, so that several formats can live in one store."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Turn a value into a tag and bytes."""
        ...

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Turn a tag and bytes that `dumps_typed` made back into the value."""
        ...


class SerializerCompat(SerializerProtocol):
    """Gives a serializer without tags the methods with tags; the tag is the name of the value's type."""

    def __init__(self, serde: UntypedSerializerProtocol) -> None:
        self.serde = serde

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Turn a value into the name of its type and bytes."""
        return type(obj).__name__, self.serde.dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Turn the bytes back into the value; the tag is not needed."""
        return self.serde.loads(data[1])


def maybe_add_typed_methods(serde: SerializerProtocol | UntypedSerializerProtocol) -> SerializerProtocol:
    """Return the serializer itself if its methods take tags, else one around it whose methods do."""
    if isinstance(serde, SerializerProtocol):
        return serde
    return SerializerCompat(serde)


@runtime_checkable
class CipherProtocol(Protocol):
    """Encrypts and decrypts bytes."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """Return the cipher's name and the encrypted bytes."""
        ...

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """Return what was encrypted by the cipher of that name."""
        ...


def pack_value(serde: SerializerProtocol, value: Any) -> bytes:
    """One bytes object for a value, whatever the serializer: ours needs no tag, a tag of others goes in front."""
    pack = getattr(serde, "pack", None)
    if pack is not None:
        packed: bytes = pack(value)
        return packed
    tag, data = serde.dumps_typed(value)
    name = tag.encode()
    if len(name) > 255:
        raise ValueError(
            f"The serializer {type(serde).__name__} gave a tag of {len(name)} bytes; at most 255 can be stored."
        )
    return bytes((len(name),)) + name + data


def unpack_value(serde: SerializerProtocol, data: bytes) -> Any:
    """The value that `pack_value` stored with the same serializer."""
    unpack = getattr(serde, "unpack", None)
    if unpack is not None:
        return unpack(data)
    end = 1 + data[0]
    return serde.loads_typed((data[1:end].decode(), data[end:]))
