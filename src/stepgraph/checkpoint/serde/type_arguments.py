"""The type arguments of a generic model, as data: `Page[Item]` is `Page` and a description of `Item`.

A description is the name of a builtin, `[module, qualified name, arguments]` for a class, or `{"of": form, "arguments":
[...]}` for what `typing` makes. Reading one uses only builtins, fixed types of the standard library and classes that
are of a known kind and loaded.
"""

from __future__ import annotations

import types
import typing
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from stepgraph.checkpoint.serde.classes import is_dataclass, is_enum, is_exception, is_model, is_namedtuple
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, NotRestorableWarning, PlainDataWarning
from stepgraph.checkpoint.serde.policy import Policy, warn_once

if TYPE_CHECKING:
    from collections.abc import Iterable

_SIMPLE: Final[dict[str, Any]] = {
    **{
        cls.__name__: cls
        for cls in (bool, bytes, complex, dict, float, frozenset, int, list, object, set, str, tuple)
    },
    **{cls.__name__: cls for cls in (date, datetime, time, timedelta, Decimal, UUID)},
    "Any": Any,
    "None": None,
    "NoneType": type(None),
    "...": ...,
}
_UNIONS: Final[dict[Any, str]] = {typing.Union: "Union", types.UnionType: "|"}
_NAMES: Final = {id(value): name for name, value in _SIMPLE.items()}


def generic_parts(cls: type) -> tuple[type, list[Any] | None]:
    """The generic class that a model was made from and descriptions of its arguments; (itself, None) for others."""
    metadata = getattr(cls, "__pydantic_generic_metadata__", None) or {}
    origin, arguments = metadata.get("origin"), metadata.get("args")
    if not origin or not arguments:
        return cls, None
    try:
        return origin, [_describe(argument) for argument in arguments]
    except TypeError as error:
        warn_once(
            NotRestorableWarning,
            cls.__module__,
            cls.__qualname__,
            f"An object of {cls.__module__}.{cls.__qualname__} comes back as one of {origin.__qualname__} without its"
            f" type arguments: {error}",
        )
        return origin, None


def _describe(argument: Any) -> Any:
    name = _NAMES.get(id(argument))
    if name is not None:
        return name
    origin = typing.get_origin(argument)
    if origin is typing.Literal:
        choices = list(typing.get_args(argument))
        if not all(type(choice) in (str, int, bool, bytes, type(None)) for choice in choices):
            raise TypeError(f"{argument!r} has no description")
        return {"of": "Literal", "arguments": choices}
    if origin is not None:
        form = _UNIONS.get(origin) or _NAMES.get(id(origin))
        if form is None:
            raise TypeError(f"{argument!r} has no description")
        return {"of": form, "arguments": [_describe(part) for part in typing.get_args(argument)]}
    if isinstance(argument, type) and _is_known(argument):
        owner, arguments = generic_parts(argument)
        return [owner.__module__, owner.__qualname__, arguments]
    raise TypeError(f"{argument!r} has no description")


def _is_known(cls: type) -> bool:
    return is_model(cls) or is_dataclass(cls) or is_enum(cls) or is_namedtuple(cls) or is_exception(cls)


def described_class(policy: Policy, owner: Any, descriptions: Any) -> type:
    """The model class of a generic class and descriptions; the generic class itself if an argument is not there."""
    if descriptions is None:
        cls: type = owner
        return cls
    if type(descriptions) is not list:
        raise CorruptPayloadError("The stored bytes should list the type arguments of a model.")
    try:
        made: type = owner[tuple(_read_all(policy, descriptions))]
    except (TypeError, LookupError) as error:
        warn_once(
            PlainDataWarning,
            owner.__module__,
            f"{owner.__qualname__}{descriptions}",
            f"A stored {owner.__module__}.{owner.__qualname__} comes back without its type arguments: {error}",
        )
        return typing.cast(type, owner)
    return made


def _read_all(policy: Policy, descriptions: Iterable[Any]) -> list[Any]:
    return [_read(policy, description) for description in descriptions]


def _read(policy: Policy, description: Any) -> Any:
    if type(description) is str:
        return _SIMPLE[description]
    if type(description) is list and len(description) == 3:
        module, qualname, arguments = description
        if type(module) is not str or type(qualname) is not str:
            raise CorruptPayloadError("The stored bytes should name a class.")
        found = policy.find(module, qualname, _is_known, "dataclass, named tuple, enum or model")
        if found is None:
            raise LookupError(f"{module}.{qualname} is not there")
        return found if arguments is None else described_class(policy, found, arguments)
    if type(description) is dict and type(description.get("arguments")) is list:
        form = description.get("of")
        if form == "Literal":
            return typing.Literal[tuple(description["arguments"])]
        arguments = tuple(_read_all(policy, description["arguments"]))
        if form == "Union":
            return typing.Union[arguments]
        return reduce(or_, arguments) if form == "|" else _SIMPLE[str(form)][arguments]
    raise CorruptPayloadError("The stored bytes should describe the type argument of a model.")
