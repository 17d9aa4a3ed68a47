"""All classes that values of some schemas may be instances of.

Rules of this file: it follows annotations and collects classes; it decides nothing about them. A strict serializer
restores just these.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

from stepgraph.channels.base import BaseChannel
from stepgraph.schema.annotations import bare_type, metadata_of
from stepgraph.schema.declared import declared_fields

__all__ = ["schema_types"]

_WITHOUT_CLASSES_OF_INTEREST: Final = ("builtins", "typing", "typing_extensions", "collections.abc", "types")


def schema_types(schemas: Iterable[Any]) -> set[type]:
    """The classes that the annotations of schemas reach.

    Args:
        schemas: classes or types; those that are `None` are skipped.

    Returns:
        The schemas' own classes and all classes named in their fields, at any depth: dataclasses, models,
        TypedDicts, enums, named tuples and others; builtins and abstract containers apart.
    """
    found: set[type] = set()
    seen: set[int] = set()
    waiting = [schema for schema in schemas if schema is not None]
    kept_alive: list[Any] = []
    while waiting:
        hint = waiting.pop()
        if id(hint) in seen:
            continue
        seen.add(id(hint))
        kept_alive.append(hint)
        waiting.extend(_inside(hint))
        candidate = bare_type(hint)
        if isinstance(candidate, type) and candidate.__module__ not in _WITHOUT_CLASSES_OF_INTEREST:
            found.add(candidate)
    return found


def _inside(hint: Any) -> list[Any]:
    """What an annotation leads to in one step."""
    found: list[Any] = [entry.typ for entry in metadata_of(hint) if isinstance(entry, BaseChannel)]
    hint = bare_type(hint)
    if isinstance(hint, (list, tuple)):  # the arguments of a Callable
        return [*found, *hint]
    if isinstance(hint, TypeVar):
        return [*found, *(hint.__constraints__ or ()), *([hint.__bound__] if hint.__bound__ else [])]
    for attribute in ("__supertype__", "__value__"):
        if not isinstance(hint, type) and hasattr(hint, attribute):
            found.append(getattr(hint, attribute))
    origin = get_origin(hint)
    if origin is Literal:
        return [*found, *(type(choice) for choice in get_args(hint))]
    if origin is not None:
        found.extend([origin, *get_args(hint)])
    return [*found, *(field.annotation for field in declared_fields(hint).values())]
