"""Texts and numbers that PostgreSQL cannot hold, as ones that it can.

Rules of this file: pure functions. A text of PostgreSQL holds neither the character U+0000 nor half of a surrogate pair.
They are written as two characters, by a code that keeps the order of texts, so that comparing what is stored compares
what was meant; the two characters that begin a code are written by one, too. All other texts are stored as they are.

A number in a `jsonb` column keeps its value, but is written in full: `1e+23` would come back as another number, and as a
whole one, so large fractions are written in full here.
"""

from __future__ import annotations

import json
import re
from typing import Any

from stepgraph.store.sql.values import dump_json, load_json

_TO_ENCODE = re.compile("[\x00\x01\ud7ff-\udfff]")
_ENCODED = re.compile("\x01[\x01\x02]|\ud7ff[\x01\x10-\u080f]")
_HALVES = range(0xD800, 0xE000)
_FIRST_HALF_CODE = 0x10
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?e\+\d+')


class JsonText(str):
    """JSON text that is ready to be stored."""

    __slots__ = ()


def encode_text(text: str) -> str:
    r"""A text as one that the database can hold.

    >>> encode_text("a\x00b")
    'a\x01\x01b'
    """
    return _TO_ENCODE.sub(_encoded, text) if _TO_ENCODE.search(text) else text


def decode_text(text: str) -> str:
    r"""The text that `encode_text` was given.

    >>> decode_text("a\x01\x01b")
    'a\x00b'
    """
    return _ENCODED.sub(_decoded, text) if _ENCODED.search(text) else text


def _encoded(found: re.Match[str]) -> str:
    character = found.group()
    if character == "\x00":
        return "\x01\x01"
    if character == "\x01":
        return "\x01\x02"
    if character == "\ud7ff":
        return "\ud7ff\x01"
    return "\ud7ff" + chr(ord(character) - _HALVES.start + _FIRST_HALF_CODE)


def _decoded(found: re.Match[str]) -> str:
    first, second = found.group()[0], found.group()[1]
    if first == "\x01":
        return "\x00" if second == "\x01" else "\x01"
    return "\ud7ff" if second == "\x01" else chr(ord(second) - _FIRST_HALF_CODE + _HALVES.start)


def encode_json(text: str) -> JsonText:
    """JSON text for a `jsonb` column.

    >>> encode_json('{"n":1e+22}')
    '{"n":10000000000000000000000.0}'
    """
    if "\\u" in text or "\ud7ff" in text:
        text = dump_json(_each_text(load_json(text), encode_text))
    if "e+" in text:
        text = _TOKENS.sub(_in_full, text)
    return JsonText(text)


def decode_json(text: str | bytes) -> Any:
    """The data that a `jsonb` column holds, given its text."""
    if isinstance(text, bytes):
        text = text.decode()
    value = json.loads(text)
    return _each_text(value, decode_text) if "\\u0001" in text or "\ud7ff" in text else value


def number_text(number: float) -> str:
    """A number, written in full.

    >>> number_text(1e23), number_text(0.1), number_text(True)
    ('99999999999999991611392.0', '0.1', '1')
    """
    if isinstance(number, float):
        text = float.__repr__(number)
        return format(number, ".1f") if "e+" in text else text
    return int.__repr__(number) if not isinstance(number, bool) else str(int(number))


def _in_full(found: re.Match[str]) -> str:
    token = found.group()
    return token if token.startswith('"') else number_text(float(token))


def _each_text(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each_text(element, change) for element in value]
    if isinstance(value, dict):
        return {change(key): _each_text(field, change) for key, field in value.items()}
    return value
