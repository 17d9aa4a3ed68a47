"""The outermost class of an annotation: its name, to be stored, and whether a value is one of it.

Rules of this file: pure functions of annotations. They are deliberately coarse: `list[str]` and `list[int]` are lists,
`X | None` is an X, and what no single class says (`Any`, unions of several classes, protocols, abstract classes) has no
name at all, and takes every value.
"""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, get_args, get_origin

from stepgraph.schema.annotations import bare_type
from stepgraph.schema.kinds import is_typed_dict

__all__ = ["allowed_classes", "fits", "type_name"]


def type_name(annotation: Any) -> str:
    """The qualified name of the class that values of this annotation have; empty where none says it.

    >>> type_name(list[str]), type_name(str | None), type_name(Any)
    ('list', 'str', '')
    """
    classes = allowed_classes(annotation)
    if classes is None or len(classes) != 1:
        return ""
    (cls,) = classes
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is of the outermost class of an annotation; `None` and what is not known always fit."""
    classes = allowed_classes(annotation)
    if value is None or classes is None:
        return True
    if isinstance(value, tuple(classes)):
        return True
    return isinstance(value, int) and bool(classes & {float, complex})


def allowed_classes(annotation: Any) -> set[type] | None:
    """The classes that values of an annotation may have beside `None`; None if it cannot be told."""
    annotation = bare_type(annotation)
    if isinstance(annotation, NewType):
        return allowed_classes(annotation.__supertype__)
    origin = get_origin(annotation)
    if origin is Union or origin is UnionType:
        found: set[type] = set()
        for part in get_args(annotation):
            classes = None if part is NoneType else allowed_classes(part)
            if classes is None and part is not NoneType:
                return None
            found |= classes or set()
        return found or None
    if origin is Literal:
        return {type(value) for value in get_args(annotation) if value is not None} or None
    cls = origin or annotation
    if not isinstance(cls, type) or cls is object or cls is NoneType:
        return None
    if is_typed_dict(cls):
        return {dict}
    if getattr(cls, "_is_protocol", False) or cls.__module__ in ("typing", "collections.abc"):
        return None
    return None if getattr(cls, "__abstractmethods__", None) else {cls}
