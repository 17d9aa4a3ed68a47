"""Names of things: UUIDs, paths, patterns, IP addresses.

Rules: exact types only. A path of another kind of system comes back as the pure path of that kind.
"""

from __future__ import annotations

import ipaddress
import pathlib
import re
from typing import Any, Final
from uuid import UUID, SafeUUID

from ormsgpack import Ext

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.families import DECODERS, ENCODERS
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.checkpoint.serde.writer import Writer

_PATHS: Final = (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath)
_IPS: Final = (
    ipaddress.IPv4Address,
    ipaddress.IPv4Network,
    ipaddress.IPv4Interface,
    ipaddress.IPv6Address,
    ipaddress.IPv6Network,
    ipaddress.IPv6Interface,
)


def _encode_uuid(writer: Writer, obj: UUID) -> Ext:
    safe = obj.is_safe
    return Ext(
        codes.UUID, obj.bytes if safe is SafeUUID.unknown else obj.bytes + bytes((safe is SafeUUID.safe,))
    )


def _encode_path(writer: Writer, obj: pathlib.PurePath) -> Ext:
    kind = _PATHS.index(type(obj))
    return Ext(codes.PATH, bytes((kind,)) + str(obj).encode("utf-8", "surrogatepass"))


def _encode_pattern(writer: Writer, obj: re.Pattern[Any]) -> Ext:
    return Ext(codes.PATTERN, writer.pack([obj.pattern, obj.flags]))


def _encode_ip(writer: Writer, obj: Any) -> Ext:
    return Ext(codes.IP, bytes((_IPS.index(type(obj)),)) + str(obj).encode())


def _decode_uuid(reader: Reader, data: bytes) -> UUID:
    if len(data) == 17:
        return UUID(bytes=data[:16], is_safe=SafeUUID.safe if data[16] else SafeUUID.unsafe)
    return UUID(bytes=data)


def _decode_path(reader: Reader, data: bytes) -> pathlib.PurePath:
    cls = _PATHS[data[0]]
    text = data[1:].decode("utf-8", "surrogatepass")
    return to_path(cls, text)


def to_path(cls: type[pathlib.PurePath], *parts: str) -> pathlib.PurePath:
    """A path of that class, or the pure path of its kind where this system cannot have it."""
    if issubclass(cls, pathlib.Path) and not isinstance(pathlib.Path(), cls):
        cls = pathlib.PureWindowsPath if issubclass(cls, pathlib.PureWindowsPath) else pathlib.PurePosixPath
    return cls(*parts)


def _decode_pattern(reader: Reader, data: bytes) -> re.Pattern[Any]:
    pattern, flags = reader.unpack_list(data, 2)
    return re.compile(pattern, flags)


def _decode_ip(reader: Reader, data: bytes) -> Any:
    return _IPS[data[0]](data[1:].decode())


ENCODERS[UUID] = _encode_uuid
ENCODERS[re.Pattern] = _encode_pattern
for _cls in _PATHS:
    ENCODERS[_cls] = _encode_path
for _ip in _IPS:
    ENCODERS[_ip] = _encode_ip
DECODERS[codes.UUID] = _decode_uuid
DECODERS[codes.PATH] = _decode_path
DECODERS[codes.PATTERN] = _decode_pattern
DECODERS[codes.IP] = _decode_ip
