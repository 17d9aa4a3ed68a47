"""`EncryptedSerializer`: another serializer's bytes, encrypted.

The stored tag is `tag of the bytes + name of the cipher`. Our cipher also seals the tag, so that the bytes of one tag
cannot be passed off as another's. What has no cipher in its tag was stored before encryption was turned on and is read
as it is, unless `require_encryption` says no.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from stepgraph.checkpoint.serde.base import CipherProtocol, SerializerProtocol
from stepgraph.checkpoint.serde.ciphers import NAME, AesCipher, key_from_environment
from stepgraph.checkpoint.serde.errors import CorruptPayloadError
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

__all__ = ("EncryptedSerializer",)

KEY_VARIABLE: Final = "LANGGRAPH_AES_KEY"
READABLE_MODES: Final = (9, 11)
"""EAX and GCM, as PyCryptodome numbers them."""


class EncryptedSerializer(SerializerProtocol):
    """Encrypts what another serializer makes.

    Args:
        cipher: Encrypts and decrypts; `from_aes_keys` makes one.
        serde: Turns values into bytes.
        require_encryption: Refuse stored data that is not encrypted.

    Example:
        >>> serializer = EncryptedSerializer.from_aes_keys([b"0123456789abcdef"])
        >>> tag, data = serializer.dumps_typed({"secret": 1})
        >>> tag, serializer.loads_typed((tag, data))
        ('sg1+aesgcm', {'secret': 1})
    """

    def __init__(
        self,
        cipher: CipherProtocol,
        serde: SerializerProtocol = JsonPlusSerializer(),  # noqa: B008  (it does not change)
        *,
        require_encryption: bool = False,
    ) -> None:
        self.cipher = cipher
        self.serde = serde
        self.require_encryption = require_encryption

    @classmethod
    def from_aes_keys(
        cls,
        keys: Iterable[bytes],
        serde: SerializerProtocol | None = None,
        *,
        require_encryption: bool = False,
    ) -> EncryptedSerializer:
        """A serializer with AES-GCM.

        Args:
            keys: Keys of 16, 24 or 32 bytes. The first encrypts; the others still decrypt what they encrypted, so to
                rotate, put the new one in front.
            serde: Turns values into bytes; by default a `JsonPlusSerializer`.
            require_encryption: Refuse stored data that is not encrypted.

        Raises:
            ValueError: There is no key, or one has another length.
            ImportError: `cryptography` is not installed.
        """
        return cls(AesCipher(keys), serde or JsonPlusSerializer(), require_encryption=require_encryption)

    @classmethod
    def from_pycryptodome_aes(
        cls,
        serde: SerializerProtocol = JsonPlusSerializer(),  # noqa: B008  (it does not change)
        **kwargs: Any,
    ) -> EncryptedSerializer:
        """A serializer with AES, under the name that LangGraph gave it; PyCryptodome is not needed.

        It writes AES-GCM and reads that as well as what LangGraph's serializer wrote (EAX and GCM).

        Args:
            serde: Turns values into bytes.
            kwargs: `key`, bytes; by default what the environment variable `LANGGRAPH_AES_KEY` holds. `mode` is accepted
                if it is PyCryptodome's number for EAX or GCM, both of which are read.

        Raises:
            ValueError: There is no key, it has another length, or the mode is another.
            TypeError: Another argument is given.
            ImportError: `cryptography` is not installed.
        """
        key = kwargs.pop("key", None)
        mode = kwargs.pop("mode", READABLE_MODES[0])
        if kwargs:
            raise TypeError(f"from_pycryptodome_aes() takes key and mode; {', '.join(kwargs)} cannot be set.")
        if mode not in READABLE_MODES:
            raise ValueError(
                f"The AES mode {mode} of PyCryptodome is not supported: EAX (9) and GCM (11) are read, GCM is written."
            )
        return cls(AesCipher(key_from_environment(KEY_VARIABLE) if key is None else key), serde)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Turn a value into a tag and encrypted bytes."""
        tag, data = self.serde.dumps_typed(obj)
        if isinstance(self.cipher, AesCipher):
            name, sealed = self.cipher.encrypt(data, tag.encode())
        else:
            name, sealed = self.cipher.encrypt(data)
        return f"{tag}+{name}", sealed

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Turn a tag and bytes back into the value.

        Raises:
            CorruptPayloadError: The bytes or the tag were changed, the key is another one, or encryption is required
                and they are not encrypted.
        """
        full_tag, content = data
        tag, separator, name = full_tag.partition("+")
        if not separator:
            if self.require_encryption:
                raise CorruptPayloadError(
                    f"Stored data of the tag {full_tag!r} is not encrypted, and require_encryption refuses such data."
                )
            return self.serde.loads_typed(data)
        if isinstance(self.cipher, AesCipher) and name == NAME:
            return self.serde.loads_typed((tag, self.cipher.decrypt(name, content, tag.encode())))
        return self.serde.loads_typed((tag, self.cipher.decrypt(name, content)))

    def pack(self, value: Any) -> bytes:
        """Turn a value into encrypted bytes that carry their tag."""
        tag, sealed = self.dumps_typed(value)
        name = tag.encode()
        return bytes((len(name),)) + name + sealed

    def unpack(self, data: bytes) -> Any:
        """Turn bytes that `pack` made back into the value.

        Raises:
            CorruptPayloadError: As `loads_typed`.
        """
        end = 1 + (data[0] if data else 0)
        try:
            tag = data[1:end].decode()
        except UnicodeDecodeError as error:
            raise CorruptPayloadError(
                "Stored bytes do not begin with a tag: they are not encrypted."
            ) from error
        return self.loads_typed((tag, data[end:]))

    def with_msgpack_allowlist(
        self, extra_allowlist: Iterable[tuple[str, ...] | type]
    ) -> EncryptedSerializer:
        """An encrypted serializer whose inner one restores these classes too."""
        return self._around("with_msgpack_allowlist", extra_allowlist)

    def as_strict(self, extra_allowlist: Iterable[tuple[str, ...] | type] = ()) -> EncryptedSerializer:
        """An encrypted serializer whose inner one is strict."""
        return self._around("as_strict", extra_allowlist)

    def _around(self, method: str, allowlist: Iterable[tuple[str, ...] | type]) -> EncryptedSerializer:
        change = getattr(self.serde, method, None)
        inner = self.serde if change is None else change(allowlist)
        return type(self)(self.cipher, inner, require_encryption=self.require_encryption)
