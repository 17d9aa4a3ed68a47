"""The fields that a class declares: name, annotation, default.

Rules of this file: what any class with fields has, be it a graph's state or a value inside one; nothing here knows
channels, and a class with odd metadata is no error. `declared_fields` is cached for the class.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar, get_origin

from stepgraph.schema.annotations import bare_type, class_hints
from stepgraph.schema.kinds import is_typed_dict, kind_of
from stepgraph.values.missing import MISSING

__all__ = ["DeclaredField", "cached_by_schema", "declared_fields", "schema_name"]

Result = TypeVar("Result")

_CACHED_SCHEMAS: Final = 1024


class DeclaredField:
    """One field of a class.

    Attributes:
        name: the field's name.
        annotation: the resolved annotation with its `Annotated` metadata, without `NotRequired` and the like.
        type: the annotation without metadata.
        default: the declared default, `MISSING` where there is none or a factory makes it.
        default_factory: makes the declared default, or `None`.
        required: an instance cannot be made without a value for it.
        schema: the class that was read, for messages.
    """

    __slots__ = ("annotation", "default", "default_factory", "name", "required", "schema", "type")

    def __init__(
        self,
        name: str,
        annotation: Any,
        schema: Any,
        default: Any = MISSING,
        default_factory: Callable[[], Any] | None = None,
        required: bool | None = None,
    ) -> None:
        self.name = name
        self.annotation = annotation
        self.type = bare_type(annotation)
        self.schema = schema
        self.default = default
        self.default_factory = default_factory
        self.required = not self.has_default if required is None else required

    @property
    def has_default(self) -> bool:
        """Does the class declare a default that can be made without an instance?"""
        return self.default_factory is not None or self.default is not MISSING

    def make_default(self) -> Any:
        """A fresh declared default, or `MISSING`; containers are copied, so that no two states share one."""
        if self.default_factory is not None:
            return self.default_factory()
        if isinstance(self.default, (list, dict, set, bytearray)):
            from copy import deepcopy

            return deepcopy(self.default)
        return self.default

    def __repr__(self) -> str:
        return f"DeclaredField({schema_name(self.schema)}.{self.name}: {self.annotation!r})"


def schema_name(schema: Any) -> str:
    """How a schema is called in messages: its qualified name without the functions around it."""
    qualname = getattr(schema, "__qualname__", None) if isinstance(schema, type) else None
    return repr(schema) if qualname is None else str(qualname).rsplit(".<locals>.", 1)[-1]


def cached_by_schema(read: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """Remember what was learned about a schema, for the most recent ones; what cannot be hashed is read anew."""
    cached = lru_cache(maxsize=_CACHED_SCHEMAS)(read)

    def lookup(schema: Any) -> Result:
        try:
            hash(schema)
        except TypeError:
            return read(schema)
        return cached(schema)

    lookup.__doc__, lookup.__name__, lookup.__qualname__ = read.__doc__, read.__name__, read.__qualname__
    return lookup


@cached_by_schema
def declared_fields(schema: Any) -> dict[str, DeclaredField]:
    """The fields of a class in the order of declaration, inherited ones first; none for a type without fields.

    Args:
        schema: a TypedDict, dataclass, Pydantic model or other annotated class, or a generic one with arguments.

    Raises:
        NameError: an annotation's metadata names something that cannot be found.
    """
    kind = kind_of(schema)
    if kind == "root":
        return {}
    if kind == "pydantic":
        from stepgraph.schema.pydantic_fields import read_fields

        return read_fields(schema)
    hints = class_hints(schema)
    cls = get_origin(schema) or schema
    if kind == "dataclass":
        return _dataclass_fields(cls, hints)
    if is_typed_dict(cls):
        return {
            name: DeclaredField(name, hint, schema, required=name in cls.__required_keys__)
            for name, hint in hints.items()
        }
    return {
        name: DeclaredField(name, hint, schema, _class_default(cls, name)) for name, hint in hints.items()
    }


def _class_default(schema: Any, name: str) -> Any:
    """The default of a plain annotated class: its class attribute, unless that only stores the field (a slot)."""
    defaults = getattr(schema, "_field_defaults", None)  # named tuples
    if isinstance(defaults, dict):
        return defaults.get(name, MISSING)
    default = getattr(schema, name, MISSING)
    return MISSING if hasattr(type(default), "__get__") and hasattr(type(default), "__set__") else default


def _dataclass_fields(schema: Any, hints: dict[str, Any]) -> dict[str, DeclaredField]:
    dataclasses = sys.modules["dataclasses"]
    fields: dict[str, DeclaredField] = {}
    for field in dataclasses.fields(schema):
        default = MISSING if field.default is dataclasses.MISSING else field.default
        factory = None if field.default_factory is dataclasses.MISSING else field.default_factory
        fields[field.name] = DeclaredField(field.name, hints.get(field.name, Any), schema, default, factory)
    return fields
