"""NumPy arrays and scalars, as their bytes with dtype, shape and order.

Rules: only exact arrays (no masked, memory-mapped or matrix kinds) of types whose bytes are the value. Reading checks
that the bytes fit the shape; NumPy itself is imported because data needs it, which this file's being loaded says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ormsgpack import Ext

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, Unstorable
from stepgraph.checkpoint.serde.families import DECODERS, ENCODERS
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.checkpoint.serde.writer import Numbered, Writer

try:
    import numpy as np
except ImportError as error:
    raise CorruptPayloadError(
        'A stored value is a NumPy array, and NumPy is not installed: pip install "stepgraph[numpy]".'
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterator

STORABLE_KINDS: Final = frozenset("biufcSUVMm")
MAX_EMPTY_ITEMS: Final = 1_000_000
"""So many items of no bytes are believed; more would be memory out of nothing."""


class ArrayContent:
    """Marks an array whose identity was noted already."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array


def describe_dtype(dtype: np.dtype[Any], culprit: Any) -> Any:
    """A dtype as data: its code, or the fields of a structured one.

    Raises:
        Unstorable: Its bytes are not the value (objects, variable text, types of other packages).
    """
    if dtype.hasobject or dtype.kind not in STORABLE_KINDS or dtype.isbuiltin == 2:
        raise Unstorable(
            culprit,
            f"a NumPy array or scalar of dtype {dtype} has no stored form. Convert it to numbers, fixed-width text or"
            " a list (array.tolist()).",
        )
    return np.lib.format.dtype_to_descr(dtype)


def read_dtype(description: Any) -> np.dtype[Any]:
    """The dtype that a description says; never one of objects."""
    try:
        dtype: np.dtype[Any] = np.lib.format.descr_to_dtype(description)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise CorruptPayloadError(
            f"The stored bytes describe no dtype of NumPy: {description!r:.60}"
        ) from error
    if dtype.hasobject:
        raise CorruptPayloadError(
            "The stored bytes claim to be a NumPy array of Python objects, which is never stored."
        )
    return dtype


def _encode_array(writer: Writer, obj: np.ndarray[Any, Any]) -> Any:
    describe_dtype(obj.dtype, obj)
    return writer.default(Numbered(obj, ArrayContent(obj)))


def _encode_content(writer: Writer, mark: ArrayContent) -> Ext:
    array = mark.array
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    description = describe_dtype(array.dtype, array)
    return Ext(codes.ARRAY, writer.pack([description, list(array.shape), order, array.tobytes(order)]))  # type: ignore[arg-type]


def _decode_array(reader: Reader, data: bytes) -> np.ndarray[Any, Any]:
    description, shape, order, content = reader.unpack_list(data, 4)
    return array_of(read_dtype(description), shape, order, content)


def array_of(dtype: np.dtype[Any], shape: Any, order: Any, content: Any) -> np.ndarray[Any, Any]:
    """An array of its own memory from its parts, after checking that they fit."""
    if type(shape) is not list or type(content) is not bytes or order not in ("C", "F"):
        raise CorruptPayloadError("The stored bytes should hold the shape, order and content of an array.")
    count = 1
    for length in shape:
        if type(length) is not int or length < 0:
            raise CorruptPayloadError(
                f"The stored bytes hold the impossible shape {shape!r:.60} of an array."
            )
        count *= length
    if count * dtype.itemsize != len(content) or (dtype.itemsize == 0 and count > MAX_EMPTY_ITEMS):
        raise CorruptPayloadError(
            f"The stored bytes hold {len(content)} bytes for an array of shape {shape!r:.60} and dtype {dtype}."
        )
    array: np.ndarray[Any, Any] = np.empty(tuple(shape), dtype, order)
    if content:
        flat = np.frombuffer(content, dtype)
        array[...] = flat.reshape(tuple(shape), order=order)
    return array


def _encode_scalar(writer: Writer, obj: np.generic) -> Ext:
    return Ext(
        codes.ARRAY_SCALAR,
        writer.pack([describe_dtype(obj.dtype, obj), obj.tobytes() if obj.dtype.itemsize else b""]),
    )


def _decode_scalar(reader: Reader, data: bytes) -> Any:
    description, content = reader.unpack_list(data, 2)
    return array_of(read_dtype(description), [], "C", content)[()]


def _scalar_types(cls: Any) -> Iterator[type]:
    yield cls
    for sub in cls.__subclasses__():
        if sub.__module__.partition(".")[0] == "numpy":
            yield from _scalar_types(sub)


ENCODERS[np.ndarray] = _encode_array
ENCODERS[ArrayContent] = _encode_content
for _cls in _scalar_types(np.generic):
    ENCODERS[_cls] = _encode_scalar
DECODERS[codes.ARRAY] = _decode_array
DECODERS[codes.ARRAY_SCALAR] = _decode_scalar
