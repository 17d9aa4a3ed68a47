"""Polars frames and series, in the Arrow file format that Polars itself writes and reads.

Rules: only data goes in and out; lazy frames hold plans and functions and are refused by having no encoder.
"""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any

from ormsgpack import Ext

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, Unstorable
from stepgraph.checkpoint.serde.families import DECODERS, ENCODERS
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.checkpoint.serde.writer import Numbered, Writer

try:
    pl: Any = import_module("polars")
except ImportError as error:
    raise CorruptPayloadError(
        "A stored value is a Polars object, and Polars is not installed: pip install polars."
    ) from error


class PolarsContent:
    """Marks a frame or series whose identity was noted already."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any) -> None:
        self.owner = owner


def _encode_numbered(writer: Writer, obj: Any) -> Any:
    return writer.default(Numbered(obj, PolarsContent(obj)))


def _encode_content(writer: Writer, mark: PolarsContent) -> Ext:
    owner = mark.owner
    if isinstance(owner, pl.Series):
        return Ext(codes.POLARS_SERIES, _arrow_bytes(owner.to_frame(), owner))
    return Ext(codes.POLARS_FRAME, _arrow_bytes(owner, owner))


def _arrow_bytes(frame: Any, culprit: Any) -> bytes:
    if any(dtype == pl.Object for dtype in frame.dtypes):
        raise Unstorable(
            culprit, "a Polars column of Python objects has no stored form. Give it a Polars type."
        )
    out = BytesIO()
    frame.write_ipc(out, compression="uncompressed")
    return out.getvalue()


def _frame_of(data: bytes) -> Any:
    try:
        return pl.read_ipc(BytesIO(data))
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise CorruptPayloadError(
                f"The stored bytes hold no Arrow data that Polars can read: {error}"
            ) from error
        raise


def _decode_frame(reader: Reader, data: bytes) -> Any:
    return _frame_of(data)


def _decode_series(reader: Reader, data: bytes) -> Any:
    return _frame_of(data).to_series(0)


ENCODERS[pl.DataFrame] = _encode_numbered
ENCODERS[pl.Series] = _encode_numbered
ENCODERS[PolarsContent] = _encode_content
DECODERS[codes.POLARS_FRAME] = _decode_frame
DECODERS[codes.POLARS_SERIES] = _decode_series
