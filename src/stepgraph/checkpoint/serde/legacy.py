"""Reads the extensions that LangGraph's serializer writes (codes 0 to 7).

They name a module, a class (or a method of it) and arguments. Builtin types and those of graphs are made here, by
tables; a person's classes go through the policy and come back as in our own format. Pydantic models are the exception:
old data holds only their fields, with inner models as dicts, so they are validated, by loaded model classes only.

Rules: the names in the data are keys of tables; nothing is looked up by them but classes that the policy finds.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import ipaddress
import pathlib
import re
import uuid
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from ormsgpack import OPT_NON_STR_KEYS, unpackb

from stepgraph.channels.delta import DeltaSnapshot
from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.classes import is_dataclass, is_enum, is_exception, is_model, is_namedtuple
from stepgraph.checkpoint.serde.dates import zone_of_key
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, PlainDataWarning
from stepgraph.checkpoint.serde.exceptions import from_args
from stepgraph.checkpoint.serde.families import DECODERS
from stepgraph.checkpoint.serde.identifiers import to_path
from stepgraph.checkpoint.serde.plain import hashable, to_set
from stepgraph.checkpoint.serde.policy import Policy, warn_once
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.checkpoint.serde.records import member_of, record_restorer
from stepgraph.values.commands import Command, Interrupt, Overwrite, Send

Make = Callable[..., Any]


def _command(**fields: Any) -> Command[Any]:
    if fields.get("resume") is None:
        fields.pop("resume", None)
    return Command(**fields)


def _send(node: str, arg: Any, timeout: Any = None) -> Send:
    return Send(node, arg, timeout=timeout)


def _timeout_policy(**fields: Any) -> Any:
    from stepgraph.values.policies import TimeoutPolicy

    return TimeoutPolicy(**fields)


def _path(cls: type[pathlib.PurePath]) -> Make:
    return lambda *parts: to_path(cls, *parts)


_LIBRARY: Final[dict[tuple[str, str], Make]] = {
    ("builtins", "set"): lambda items=(): to_set(_as_tuples(items)),
    ("builtins", "frozenset"): lambda items=(): frozenset(to_set(_as_tuples(items))),
    ("builtins", "tuple"): tuple,
    ("collections", "deque"): collections.deque,
    ("uuid", "UUID"): uuid.UUID,
    ("decimal", "Decimal"): decimal.Decimal,
    ("datetime", "date"): datetime.date,
    ("datetime", "time"): datetime.time,
    ("datetime", "timedelta"): datetime.timedelta,
    ("datetime", "timezone"): datetime.timezone,
    ("datetime", "datetime"): datetime.datetime,
    ("zoneinfo", "ZoneInfo"): zone_of_key,
    ("re", "compile"): re.compile,
    **{
        (module, cls.__name__): _path(cls)
        for module in ("pathlib", "pathlib._local")
        for cls in (
            pathlib.Path,
            pathlib.PosixPath,
            pathlib.WindowsPath,
            pathlib.PurePosixPath,
            pathlib.PureWindowsPath,
        )
    },
    **{
        ("ipaddress", cls.__name__): cls
        for cls in (
            ipaddress.IPv4Address,
            ipaddress.IPv4Network,
            ipaddress.IPv4Interface,
            ipaddress.IPv6Address,
            ipaddress.IPv6Network,
            ipaddress.IPv6Interface,
        )
    },
}
_METHODS: Final[dict[tuple[str, str, str], Make]] = {
    ("datetime", "datetime", "fromisoformat"): datetime.datetime.fromisoformat,
    ("datetime", "date", "fromisoformat"): datetime.date.fromisoformat,
    ("datetime", "time", "fromisoformat"): datetime.time.fromisoformat,
}
_GRAPH: Final[dict[str, Make]] = {
    "Send": _send,
    "Command": _command,
    "Interrupt": Interrupt,
    "Overwrite": Overwrite,
    "TimeoutPolicy": _timeout_policy,
}
"""Classes of `langgraph`, wherever one of its versions kept them."""


_HOMES: Final = (
    "stepgraph.values.commands",
    "stepgraph.values.policies",
    "stepgraph.values.snapshots",
    "stepgraph.values.parts",
    "stepgraph.errors",
)
"""Where other classes of `langgraph` are with us."""


def _as_tuples(items: Any) -> Any:
    """The items of a set: what was written as a list can only have been a tuple."""
    return [hashable(item) for item in items]


def construct(
    policy: Policy, module: Any, name: Any, args: list[Any], fields: dict[str, Any], method: Any, plain: Any
) -> Any:
    """What an old constructor call stands for.

    Args:
        policy: Which classes may be used.
        module: The module that the data names.
        name: The class that the data names.
        args: Positional arguments.
        fields: Keyword arguments.
        method: A method in place of the constructor, if the data names one.
        plain: What comes back if the class may not be used.

    Returns:
        The object, or `plain` after a warning.
    """
    if type(module) is not str or type(name) is not str:
        raise CorruptPayloadError("Old stored bytes should name a module and a class.")
    make = (
        _LIBRARY.get((module, name))
        if method in (None, "construct")
        else _METHODS.get((module, name, method))
    )
    if make is None and module.partition(".")[0] == "langgraph":
        make = _GRAPH.get(name)
    if make is not None:
        return make(*args, **fields)
    return _class_object(policy, module, name, args, fields, plain)


def _class_object(
    policy: Policy, module: str, name: str, args: list[Any], fields: dict[str, Any], plain: Any
) -> Any:
    module, name = _today(module, name)
    cls: Any = policy.find(
        module, name.partition("[")[0], _is_known, "dataclass, named tuple, enum, model or exception"
    )
    if cls is None:
        return plain
    if "[" in name:
        cls = next((made for made in type.__subclasses__(cls) if made.__name__ == name), cls)
    if is_enum(cls):
        try:
            return member_of(cls, args[0] if len(args) == 1 else None)
        except (KeyError, ValueError, TypeError):
            return _not_restored(module, name, "the enum has no such member any more", plain)
    if is_exception(cls):
        return from_args(cls, args)
    if is_model(cls):
        return _model(cls, module, name, fields, plain)
    if is_namedtuple(cls):
        values = {**cls._field_defaults, **dict(zip(cls._fields, args)), **fields}
        if all(field in values for field in cls._fields):
            return tuple.__new__(cls, [values[field] for field in cls._fields])
        return _not_restored(module, name, "fields of the named tuple are not in the data", plain)
    if args:
        return _not_restored(module, name, "the data does not name the fields of the dataclass", plain)
    return record_restorer(cls, list(fields))(list(fields.values()))


def _is_known(cls: type) -> bool:
    return is_enum(cls) or is_exception(cls) or is_model(cls) or is_namedtuple(cls) or is_dataclass(cls)


def _today(module: str, name: str) -> tuple[str, str]:
    """Where a class is defined today: our own under their old names, and LangChain's under theirs."""
    root = module.partition(".")[0]
    if root == "langgraph":
        for home in _HOMES:
            found = vars(import_module(home)).get(name)
            if isinstance(found, type) and found.__module__ == home:
                return home, found.__qualname__
    if root in ("langchain", "langchain_core"):
        return _langchain_class(module, name)
    return module, name


def _langchain_class(module: str, name: str) -> tuple[str, str]:
    """Classes that LangChain lists as its messages and documents, whatever module the data names."""
    try:
        homes = [import_module("langchain_core.messages"), import_module("langchain_core.documents")]
    except ImportError:
        return module, name
    for home in homes:
        if name in home.__all__:
            found = getattr(home, name)
            if isinstance(found, type):
                return found.__module__, found.__qualname__
    return module, name


def _model(cls: Any, module: str, name: str, fields: dict[str, Any], plain: Any) -> Any:
    try:
        return cls.model_validate(fields)
    except ValueError as refused:
        try:
            return cls.model_construct(**fields)
        except (TypeError, ValueError):
            return _not_restored(module, name, str(refused), plain)


def _not_restored(module: str, name: str, reason: str, plain: Any) -> Any:
    warn_once(
        PlainDataWarning,
        module,
        name,
        f"A stored object of {module}.{name} comes back as plain data: {reason}.",
    )
    return plain


def _parts(reader: Reader, data: bytes, least: int) -> list[Any]:
    parts = unpackb(data, ext_hook=reader.hook, option=OPT_NON_STR_KEYS)
    if type(parts) is not list or len(parts) < least:
        raise CorruptPayloadError(f"Old stored bytes should hold {least} parts, got {parts!r:.60}")
    return parts


def _decode_single(reader: Reader, data: bytes) -> Any:
    module, name, argument = _parts(reader, data, 3)[:3]
    return construct(reader.policy, module, name, [argument], {}, None, argument)


def _decode_positional(reader: Reader, data: bytes) -> Any:
    module, name, args = _parts(reader, data, 3)[:3]
    return construct(reader.policy, module, name, list(args), {}, None, args)


def _decode_keywords(reader: Reader, data: bytes) -> Any:
    module, name, fields = _parts(reader, data, 3)[:3]
    return construct(reader.policy, module, name, [], _fields(fields), None, fields)


def _decode_method(reader: Reader, data: bytes) -> Any:
    module, name, argument, method = _parts(reader, data, 4)[:4]
    return construct(reader.policy, module, name, [argument], {}, method, argument)


def _decode_model(reader: Reader, data: bytes) -> Any:
    module, name, fields = _parts(reader, data, 3)[:3]
    return construct(reader.policy, module, name, [], _fields(fields), None, fields)


def _fields(fields: Any) -> dict[str, Any]:
    if type(fields) is not dict:
        raise CorruptPayloadError("Old stored bytes should hold the fields of an object.")
    return fields


def _decode_array(reader: Reader, data: bytes) -> Any:
    from stepgraph.checkpoint.serde.arrays import array_of, read_dtype

    description, shape, order, content = _parts(reader, data, 4)[:4]
    return array_of(read_dtype(description), shape, order, content)


def _decode_delta(reader: Reader, data: bytes) -> DeltaSnapshot:
    return DeltaSnapshot(unpackb(data, ext_hook=reader.hook, option=OPT_NON_STR_KEYS))


DECODERS[codes.LEGACY_SINGLE] = _decode_single
DECODERS[codes.LEGACY_POSITIONAL] = _decode_positional
DECODERS[codes.LEGACY_KEYWORDS] = _decode_keywords
DECODERS[codes.LEGACY_METHOD] = _decode_method
DECODERS[codes.LEGACY_MODEL_1] = _decode_model
DECODERS[codes.LEGACY_MODEL_2] = _decode_model
DECODERS[codes.LEGACY_ARRAY] = _decode_array
DECODERS[codes.LEGACY_DELTA] = _decode_delta
