"""The stored format, version 1 (tag `sg1`).

A value is one msgpack document. Plain values (`None`, `bool`, `int` of 64 bits, `float`, `str`, `bytes`, `list`, `dict`
with `str` keys) are plain msgpack. Everything else is a msgpack extension with one of the codes below; what is inside
is msgpack again. A document whose values refer to each other or to classes is one extension, `DOCUMENT`, that holds

    [shares, heads, body]    shares: whether identities are numbered; heads: descriptions of classes; body: the value

An `OBJECT` or `RECORD` is the number of its head, then its packed state. A head is the msgpack of
`[kind, module, qualified name, ...]`, so readers and writers keep heads ready by their bytes. When `shares` is true,
every `OBJECT` and `NUMBERED` gets the next number, from 0, in the order in which they begin; `REFERENCE` is such a
number.

Rules: a code keeps its meaning for ever; a changed layout gets a new code. 0 to 7 are LangGraph's own codes.
"""

from __future__ import annotations

from typing import Final

TAG: Final = "sg1"

LEGACY_SINGLE: Final = 0
LEGACY_POSITIONAL: Final = 1
LEGACY_KEYWORDS: Final = 2
LEGACY_METHOD: Final = 3
LEGACY_MODEL_1: Final = 4
LEGACY_MODEL_2: Final = 5
LEGACY_ARRAY: Final = 6
LEGACY_DELTA: Final = 7

DOCUMENT: Final = 32
OBJECT: Final = 33
RECORD: Final = 34
REFERENCE: Final = 35
NUMBERED: Final = 36
NESTED: Final = 37
REPEATS: Final = 38

TUPLE: Final = 40
PAIRS: Final = 41
SET: Final = 42
FROZENSET: Final = 43
DEQUE: Final = 44
DEFAULTDICT: Final = 45
COUNTER: Final = 46
ORDERED_DICT: Final = 47
BYTEARRAY: Final = 48
MEMORYVIEW: Final = 49
TEXT: Final = 50
SINGLETON: Final = 51

INTEGER: Final = 52
COMPLEX: Final = 53
DECIMAL: Final = 54
FRACTION: Final = 55
RANGE: Final = 56
SLICE: Final = 57

DATETIME: Final = 58
ZONED_DATETIME: Final = 59
DATE: Final = 60
TIME: Final = 61
ZONED_TIME: Final = 62
TIMEDELTA: Final = 63
TIMEZONE: Final = 64
ZONEINFO: Final = 65

UUID: Final = 66
PATH: Final = 67
PATTERN: Final = 68
IP: Final = 69

SEND: Final = 72
COMMAND: Final = 73
INTERRUPT: Final = 74
OVERWRITE: Final = 75
DELTA_SNAPSHOT: Final = 76
SENDS: Final = 77

ARRAY: Final = 80
ARRAY_SCALAR: Final = 81
FRAME: Final = 84
SERIES: Final = 85
INDEX: Final = 86
TIMESTAMP: Final = 87
PANDAS_SINGLETON: Final = 88
POLARS_FRAME: Final = 92
POLARS_SERIES: Final = 93

PICKLE: Final = 100


HEAD_DATACLASS: Final = 1
HEAD_NAMEDTUPLE: Final = 2
HEAD_ENUM: Final = 3
HEAD_MODEL: Final = 4
HEAD_EXCEPTION: Final = 5
HEAD_SUBCLASS: Final = 6
HEAD_SECRET: Final = 7
HEAD_URL: Final = 8
