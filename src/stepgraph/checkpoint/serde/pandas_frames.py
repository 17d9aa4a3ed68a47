"""Pandas frames, series, indexes and scalars, column by column.

A column is `[form, ...]`: its NumPy array, the list of its objects, or the parts of an extension array (codes and
categories, values and mask, text, instants and zone, ordinals and frequency, left and right). An index is a column with
names. So nothing is pickled, and dtypes come back as they were.

The arrays that Pandas makes for us live for a moment only, so they are marked as content and get no number.

Rules: public parts of Pandas only; exact frames and series (a subclass has state of its own). Sparse and Arrow columns
have no stored form and say so.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ormsgpack import Ext

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.arrays import ArrayContent
from stepgraph.checkpoint.serde.dates import storable_zone
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, Unstorable
from stepgraph.checkpoint.serde.families import DECODERS, ENCODERS
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.checkpoint.serde.writer import Numbered, Writer

try:
    np: Any = import_module("numpy")
    pd: Any = import_module("pandas")
except ImportError as error:
    raise CorruptPayloadError(
        "A stored value is a pandas object, and pandas is not installed: pip install pandas."
    ) from error

_MASKED: Final[dict[str, Any]] = {
    "integer": pd.arrays.IntegerArray,
    "floating": pd.arrays.FloatingArray,
    "boolean": pd.arrays.BooleanArray,
}


class FrameContent:
    """Marks a frame or series whose identity was noted already."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any) -> None:
        self.owner = owner


def column_parts(array: Any, owner: Any) -> list[Any]:
    """A column as data.

    Args:
        array: An extension array or a NumPy array.
        owner: The frame, series or index that it belongs to.

    Raises:
        Unstorable: Its dtype has no stored form.
    """
    dtype = array.dtype
    if isinstance(dtype, pd.StringDtype):
        missing = "nan" if getattr(dtype, "na_value", pd.NA) is not pd.NA else "NA"
        texts = [None if absent else str(text) for text, absent in zip(array, array.isna())]
        return ["text", dtype.storage, missing, texts]
    if isinstance(dtype, np.dtype) or isinstance(array, pd.arrays.NumpyExtensionArray):
        values = np.asarray(array)
        return ["objects", list(values)] if values.dtype.hasobject else ["array", ArrayContent(values)]
    if isinstance(dtype, pd.CategoricalDtype):
        return [
            "category",
            ArrayContent(np.asarray(array.codes)),
            index_parts(dtype.categories),
            bool(dtype.ordered),
        ]
    if isinstance(dtype, pd.DatetimeTZDtype):
        instants = ArrayContent(np.asarray(array.view("i8")))
        return ["zoned", instants, dtype.unit, storable_zone(dtype.tz, pd.Timestamp(0, tz=dtype.tz))]
    if isinstance(dtype, pd.PeriodDtype):
        return [
            "period",
            ArrayContent(np.asarray(array.view("i8"))),
            str(dtype).removeprefix("period[").removesuffix("]"),
        ]
    if isinstance(dtype, pd.IntervalDtype):
        return [
            "interval",
            index_parts(pd.Index(array.left)),
            index_parts(pd.Index(array.right)),
            dtype.closed,
        ]
    for form, cls in _MASKED.items():
        if isinstance(array, cls):
            values = array.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
            return [form, ArrayContent(values), ArrayContent(array.isna())]
    raise Unstorable(
        owner, f"a pandas column of dtype {dtype} has no stored form. Convert it with astype() first."
    )


def column_of(parts: Any) -> Any:
    """The column that `column_parts` described."""
    if type(parts) is not list or not parts:
        raise CorruptPayloadError("The stored bytes should hold a column of a frame.")
    form, *rest = parts
    if form == "array":
        (values,) = rest
        return values
    if form == "objects":
        (items,) = rest
        values = np.empty(len(items), dtype=object)
        for position, item in enumerate(items):
            values[position] = item
        return values
    if form == "text":
        return _text_column(*rest)
    if form == "category":
        numbers, categories, ordered = rest
        return pd.Categorical.from_codes(numbers, categories=index_of(categories), ordered=ordered)
    if form == "zoned":
        instants, unit, zone = rest
        naive = pd.DatetimeIndex(instants.view(f"M8[{unit}]"))
        return naive.tz_localize("UTC").tz_convert(zone).array
    if form == "period":
        ordinals, frequency = rest
        return pd.PeriodIndex.from_ordinals(ordinals, freq=frequency).array
    if form == "interval":
        left, right, closed = rest
        return pd.arrays.IntervalArray.from_arrays(index_of(left), index_of(right), closed=closed)
    if form in _MASKED:
        values, mask = rest
        return _MASKED[form](values, mask)
    raise CorruptPayloadError(f"The stored bytes hold a column of the unknown form {form!r:.60}.")


def _text_column(storage: str, missing: str, texts: list[Any]) -> Any:
    if missing == "nan":
        dtype = pd.StringDtype(storage, na_value=np.nan)
    else:
        dtype = pd.StringDtype(storage)
    return pd.array(texts, dtype=dtype)


def index_parts(index: Any) -> list[Any]:
    """An index as data."""
    if isinstance(index, pd.MultiIndex):
        levels = [index_parts(level) for level in index.levels]
        return [
            "levels",
            levels,
            [ArrayContent(np.asarray(numbers)) for numbers in index.codes],
            list(index.names),
        ]
    if isinstance(index, pd.RangeIndex):
        return ["range", index.start, index.stop, index.step, index.name]
    frequency = (
        getattr(index, "freq", None) if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex) else None
    )
    return [
        "values",
        column_parts(index.array, index),
        index.name,
        None if frequency is None else frequency.freqstr,
    ]


def index_of(parts: Any) -> Any:
    """The index that `index_parts` described."""
    if type(parts) is not list or not parts:
        raise CorruptPayloadError("The stored bytes should hold an index.")
    form, *rest = parts
    if form == "levels":
        levels, numbers, names = rest
        return pd.MultiIndex(levels=[index_of(level) for level in levels], codes=numbers, names=names)
    if form == "range":
        start, stop, step, name = rest
        return pd.RangeIndex(start, stop, step, name=name)
    if form == "values":
        column, name, frequency = rest
        values = column_of(column)
        index = pd.Index(values, dtype=values.dtype, name=name)
        if frequency is not None:
            index.freq = frequency
        return index
    raise CorruptPayloadError(f"The stored bytes hold an index of the unknown form {form!r:.60}.")


def _encode_numbered(writer: Writer, obj: Any) -> Any:
    return writer.default(Numbered(obj, FrameContent(obj)))


def _encode_content(writer: Writer, mark: FrameContent) -> Ext:
    owner = mark.owner
    if isinstance(owner, pd.Series):
        series = [column_parts(owner.array, owner), index_parts(owner.index), owner.name, owner.attrs or None]
        return Ext(codes.SERIES, writer.pack(series))
    columns = [column_parts(owner.iloc[:, position].array, owner) for position in range(owner.shape[1])]
    frame = [index_parts(owner.columns), index_parts(owner.index), columns, owner.attrs or None]
    return Ext(codes.FRAME, writer.pack(frame))


def _decode_series(reader: Reader, data: bytes) -> Any:
    values, index, name, attributes = reader.unpack_list(data, 4)
    column = column_of(values)
    series = pd.Series(column, index=index_of(index), name=name, dtype=column.dtype)
    series.attrs = attributes or {}
    return series


def _decode_frame(reader: Reader, data: bytes) -> Any:
    names, index, columns, attributes = reader.unpack_list(data, 4)
    rows = index_of(index)
    arrays = [column_of(column) for column in columns]
    series = {number: pd.Series(array, index=rows, dtype=array.dtype) for number, array in enumerate(arrays)}
    frame = pd.DataFrame(series, index=rows)
    frame.columns = index_of(names)
    frame.attrs = attributes or {}
    return frame


def _encode_index(writer: Writer, obj: Any) -> Ext:
    return Ext(codes.INDEX, writer.pack(index_parts(obj)))


def _decode_index(reader: Reader, data: bytes) -> Any:
    return index_of(reader.unpack(data))


def _encode_timestamp(writer: Writer, obj: Any) -> Ext:
    zone = None if obj.tzinfo is None else storable_zone(obj.tzinfo, obj)
    return Ext(codes.TIMESTAMP, writer.pack(["t", obj.asm8, zone]))


def _encode_timedelta(writer: Writer, obj: Any) -> Ext:
    return Ext(codes.TIMESTAMP, writer.pack(["d", obj.asm8, None]))


def _encode_period(writer: Writer, obj: Any) -> Ext:
    return Ext(codes.TIMESTAMP, writer.pack(["p", obj.ordinal, obj.freqstr]))


def _encode_interval(writer: Writer, obj: Any) -> Ext:
    return Ext(codes.TIMESTAMP, writer.pack(["i", [obj.left, obj.right], obj.closed]))


def _decode_scalar(reader: Reader, data: bytes) -> Any:
    kind, value, extra = reader.unpack_list(data, 3)
    if kind == "t":
        moment = pd.Timestamp(value)
        return moment if extra is None else moment.tz_localize("UTC").tz_convert(extra)
    if kind == "d":
        return pd.Timedelta(value)
    if kind == "p":
        return pd.Period(ordinal=value, freq=extra)
    if kind == "i":
        return pd.Interval(*value, closed=extra)
    raise CorruptPayloadError(f"The stored bytes hold a pandas value of the unknown kind {kind!r:.60}.")


def _encode_singleton(writer: Writer, obj: Any) -> Ext:
    return Ext(codes.PANDAS_SINGLETON, b"T" if obj is pd.NaT else b"A")


def _decode_singleton(reader: Reader, data: bytes) -> Any:
    return pd.NaT if data == b"T" else pd.NA


for _cls in (pd.DataFrame, pd.Series):
    ENCODERS[_cls] = _encode_numbered
for _index in (
    pd.Index,
    pd.RangeIndex,
    pd.MultiIndex,
    pd.DatetimeIndex,
    pd.TimedeltaIndex,
    pd.PeriodIndex,
    pd.CategoricalIndex,
    pd.IntervalIndex,
):
    ENCODERS[_index] = _encode_index
ENCODERS[FrameContent] = _encode_content
ENCODERS[pd.Timestamp] = _encode_timestamp
ENCODERS[pd.Timedelta] = _encode_timedelta
ENCODERS[pd.Period] = _encode_period
ENCODERS[pd.Interval] = _encode_interval
ENCODERS[type(pd.NaT)] = _encode_singleton
ENCODERS[type(pd.NA)] = _encode_singleton
DECODERS[codes.FRAME] = _decode_frame
DECODERS[codes.SERIES] = _decode_series
DECODERS[codes.INDEX] = _decode_index
DECODERS[codes.TIMESTAMP] = _decode_scalar
DECODERS[codes.PANDAS_SINGLETON] = _decode_singleton
