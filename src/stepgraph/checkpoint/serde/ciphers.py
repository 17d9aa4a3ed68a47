"""AES for stored bytes, from the `cryptography` package.

Written is AES-GCM: `version 1 | key id, 4 bytes | nonce, 12 bytes | ciphertext and tag`. The key id is a digest of the
key, so that several keys can be in use while they are rotated: the first encrypts, each decrypts its own. Also read is
what LangGraph's serializer wrote under the name `aes`: `nonce, 16 | tag, 16 | ciphertext`, in EAX mode or in GCM.

Rules: knows bytes and keys, nothing of serializers. Keys never appear in messages.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import blake2b
from hmac import compare_digest
from typing import Any, Final

from stepgraph.checkpoint.serde.errors import CorruptPayloadError

NAME: Final = "aesgcm"
LEGACY_NAME: Final = "aes"
VERSION: Final = b"\x01"
NONCE_SIZE: Final = 12
KEY_ID_SIZE: Final = 4
KEY_SIZES: Final = (16, 24, 32)
LEGACY_PART: Final = 16


class AesCipher:
    """Encrypts with AES-GCM under the first of its keys, and decrypts what any of them encrypted.

    Args:
        keys: One key or several, each of 16, 24 or 32 bytes; the first encrypts.

    Raises:
        ValueError: There is no key, or one has another length.
        ImportError: `cryptography` is not installed.
    """

    def __init__(self, keys: bytes | Iterable[bytes]) -> None:
        self._keys: tuple[bytes, ...] = (keys,) if isinstance(keys, bytes) else tuple(keys)
        if not self._keys:
            raise ValueError("An AES cipher needs a key of 16, 24 or 32 bytes; none was given.")
        for key in self._keys:
            if not isinstance(key, bytes) or len(key) not in KEY_SIZES:
                size = f"{len(key)} bytes" if isinstance(key, bytes) else f"a {type(key).__name__}"
                raise ValueError(f"An AES key has 16, 24 or 32 bytes; one of {size} was given.")
        _aead()
        self._by_id = {_key_id(key): key for key in self._keys}

    @cached_property
    def _current(self) -> Any:
        return _aead().AESGCM(self._keys[0])

    def encrypt(self, plaintext: bytes, associated: bytes = b"") -> tuple[str, bytes]:
        """Encrypt bytes.

        Args:
            plaintext: What to encrypt.
            associated: What must be the same when they are decrypted; it is not stored.

        Returns:
            The cipher's name and the encrypted bytes.
        """
        nonce = os.urandom(NONCE_SIZE)
        sealed = self._current.encrypt(nonce, plaintext, associated)
        return NAME, VERSION + _key_id(self._keys[0]) + nonce + sealed

    def decrypt(self, ciphername: str, ciphertext: bytes, associated: bytes = b"") -> bytes:
        """Decrypt bytes.

        Args:
            ciphername: The name that was stored with them.
            ciphertext: The encrypted bytes.
            associated: As when they were encrypted.

        Returns:
            What was encrypted.

        Raises:
            CorruptPayloadError: The key is not among the given ones, or the bytes were changed.
            ValueError: The name is of another cipher.
        """
        if ciphername == LEGACY_NAME:
            return self._decrypt_legacy(ciphertext)
        if ciphername != NAME:
            raise ValueError(
                f"Unsupported cipher: {ciphername}. This one reads {NAME} and {LEGACY_NAME}; the data was encrypted by"
                " another, which its EncryptedSerializer must be given."
            )
        start = 1 + KEY_ID_SIZE
        if ciphertext[:1] != VERSION or len(ciphertext) < start + NONCE_SIZE:
            raise CorruptPayloadError("Encrypted bytes are truncated or of a later version.")
        key_id = ciphertext[1:start]
        key = self._by_id.get(key_id)
        if key is None:
            raise CorruptPayloadError(
                f"Stored bytes are encrypted with the key {key_id.hex()}, which is none of the {len(self._keys)} given:"
                f" {', '.join(known.hex() for known in self._by_id)}. Add the old key after the current one."
            )
        nonce, sealed = ciphertext[start : start + NONCE_SIZE], ciphertext[start + NONCE_SIZE :]
        plaintext = _open_gcm(key, nonce, sealed, associated)
        if plaintext is None:
            raise CorruptPayloadError(
                "Encrypted bytes, or the tag that was stored with them, have been changed."
            )
        return plaintext

    def _decrypt_legacy(self, ciphertext: bytes) -> bytes:
        nonce, tag = ciphertext[:LEGACY_PART], ciphertext[LEGACY_PART : 2 * LEGACY_PART]
        if len(tag) != LEGACY_PART:
            raise CorruptPayloadError("Encrypted bytes of LangGraph's serializer are truncated.")
        sealed = ciphertext[2 * LEGACY_PART :]
        for key in self._keys:
            plaintext = _open_eax(key, nonce, tag, sealed)
            if plaintext is None:
                plaintext = _open_gcm(key, nonce, sealed + tag, b"")
            if plaintext is not None:
                return plaintext
        raise CorruptPayloadError(
            f"Encrypted bytes of LangGraph's serializer fit none of the {len(self._keys)} keys given: the key is another"
            " one, or the bytes have been changed."
        )


def key_from_environment(variable: str) -> bytes:
    """The key that an environment variable holds.

    Raises:
        ValueError: It is not set, or has not 16, 24 or 32 characters.
    """
    text = os.environ.get(variable)
    if not text:
        raise ValueError(f"{variable} environment variable is not set.")
    key = text.encode()
    if len(key) not in KEY_SIZES:
        raise ValueError(f"{variable} must be 16, 24 or 32 bytes long, it has {len(key)}.")
    return key


def _key_id(key: bytes) -> bytes:
    return blake2b(key, digest_size=KEY_ID_SIZE, person=b"stepgraph key").digest()


def _aead() -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers import aead
    except ImportError as error:
        raise ImportError(
            'Encryption needs the cryptography package: pip install "stepgraph[crypto]"'
        ) from error
    return aead


def _open_gcm(key: bytes, nonce: bytes, sealed: bytes, associated: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag

    try:
        opened: bytes = _aead().AESGCM(key).decrypt(nonce, sealed, associated)
    except InvalidTag:
        return None
    return opened


def _open_eax(key: bytes, nonce: bytes, tag: bytes, sealed: bytes) -> bytes | None:
    """EAX is counter mode under a CMAC of the nonce; its tag combines the CMACs of nonce, header and ciphertext."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    counter = _tweaked_mac(key, 0, nonce)
    parts: Sequence[bytes] = (counter, _tweaked_mac(key, 1, b""), _tweaked_mac(key, 2, sealed))
    expected = bytes(first ^ second ^ third for first, second, third in zip(*parts))
    if not compare_digest(expected, tag):
        return None
    decryptor = Cipher(algorithms.AES(key), modes.CTR(counter)).decryptor()
    return decryptor.update(sealed) + decryptor.finalize()


def _tweaked_mac(key: bytes, tweak: int, data: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.cmac import CMAC

    mac = CMAC(AES(key))
    mac.update(bytes(LEGACY_PART - 1) + bytes((tweak,)))
    mac.update(data)
    return mac.finalize()
