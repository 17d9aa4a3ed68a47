"""Dataclasses (and records that answer like them), named tuples and enums.

Objects are put together without calling `__init__`, `__post_init__`, `__new__` or `__setattr__` of their class: what was
in `__dict__` and in slots goes back there. A field that the class has got since then takes its default.

Rules: the shape of the state (the names) is in the head, so it is stored once in a document.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum, Flag
from operator import attrgetter
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.classes import is_dataclass, is_enum, is_namedtuple
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, PlainDataWarning
from stepgraph.checkpoint.serde.families import RESTORERS
from stepgraph.checkpoint.serde.lookup import is_builtin
from stepgraph.checkpoint.serde.policy import Policy, check_names, check_values, plain_record, warn_once
from stepgraph.checkpoint.serde.writer import Head

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.families import Encode, Restore
    from stepgraph.checkpoint.serde.writer import Writer

MAX_SHAPES: Final = 256

_new: Final = object.__new__
_set: Final = object.__setattr__


def names_not_stored(cls: type) -> frozenset[str]:
    """What may be in an object's `__dict__` without being state: cached properties, marks of `typing`."""
    from functools import cached_property

    names = {
        name
        for base in cls.__mro__
        for name, member in base.__dict__.items()
        if isinstance(member, cached_property)
    }
    return frozenset(names | {"__orig_class__"})


def slots_of(cls: type) -> dict[str, Callable[[Any, Any], None]]:
    """The slots of a class and its bases: from their names as attributes to what sets them, whatever the class says."""
    found: dict[str, Callable[[Any, Any], None]] = {}
    for base in reversed(cls.__mro__):
        for name, member in base.__dict__.items():
            if type(member) is MemberDescriptorType and not is_builtin(base):
                found[name] = member.__set__
    return found


def shapes(cls: type, kind: int) -> Callable[[tuple[str, ...]], Head]:
    """A function from the names of a state to the head of that shape; made once a shape."""
    known: dict[tuple[str, ...], Head] = {}

    def head(names: tuple[str, ...]) -> Head:
        found = known.get(names)
        if found is None:
            found = Head(cls, kind, cls.__module__, cls.__qualname__, list(names))
            if len(known) < MAX_SHAPES:
                known[names] = found
        return found

    return head


def dataclass_encoder(cls: type) -> Encode:
    """The encoder for a dataclass, with or without slots."""
    head = shapes(cls, codes.HEAD_DATACLASS)
    hidden = names_not_stored(cls)
    slots = slots_of(cls)

    def encode_dict(writer: Writer, obj: Any) -> Any:
        state = obj.__dict__
        if not hidden.isdisjoint(state):
            state = {name: value for name, value in state.items() if name not in hidden}
        return writer.object(obj, head(tuple(state)), [*state.values()])

    if not slots:
        return encode_dict
    full = head(tuple(slots))
    read = _reader_of(tuple(slots))
    has_dict = cls.__dictoffset__ != 0

    def encode_slots(writer: Writer, obj: Any) -> Any:
        if not has_dict:
            try:
                return writer.object(obj, full, read(obj))
            except AttributeError:
                if all(hasattr(obj, name) for name in slots):
                    raise
        state = {name: getattr(obj, name) for name in slots if hasattr(obj, name)}
        if has_dict:
            state |= {name: value for name, value in obj.__dict__.items() if name not in hidden}
        return writer.object(obj, head(tuple(state)), [*state.values()])

    return encode_slots


def _reader_of(names: tuple[str, ...]) -> Callable[[Any], list[Any]]:
    """A function that reads these attributes of an object into a list."""
    read = attrgetter(*names)
    if len(names) == 1:
        return lambda obj: [read(obj)]
    return lambda obj: [*read(obj)]


def namedtuple_encoder(cls: type) -> Encode:
    """The encoder for a named tuple."""
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    head = shapes(cls, codes.HEAD_NAMEDTUPLE)(fields)

    def encode(writer: Writer, obj: tuple[Any, ...]) -> Any:
        return writer.record(head, [*obj])

    return encode


def enum_encoder(cls: type) -> Encode:
    """The encoder for an enum: by value if that is a number or text, else by name."""
    head = Head(cls, codes.HEAD_ENUM, cls.__module__, cls.__qualname__)

    def encode(writer: Writer, obj: Enum) -> Any:
        value = obj._value_
        if type(value) is str or type(value) is int:
            return writer.record(head, value)
        return writer.record(head, [obj._name_])

    return encode


def make_dataclass_restorer(policy: Policy, head: list[Any]) -> tuple[type | None, Restore]:
    """What puts the state of a dataclass into an object."""
    module, qualname = head[1], head[2]
    names = check_names(head[3] if len(head) == 4 else None)
    cls = policy.find(module, qualname, is_dataclass, "dataclass")
    if cls is None:
        return None, plain_record(names)
    return cls, record_restorer(cls, names)


def record_restorer(cls: type, names: list[str]) -> Restore:
    """A function from the values of those names to an object of a class that really is a dataclass."""
    length = len(names)
    late = _late_fields(cls, names)
    setters = slots_of(cls)

    if not setters and not late:

        def restore_dict(values: Any) -> Any:
            if type(values) is not list or len(values) != length:
                check_values(values, length)
            restored: Any = _new(cls)
            _set(restored, "__dict__", dict(zip(names, values)))
            return restored

        return restore_dict

    has_dict = cls.__dictoffset__ != 0
    homeless = [] if has_dict else [name for name in names if name not in setters]
    if homeless:
        warn_once(
            PlainDataWarning,
            f"{cls.__module__}.{cls.__qualname__}",
            str(homeless),
            f"A stored {cls.__module__}.{cls.__qualname__} has the fields {homeless}, which the class has no more and has"
            " no room for: their values are left out.",
        )

    def restore(values: Any) -> Any:
        restored: Any = _new(cls)
        state = dict(zip(names, check_values(values, length)))
        for name, default in late.items():
            state[name] = default()
        for name, setter in setters.items():
            if name in state:
                setter(restored, state.pop(name))
        if has_dict:
            _set(restored, "__dict__", state)
        return restored

    return restore


def _late_fields(cls: type, names: list[str]) -> dict[str, Callable[[], Any]]:
    """The fields that a stored state lacks and the class has a default for."""
    if "dataclasses" not in sys.modules:
        return {}
    from dataclasses import MISSING, fields

    stored = set(names)
    late: dict[str, Callable[[], Any]] = {}
    for field in fields(cls):
        if field.name in stored:
            continue
        if field.default_factory is not MISSING:
            late[field.name] = field.default_factory
        elif field.default is not MISSING:
            late[field.name] = _constant(field.default)
        elif field.init:
            warn_once(
                PlainDataWarning,
                f"{cls.__module__}.{cls.__qualname__}",
                field.name,
                f"A stored {cls.__module__}.{cls.__qualname__} lacks the field {field.name!r}, which the class has got"
                " since then and has no default for: give it a default, or the attribute is not set.",
            )
    return late


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _make_namedtuple_restorer(policy: Policy, head: list[Any]) -> tuple[type | None, Restore]:
    names = check_names(head[3] if len(head) == 4 else None)
    cls = policy.find(head[1], head[2], is_namedtuple, "named tuple")
    if cls is None:
        return None, plain_record(names)
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    if fields == tuple(names):

        def restore(values: Any) -> Any:
            return tuple.__new__(cls, check_values(values, len(names)))

        return cls, restore
    defaults: dict[str, Any] = getattr(cls, "_field_defaults", {})
    lost = [name for name in fields if name not in names and name not in defaults]
    if lost:
        warn_once(
            PlainDataWarning,
            head[1],
            head[2],
            f"A stored {head[1]}.{head[2]} comes back as a dict: it lacks the fields {lost}, which the named tuple has"
            " got since then and has no default for.",
        )
        return None, plain_record(names)

    def restore_changed(values: Any) -> Any:
        state = {**defaults, **dict(zip(names, check_values(values, len(names))))}
        return tuple.__new__(cls, [state[name] for name in fields])

    return cls, restore_changed


def _make_enum_restorer(policy: Policy, head: list[Any]) -> tuple[type | None, Restore]:
    module, qualname = head[1], head[2]
    cls = policy.find(module, qualname, is_enum, "enum")
    if cls is None:
        return None, _plain_member

    def restore(value: Any) -> Any:
        try:
            return member_of(cls, value)
        except (KeyError, ValueError, TypeError):
            warn_once(
                PlainDataWarning,
                f"{module}.{qualname}",
                repr(value),
                f"A stored member of {module}.{qualname} comes back as {_plain_member(value)!r}: the enum has no such"
                " member any more.",
            )
            return _plain_member(value)

    return cls, restore


def _plain_member(value: Any) -> Any:
    return value[0] if type(value) is list and len(value) == 1 else value


def member_of(cls: Any, value: Any) -> Any:
    """The member of an enum of that value, or of that name if it is in a list.

    Raises:
        KeyError: There is none.
        ValueError: There is none among the flags.
    """
    if type(value) is list:
        if len(value) != 1:
            raise CorruptPayloadError(f"The stored bytes should name a member of {cls.__qualname__}.")
        if value[0] in cls._member_map_:
            return cls._member_map_[value[0]]
        raise KeyError(value[0])
    if type(value) in (str, int):
        member = cls._value2member_map_.get(value)
        if member is not None:
            return member
        if issubclass(cls, Flag) and type(value) is int:
            return cls(value)
    for member in cls._member_map_.values():
        if member._value_ == value:
            return member
    raise KeyError(value)


RESTORERS[codes.HEAD_DATACLASS] = make_dataclass_restorer
RESTORERS[codes.HEAD_NAMEDTUPLE] = _make_namedtuple_restorer
RESTORERS[codes.HEAD_ENUM] = _make_enum_restorer
