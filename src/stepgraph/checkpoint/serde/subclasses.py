"""Classes that a person derived from a type that has a stored form, such as `class Money(Decimal)`.

They are no records whose state could be put back blindly, so by default the value comes back as the base type, and
writing it warns. Where a person allows the class by name, subclasses of the plain builtins come back as themselves:
made by the builtin, with their attributes, without calling anything of the class.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, NotRestorableWarning
from stepgraph.checkpoint.serde.families import RESTORERS
from stepgraph.checkpoint.serde.policy import Policy, is_trusted, warn_once
from stepgraph.checkpoint.serde.writer import Head

if TYPE_CHECKING:
    from collections.abc import Callable

    from stepgraph.checkpoint.serde.families import Encode, Restore
    from stepgraph.checkpoint.serde.writer import Writer

EXACT: Final[dict[type, Callable[[Any], Any]]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    bytes: lambda obj: bytes.__getitem__(obj, slice(None)),
    list: lambda obj: list.__getitem__(obj, slice(None)),
    tuple: lambda obj: tuple.__getitem__(obj, slice(None)),
    dict: lambda obj: dict(dict.items(obj)),
    set: lambda obj: set(set.__iter__(obj)),
    frozenset: lambda obj: frozenset(frozenset.__iter__(obj)),
}
"""From a builtin to what turns an object of a subclass into one of the builtin itself."""

_SIMPLER: Final[dict[type, Callable[[Any], Any]]] = {
    datetime: lambda obj: datetime(
        obj.year,
        obj.month,
        obj.day,
        obj.hour,
        obj.minute,
        obj.second,
        obj.microsecond,
        obj.tzinfo,
        fold=obj.fold,
    ),
    date: lambda obj: date(obj.year, obj.month, obj.day),
    Decimal: lambda obj: Decimal(Decimal.__str__(obj)),
    Fraction: lambda obj: Fraction(obj.numerator, obj.denominator),
    UUID: lambda obj: UUID(int=obj.int),
    PurePosixPath: lambda obj: PurePosixPath(PurePath.__str__(obj)),
    PureWindowsPath: lambda obj: PureWindowsPath(PurePath.__str__(obj)),
}


def subclass_encoder(cls: type) -> Encode | None:
    """The encoder for a class derived from a known type; None if it is derived from none."""
    for base in cls.__mro__[1:]:
        if base in EXACT:
            return _exact_encoder(cls, base)
        if base in _SIMPLER:
            return _simpler_encoder(cls, base, _SIMPLER[base])
    return None


def _exact_encoder(cls: type, base: type) -> Encode:
    to_base = EXACT[base]
    head = Head(cls, codes.HEAD_SUBCLASS, cls.__module__, cls.__qualname__, base.__name__)

    def encode(writer: Writer, obj: Any) -> Any:
        if not is_trusted(cls.__module__) and not writer.policy.names_class(cls.__module__, cls.__qualname__):
            _warn_simpler(cls, base)
        attributes = getattr(obj, "__dict__", None) or None
        return writer.object(obj, head, [to_base(obj), attributes])

    return encode


def _simpler_encoder(cls: type, base: type, to_base: Callable[[Any], Any]) -> Encode:
    def encode(writer: Writer, obj: Any) -> Any:
        _warn_simpler(cls, base)
        return writer.default(to_base(obj))

    return encode


def _warn_simpler(cls: type, base: type) -> None:
    warn_once(
        NotRestorableWarning,
        cls.__module__,
        cls.__qualname__,
        f"An object of {cls.__module__}.{cls.__qualname__} is stored as the {base.__name__} that it is based on, and"
        f" comes back as that. Allow the class by name to get it back where its base is a plain builtin:"
        f" JsonPlusSerializer(allowed_modules=[{cls.__module__!r}]).",
    )


def _make_subclass_restorer(policy: Policy, head: list[Any]) -> tuple[type | None, Restore]:
    module, qualname = head[1], head[2]
    base = _BASES.get(head[3] if len(head) == 4 else None)
    if base is None:
        raise CorruptPayloadError("The stored bytes should name the builtin that a class is based on.")
    if not policy.names_class(module, qualname) and not is_trusted(module) and policy.mode != "lax":
        return None, _base_value
    cls = policy.find(module, qualname, lambda cls: _is_based_on(cls, base), f"subclass of {base.__name__}")
    if cls is None:
        return None, _base_value

    def restore(state: Any) -> Any:
        value, attributes = _check_state(state, base)
        if base is list:
            restored: Any = list.__new__(cls)
            list.extend(restored, value)
        elif base is dict:
            restored = dict.__new__(cls)
            dict.update(restored, value)
        elif base is set:
            restored = set.__new__(cls)
            set.update(restored, value)
        else:
            restored = base.__new__(cls, value)
        if attributes:
            object.__setattr__(restored, "__dict__", attributes)
        return restored

    return cls, restore


def _check_state(state: Any, base: type) -> tuple[Any, Any]:
    if (
        type(state) is not list
        or len(state) != 2
        or type(state[0]) is not base
        or not (state[1] is None or type(state[1]) is dict)
    ):
        raise CorruptPayloadError(f"The stored bytes should hold a {base.__name__} and attributes.")
    return state[0], state[1]


def _base_value(state: Any) -> Any:
    if type(state) is not list or len(state) != 2:
        raise CorruptPayloadError("The stored bytes should hold a value and attributes.")
    return state[0]


def _is_based_on(cls: type, base: type) -> bool:
    return next((known for known in cls.__mro__ if known in EXACT), None) is base


_BASES: Final[dict[Any, type]] = {base.__name__: base for base in EXACT}

RESTORERS[codes.HEAD_SUBCLASS] = _make_subclass_restorer
