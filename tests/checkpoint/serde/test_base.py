"""Serializers of others: with tags, without tags, and how savers store with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stepgraph.checkpoint.serde.base import (
    CipherProtocol,
    SerializerCompat,
    SerializerProtocol,
    maybe_add_typed_methods,
    pack_value,
    unpack_value,
)
from stepgraph.checkpoint.serde.ciphers import AesCipher
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer


class Untyped:
    def dumps(self, obj: Any) -> bytes:
        return json.dumps(obj).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)


class Typed:
    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return "json", json.dumps(obj).encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        assert data[0] == "json"
        return json.loads(data[1])


class Wordy(Typed):
    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return "x" * 300, b""


def test_typed_methods_are_added_where_they_are_missing() -> None:
    serializer = maybe_add_typed_methods(Untyped())
    assert isinstance(serializer, SerializerCompat)
    assert serializer.dumps_typed([1]) == ("list", b"[1]")
    assert serializer.loads_typed(("list", b"[1]")) == [1]


@pytest.mark.parametrize("serializer", [Typed(), JsonPlusSerializer()])
def test_typed_serializer_is_left_alone(serializer: SerializerProtocol) -> None:
    assert maybe_add_typed_methods(serializer) is serializer


@pytest.mark.parametrize("serializer", [Typed(), JsonPlusSerializer(), SerializerCompat(Untyped())])
def test_savers_store_with_any_serializer(serializer: SerializerProtocol) -> None:
    assert unpack_value(serializer, pack_value(serializer, {"a": [1]})) == {"a": [1]}


def test_our_bytes_carry_no_tag() -> None:
    assert pack_value(JsonPlusSerializer(), 1) == b"\x01"
    assert pack_value(Typed(), 1) == b"\x04json1"


def test_tag_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="tag of 300 bytes"):
        pack_value(Wordy(), 1)


def test_our_cipher_fulfils_the_protocol() -> None:
    assert isinstance(AesCipher(b"k" * 16), CipherProtocol)
