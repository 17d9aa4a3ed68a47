"""The empty value of a type: what a reducer field starts from when nothing else is declared.

Pure functions of an annotation. A type that can be called without arguments has an empty value, an abstract container
has that of its usual concrete class; `None`, `Any`, `object`, unions and protocols have none.
"""

from __future__ import annotations

import collections.abc as abc
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from stepgraph.values.missing import MISSING

_CONCRETE: Final[dict[Any, type]] = {
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Set: set,
    abc.MutableSet: set,
    abc.Mapping: dict,
    abc.MutableMapping: dict,
}
_WITHOUT_EMPTY: Final = (object, NoneType, UnionType, None)
_QUALIFIERS: Final = ("Required", "NotRequired", "ReadOnly")
_CONTAINERS: Final = (list, dict, set, frozenset, tuple, abc.Collection)


def concrete_type(annotation: Any) -> type | None:
    """The class to call for an empty value, `None` if there is none.

    Example:
        >>> import typing
        >>> concrete_type(typing.Sequence[int]), concrete_type(int | None)
        (<class 'list'>, None)
    """
    while True:
        origin = get_origin(annotation)
        if origin is Annotated or getattr(origin, "_name", None) in _QUALIFIERS:
            annotation = get_args(annotation)[0]
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        else:
            break
    target = annotation if origin is None else origin
    target = _CONCRETE.get(target, target) if isinstance(target, type) else None
    return None if target in _WITHOUT_EMPTY else target


def empty_value(annotation: Any) -> Any:
    """A new empty value of a type, `MISSING` if it has none."""
    target = concrete_type(annotation)
    if target is None:
        return MISSING
    try:
        return target()
    except Exception:
        return MISSING


def optional_container(annotation: Any) -> Callable[[], Any] | None:
    """For `Optional[container]` what makes the empty container, else `None`."""
    origin = get_origin(annotation)
    if origin is Annotated or getattr(origin, "_name", None) in _QUALIFIERS:
        return optional_container(get_args(annotation)[0])
    if origin not in (Union, UnionType):
        return None
    members = [member for member in get_args(annotation) if member is not NoneType]
    if len(members) != 1 or len(members) == len(get_args(annotation)):
        return None
    target = concrete_type(members[0])
    if target is None or target in (str, bytes) or not issubclass(target, _CONTAINERS):
        return None
    return target
