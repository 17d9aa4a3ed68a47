"""Numbers beyond 64 bits and floats: big `int`, `complex`, `Decimal`, `Fraction`; and `range` and `slice`.

Rules: exact types only, stored without loss.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from struct import Struct
from typing import Any, Final

from ormsgpack import Ext

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError
from stepgraph.checkpoint.serde.families import DECODERS, ENCODERS
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.checkpoint.serde.writer import Writer

_COMPLEX: Final = Struct("<dd")


def _encode_int(writer: Writer, obj: int) -> Ext:
    return Ext(codes.INTEGER, obj.to_bytes(obj.bit_length() // 8 + 1, "big", signed=True))


def _encode_complex(writer: Writer, obj: complex) -> Ext:
    return Ext(codes.COMPLEX, _COMPLEX.pack(obj.real, obj.imag))


def _encode_decimal(writer: Writer, obj: Decimal) -> Ext:
    return Ext(codes.DECIMAL, str(obj).encode())


def _encode_fraction(writer: Writer, obj: Fraction) -> Ext:
    return Ext(codes.FRACTION, writer.pack([obj.numerator, obj.denominator]))


def _encode_range(writer: Writer, obj: range) -> Ext:
    return Ext(codes.RANGE, writer.pack([obj.start, obj.stop, obj.step]))


def _encode_slice(writer: Writer, obj: slice) -> Ext:
    return Ext(codes.SLICE, writer.pack([obj.start, obj.stop, obj.step]))


def _decode_int(reader: Reader, data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _decode_complex(reader: Reader, data: bytes) -> complex:
    return complex(*_COMPLEX.unpack(data))


def _decode_decimal(reader: Reader, data: bytes) -> Decimal:
    return Decimal(data.decode())


def _decode_fraction(reader: Reader, data: bytes) -> Fraction:
    numerator, denominator = reader.unpack_list(data, 2)
    if type(numerator) is not int or type(denominator) is not int:
        raise CorruptPayloadError("The stored bytes should hold the two numbers of a fraction.")
    return Fraction(numerator, denominator)


def _decode_range(reader: Reader, data: bytes) -> range:
    return range(*reader.unpack_list(data, 3))


def _decode_slice(reader: Reader, data: bytes) -> Any:
    return slice(*reader.unpack_list(data, 3))


ENCODERS[int] = _encode_int
ENCODERS[complex] = _encode_complex
ENCODERS[Decimal] = _encode_decimal
ENCODERS[Fraction] = _encode_fraction
ENCODERS[range] = _encode_range
ENCODERS[slice] = _encode_slice
DECODERS[codes.INTEGER] = _decode_int
DECODERS[codes.COMPLEX] = _decode_complex
DECODERS[codes.DECIMAL] = _decode_decimal
DECODERS[codes.FRACTION] = _decode_fraction
DECODERS[codes.RANGE] = _decode_range
DECODERS[codes.SLICE] = _decode_slice
