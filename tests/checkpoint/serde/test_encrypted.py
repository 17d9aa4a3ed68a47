"""Encrypted values: keys can be rotated, changed bytes and tags are noticed."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from checkpoint.serde.compare import same
from checkpoint.serde.samples import Item, plain_samples
from stepgraph.checkpoint.serde.base import pack_value, unpack_value
from stepgraph.checkpoint.serde.encrypted import EncryptedSerializer
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, PlainDataWarning
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

OLD, NEW = b"o" * 16, b"n" * 32


class Reverse:
    """The simplest cipher of a person's own."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reverse", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "reverse"
        return ciphertext[::-1]


@pytest.mark.parametrize("name", plain_samples())
def test_values_come_back(name: str) -> None:
    serializer = EncryptedSerializer.from_aes_keys([NEW])
    value = plain_samples()[name]
    assert same(serializer.loads_typed(serializer.dumps_typed(value)), value)
    assert same(serializer.unpack(serializer.pack(value)), value)


def test_nothing_of_the_value_is_visible() -> None:
    serializer = EncryptedSerializer.from_aes_keys([NEW])
    tag, data = serializer.dumps_typed({"secret": "very secret text"})
    assert tag == "sg1+aesgcm"
    assert b"secret" not in data
    assert serializer.dumps_typed({"secret": "very secret text"})[1] != data


def test_old_keys_still_decrypt_after_rotation() -> None:
    stored = EncryptedSerializer.from_aes_keys([OLD]).dumps_typed([1])
    rotated = EncryptedSerializer.from_aes_keys([NEW, OLD])
    assert rotated.loads_typed(stored) == [1]
    with pytest.raises(CorruptPayloadError, match="none of the 1 given"):
        EncryptedSerializer.from_aes_keys([OLD]).loads_typed(rotated.dumps_typed([1]))


def test_keys_are_not_shown() -> None:
    stored = EncryptedSerializer.from_aes_keys([OLD]).dumps_typed([1])
    with pytest.raises(CorruptPayloadError) as caught:
        EncryptedSerializer.from_aes_keys([NEW]).loads_typed(stored)
    assert OLD.hex() not in str(caught.value)
    assert NEW.hex() not in str(caught.value)


@pytest.mark.parametrize("position", [0, 1, 8, 20, -1])
def test_changed_bytes_are_noticed(position: int) -> None:
    serializer = EncryptedSerializer.from_aes_keys([NEW])
    tag, data = serializer.dumps_typed({"a": "b"})
    changed = bytearray(data)
    changed[position] ^= 1
    with pytest.raises(CorruptPayloadError):
        serializer.loads_typed((tag, bytes(changed)))


def test_truncated_bytes_are_noticed() -> None:
    serializer = EncryptedSerializer.from_aes_keys([NEW])
    tag, data = serializer.dumps_typed({"a": "b"})
    for end in (0, 1, 10, 20, len(data) - 1):
        with pytest.raises(CorruptPayloadError):
            serializer.loads_typed((tag, data[:end]))
        with pytest.raises(CorruptPayloadError):
            serializer.loads_typed(("sg1+aes", data[:end]))


def test_bytes_cannot_be_passed_off_under_another_tag() -> None:
    serializer = EncryptedSerializer.from_aes_keys([NEW])
    _, data = serializer.dumps_typed({"a": "b"})
    with pytest.raises(CorruptPayloadError, match="tag"):
        serializer.loads_typed(("bytes+aesgcm", data))


def test_values_stored_before_encryption_are_read_unless_refused() -> None:
    stored = JsonPlusSerializer().dumps_typed([1])
    assert EncryptedSerializer.from_aes_keys([NEW]).loads_typed(stored) == [1]
    strict = EncryptedSerializer.from_aes_keys([NEW], require_encryption=True)
    with pytest.raises(CorruptPayloadError, match="not encrypted"):
        strict.loads_typed(stored)
    with pytest.raises(CorruptPayloadError):
        strict.unpack(b"\x03sg1\x01")


def test_cipher_of_another_is_used() -> None:
    serializer = EncryptedSerializer(Reverse())
    tag, data = serializer.dumps_typed([1, 2])
    assert (tag, data) == ("sg1+reverse", b"\x02\x01\x92")
    assert serializer.loads_typed((tag, data)) == [1, 2]


def test_unknown_cipher_is_named() -> None:
    with pytest.raises(ValueError, match="rot13"):
        EncryptedSerializer.from_aes_keys([NEW]).loads_typed(("sg1+rot13", b"x"))


@pytest.mark.parametrize("keys", [[], [b"short"], [NEW, b"x" * 17], ["text" * 4]])
def test_wrong_keys_are_refused(keys: Any) -> None:
    with pytest.raises(ValueError, match="16, 24 or 32"):
        EncryptedSerializer.from_aes_keys(keys)


def test_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGGRAPH_AES_KEY", raising=False)
    with pytest.raises(ValueError, match="LANGGRAPH_AES_KEY"):
        EncryptedSerializer.from_pycryptodome_aes()
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "x" * 15)
    with pytest.raises(ValueError, match="it has 15"):
        EncryptedSerializer.from_pycryptodome_aes()
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "x" * 16)
    serializer = EncryptedSerializer.from_pycryptodome_aes()
    assert serializer.loads_typed(serializer.dumps_typed([1])) == [1]


def test_other_arguments_of_pycryptodome_are_refused() -> None:
    with pytest.raises(TypeError, match="mac_len"):
        EncryptedSerializer.from_pycryptodome_aes(key=NEW, mac_len=8)
    with pytest.raises(ValueError, match="mode 2"):
        EncryptedSerializer.from_pycryptodome_aes(key=NEW, mode=2)


def test_allowlist_reaches_the_inner_serializer() -> None:
    serializer = EncryptedSerializer.from_aes_keys([NEW], JsonPlusSerializer(strict=True))
    wide = serializer.with_msgpack_allowlist([Item])
    stored = wide.dumps_typed(Item("a"))
    assert wide.loads_typed(stored) == Item("a")
    with pytest.warns(PlainDataWarning):
        assert serializer.loads_typed(stored) == {"name": "a", "tags": []}
    assert EncryptedSerializer.from_aes_keys([NEW]).as_strict([Item]).loads_typed(stored) == Item("a")


def test_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ImportError, match=r"stepgraph\[crypto\]"):
        EncryptedSerializer.from_aes_keys([NEW])


def test_savers_store_with_it() -> None:
    serializer = EncryptedSerializer.from_aes_keys([NEW])
    assert unpack_value(serializer, pack_value(serializer, {"a": (1,)})) == {"a": (1,)}
