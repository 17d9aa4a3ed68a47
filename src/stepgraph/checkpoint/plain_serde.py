"""A minimal serializer, for as long as the full one is not there: msgpack, and pickle for all else."""

from __future__ import annotations

import pickle
from typing import Any

import ormsgpack

_OPTIONS = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)


def _default(value: Any) -> Any:
    return ormsgpack.Ext(1, pickle.dumps(value, 5))


def _restore(_tag: int, data: bytes) -> Any:
    return pickle.loads(data)


class PlainSerializer:
    """Typed bytes of any value."""

    def pack(self, value: Any) -> bytes:
        return ormsgpack.packb(value, default=_default, option=_OPTIONS)

    def unpack(self, data: bytes) -> Any:
        return ormsgpack.unpackb(data, ext_hook=_restore, option=ormsgpack.OPT_NON_STR_KEYS)

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        return "plain", self.pack(value)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return self.unpack(data[1])
