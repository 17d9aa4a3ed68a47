"""Checking a value against a type, without Pydantic.

Rules of this file: pure functions of a type and a value; the value is never changed. They know the types that people
are asked for: builtins, containers, unions, literals, enums, TypedDicts, dataclasses and annotated classes.

Theory: an answer comes from a form or from JSON, so text that says a number or a truth value is taken as one, and a
dict becomes the object that is asked for. All faults of a value are collected, each with the path to it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

from stepgraph.schema.annotations import bare_type
from stepgraph.schema.declared import declared_fields, schema_name
from stepgraph.schema.kinds import is_typed_dict, kind_of
from stepgraph.schema.objects import mapper_for
from stepgraph.values.missing import MISSING

__all__ = ["check_value"]

_TRUE: Final = frozenset({"true", "t", "yes", "y", "on", "1"})
_WHOLE_NUMBER: Final = re.compile(r"([+-]?[0-9]+)(\.0+)?")
_FALSE: Final = frozenset({"false", "f", "no", "n", "off", "0"})


class Faults:
    """The faults found so far, and the path to the value at hand."""

    __slots__ = ("found", "path")

    def __init__(self) -> None:
        self.found: list[str] = []
        self.path: list[Any] = []

    def missing(self) -> None:
        """Note that there is no value at this path."""
        self.found.append(f"{'.'.join(map(str, self.path))}: a value is required")

    def add(self, expected: str, value: Any) -> Any:
        """Note a fault at this path; returns `MISSING`, to be handed on as the checked value."""
        place = ".".join(map(str, self.path))
        self.found.append((f"{place}: " if place else "") + f"expected {expected}, got {value!r}")
        return MISSING


def check_value(hint: Any, value: Any) -> Any:
    """Check a value and convert it to the type.

    Args:
        hint: the type.
        value: what was given.

    Returns:
        The value as the type has it.

    Raises:
        ValueError: it does not fit; the message lists every fault with the path to it.

    >>> check_value(dict[str, int], {"a": "1"})
    {'a': 1}
    """
    faults = Faults()
    checked = _checked(hint, value, faults)
    if faults.found:
        count = len(faults.found)
        heading = f"{count} fault{'s' if count > 1 else ''} in the value for {schema_name(hint)}"
        raise ValueError("\n".join([f"{heading}:", *(f"  {fault}" for fault in faults.found)]))
    return checked


def _checked(hint: Any, value: Any, faults: Faults) -> Any:
    hint = bare_type(hint)
    hint = getattr(hint, "__value__", getattr(hint, "__supertype__", hint))
    if hint is Any or hint is object or isinstance(hint, TypeVar):
        return value
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _checked_union(hint, value, faults)
    if origin is Literal:
        choices = get_args(hint)
        for choice in choices:
            if value == choice and type(value) is type(choice):
                return choice
        return faults.add(f"one of {', '.join(map(repr, choices))}", value)
    if kind_of(hint) != "root":
        return _checked_object(hint, value, faults)
    target = NoneType if hint is None else origin or hint
    if not isinstance(target, type):
        return value
    if target in _SCALARS:
        return _SCALARS[target](value, faults)
    if issubclass(target, Enum):
        return _checked_enum(target, value, faults)
    if issubclass(target, Collection) and target not in (bytes, bytearray):
        return _checked_container(target, get_args(hint), value, faults)
    return value if isinstance(value, target) else faults.add(f"a {target.__name__}", value)


def _checked_union(hint: Any, value: Any, faults: Faults) -> Any:
    """The member that the value already is goes before those that it could be converted to."""
    options = get_args(hint)
    exact = [option for option in options if option in (type(value), None if value is None else type(value))]
    for option in [*exact, *options]:
        attempt = Faults()
        checked = _checked(option, value, attempt)
        if not attempt.found:
            return checked
    return faults.add(
        " or ".join("None" if option is NoneType else schema_name(option) for option in options), value
    )


def _checked_enum(target: type[Enum], value: Any, faults: Faults) -> Any:
    try:
        return target(value)
    except ValueError:
        return faults.add(f"one of {', '.join(repr(member.value) for member in target)}", value)


def _checked_object(schema: Any, value: Any, faults: Faults) -> Any:
    cls = get_origin(schema) or schema
    if not is_typed_dict(cls) and isinstance(value, cls):
        return value
    if not isinstance(value, Mapping):
        return faults.add(f"a dict of the fields of {schema_name(cls)}", value)
    before = len(faults.found)
    values: dict[str, Any] = {}
    for name, field in declared_fields(schema).items():
        faults.path.append(name)
        if name in value:
            values[name] = _checked(field.annotation, value[name], faults)
        elif field.required:
            faults.missing()
        faults.path.pop()
    if len(faults.found) > before:
        return MISSING
    build = mapper_for(schema)
    return values if build is None else build(values)


def _checked_container(target: type, arguments: tuple[Any, ...], value: Any, faults: Faults) -> Any:
    if issubclass(target, Mapping):
        return _checked_mapping(arguments, value, faults)
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, (Sequence, set, frozenset)):
        return faults.add(f"a {target.__name__}", value)
    items = list(value)
    if issubclass(target, tuple) and arguments and arguments[-1] is not Ellipsis:
        if len(items) != len(arguments):
            return faults.add(f"{len(arguments)} items", value)
        hints = list(arguments)
    else:
        hints = [arguments[0] if arguments else Any] * len(items)
    checked = []
    for index, (hint, item) in enumerate(zip(hints, items)):
        faults.path.append(index)
        checked.append(_checked(hint, item, faults))
        faults.path.pop()
    for concrete in (tuple, frozenset, set):
        if issubclass(target, concrete):
            return concrete(checked)
    return checked


def _checked_mapping(arguments: tuple[Any, ...], value: Any, faults: Faults) -> Any:
    if not isinstance(value, Mapping):
        return faults.add("a dict", value)
    key_hint, value_hint = arguments if len(arguments) == 2 else (Any, Any)
    checked = {}
    for key, item in value.items():
        faults.path.append(key)
        checked[_checked(key_hint, key, faults)] = _checked(value_hint, item, faults)
        faults.path.pop()
    return checked


def _checked_bool(value: Any, faults: Faults) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return value == 1
    text = value.lower() if isinstance(value, str) else ""
    return text in _TRUE if text in _TRUE or text in _FALSE else faults.add("true or false", value)


def _checked_int(value: Any, faults: Faults) -> Any:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and (match := _WHOLE_NUMBER.fullmatch(value.strip())):
        return int(match.group(1))
    return faults.add("a whole number", value)


def _checked_float(value: Any, faults: Faults) -> Any:
    if isinstance(value, (int, float)):
        return float(value)
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        number = math.nan
    return number if math.isfinite(number) else faults.add("a number", value)


def _checked_str(value: Any, faults: Faults) -> Any:
    return value if isinstance(value, str) else faults.add("text", value)


def _checked_none(value: Any, faults: Faults) -> Any:
    return None if value is None else faults.add("nothing (null)", value)


_SCALARS: Final[dict[type, Callable[[Any, Faults], Any]]] = {
    bool: _checked_bool,
    int: _checked_int,
    float: _checked_float,
    str: _checked_str,
    NoneType: _checked_none,
}
