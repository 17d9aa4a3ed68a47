"""Builtin containers and marks: tuples, sets, deques, the dicts of `collections`, `bytearray`, `...`.

Rules: only exact types; subclasses belong to `subclasses.py`.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any, Final

from ormsgpack import Ext

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, NotRestorableWarning
from stepgraph.checkpoint.serde.families import DECODERS, ENCODERS
from stepgraph.checkpoint.serde.policy import warn_once
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.checkpoint.serde.writer import MANY, Writer, fold_repeats

FACTORIES: Final[dict[str, Any]] = {
    cls.__name__: cls
    for cls in (bool, bytearray, bytes, complex, dict, float, frozenset, int, list, set, str, tuple)
} | {"Counter": Counter, "OrderedDict": OrderedDict, "deque": deque, "defaultdict": defaultdict}

_SINGLETONS: Final[tuple[Any, ...]] = (..., NotImplemented)


def in_stable_order(items: list[Any]) -> list[Any]:
    """Text and numbers sorted, so that equal sets give equal bytes in every process; others as they come."""
    kinds = set(map(type, items))
    if len(kinds) == 1 and kinds <= _SORTABLE:
        items.sort()
    return items


_SORTABLE: Final = frozenset((str, int, bytes))


def hashable(item: Any) -> Any:
    """The item, or a form of it that can be a key: what came back as plain data may be a dict or a list."""
    try:
        hash(item)
    except TypeError:
        if isinstance(item, dict):
            return tuple([(hashable(key), hashable(value)) for key, value in item.items()])
        if isinstance(item, list | tuple):
            return tuple([hashable(part) for part in item])
        if isinstance(item, set):
            return frozenset(item)
        raise
    return item


def to_set(items: list[Any]) -> set[Any]:
    """A set of items that may have come back as plain data."""
    try:
        return set(items)
    except TypeError:
        return {hashable(item) for item in items}


def to_dict(keys: Any, values: Any) -> dict[Any, Any]:
    """A dict of keys that may have come back as plain data."""
    if type(keys) is not list or type(values) is not list or len(keys) != len(values):
        raise CorruptPayloadError("The stored bytes should hold as many keys as values.")
    try:
        return dict(zip(keys, values))
    except TypeError:
        return {hashable(key): value for key, value in zip(keys, values)}


def _encode_tuple(writer: Writer, obj: tuple[Any, ...]) -> Ext:
    items = [*obj]
    return Ext(codes.TUPLE, writer.pack(fold_repeats(items) if len(items) > MANY else items))


def _encode_set(writer: Writer, obj: set[Any]) -> Ext:
    return Ext(codes.SET, writer.pack(in_stable_order([*obj])))


def _encode_frozenset(writer: Writer, obj: frozenset[Any]) -> Ext:
    return Ext(codes.FROZENSET, writer.pack(in_stable_order([*obj])))


def _encode_deque(writer: Writer, obj: deque[Any]) -> Ext:
    return Ext(codes.DEQUE, writer.pack([obj.maxlen, [*obj]]))


def _encode_defaultdict(writer: Writer, obj: defaultdict[Any, Any]) -> Ext:
    factory = obj.default_factory
    name = getattr(factory, "__name__", None) if factory is not None else None
    if factory is not None and FACTORIES.get(name or "") is not factory:
        label = getattr(factory, "__qualname__", repr(factory))
        warn_once(
            NotRestorableWarning,
            "collections.defaultdict",
            label,
            f"A defaultdict is stored without its factory {label}, which has no stored form: it comes back with none,"
            " so that a missing key is a KeyError. Use a builtin factory such as list or int.",
        )
        name = None
    return Ext(codes.DEFAULTDICT, writer.pack([name, [*obj], [*obj.values()]]))


def _encode_counter(writer: Writer, obj: Counter[Any]) -> Ext:
    return Ext(codes.COUNTER, writer.pack([[*obj], [*obj.values()]]))


def _encode_ordered_dict(writer: Writer, obj: OrderedDict[Any, Any]) -> Ext:
    return Ext(codes.ORDERED_DICT, writer.pack([[*obj], [*obj.values()]]))


def _encode_singleton(writer: Writer, obj: Any) -> Ext:
    return Ext(codes.SINGLETON, bytes((_SINGLETONS.index(obj),)))


def _decode_items(reader: Reader, data: bytes) -> list[Any]:
    items = reader.unpack(data)
    if type(items) is not list:
        raise CorruptPayloadError(f"The stored bytes should hold the items of a container, got {items!r:.60}")
    return items


def _decode_tuple(reader: Reader, data: bytes) -> tuple[Any, ...]:
    return tuple(_decode_items(reader, data))


def _decode_set(reader: Reader, data: bytes) -> set[Any]:
    return to_set(_decode_items(reader, data))


def _decode_frozenset(reader: Reader, data: bytes) -> frozenset[Any]:
    return frozenset(to_set(_decode_items(reader, data)))


def _decode_deque(reader: Reader, data: bytes) -> deque[Any]:
    maxlen, items = reader.unpack_list(data, 2)
    return deque(items, maxlen)


def _decode_pairs(reader: Reader, data: bytes) -> dict[Any, Any]:
    return to_dict(*reader.unpack_list(data, 2))


def _decode_defaultdict(reader: Reader, data: bytes) -> defaultdict[Any, Any]:
    name, keys, values = reader.unpack_list(data, 3)
    return defaultdict(None if name is None else FACTORIES[name], to_dict(keys, values))


def _decode_counter(reader: Reader, data: bytes) -> Counter[Any]:
    counter: Counter[Any] = Counter()
    dict.update(counter, to_dict(*reader.unpack_list(data, 2)))
    return counter


def _decode_ordered_dict(reader: Reader, data: bytes) -> OrderedDict[Any, Any]:
    return OrderedDict(to_dict(*reader.unpack_list(data, 2)))


def _decode_bytearray(reader: Reader, data: bytes) -> bytearray:
    return bytearray(data)


def _decode_memoryview(reader: Reader, data: bytes) -> memoryview:
    form, shape, content = reader.unpack_list(data, 3)
    view = memoryview(content)
    return view if form == "B" and len(shape) == 1 else view.cast("B").cast(form, shape)


def _decode_text(reader: Reader, data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _decode_singleton(reader: Reader, data: bytes) -> Any:
    return _SINGLETONS[data[0]]


def _decode_pickle(reader: Reader, data: bytes) -> Any:
    if not reader.policy.pickle:
        raise CorruptPayloadError(
            "The stored bytes hold a pickle. Unpickling runs code that the data names; if you trust whoever can write to"
            " the store, read it with JsonPlusSerializer(pickle_fallback=True)."
        )
    import pickle

    return pickle.loads(data)


ENCODERS[tuple] = _encode_tuple
ENCODERS[set] = _encode_set
ENCODERS[frozenset] = _encode_frozenset
ENCODERS[deque] = _encode_deque
ENCODERS[defaultdict] = _encode_defaultdict
ENCODERS[Counter] = _encode_counter
ENCODERS[OrderedDict] = _encode_ordered_dict
ENCODERS[type(...)] = _encode_singleton
ENCODERS[type(NotImplemented)] = _encode_singleton
DECODERS[codes.TUPLE] = _decode_tuple
DECODERS[codes.PAIRS] = _decode_pairs
DECODERS[codes.SET] = _decode_set
DECODERS[codes.FROZENSET] = _decode_frozenset
DECODERS[codes.DEQUE] = _decode_deque
DECODERS[codes.DEFAULTDICT] = _decode_defaultdict
DECODERS[codes.COUNTER] = _decode_counter
DECODERS[codes.ORDERED_DICT] = _decode_ordered_dict
DECODERS[codes.BYTEARRAY] = _decode_bytearray
DECODERS[codes.MEMORYVIEW] = _decode_memoryview
DECODERS[codes.TEXT] = _decode_text
DECODERS[codes.SINGLETON] = _decode_singleton
DECODERS[codes.PICKLE] = _decode_pickle
