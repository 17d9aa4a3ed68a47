"""What kind of schema a class is, told without importing anything.

Rules of this file: pure questions about classes. A class made with `dataclasses` or Pydantic can exist only where
that library is loaded, so the library is looked up in `sys.modules` and never imported.
"""

from __future__ import annotations

import sys
from typing import Any, Final, Literal, get_origin

from stepgraph.schema.annotations import own_annotations

__all__ = ["Kind", "is_pydantic_model", "is_schema_class", "is_typed_dict", "kind_of"]

Kind = Literal["typeddict", "dataclass", "pydantic", "class", "root"]

# Values of these classes are values of a field, never a whole state, even where a subclass carries annotations.
_VALUE_CLASSES: Final = (str, bytes, int, float, complex, list, set, frozenset, BaseException, type)
_MESSAGE_MODULE: Final = "langchain_core.messages.base"


def is_pydantic_model(candidate: Any) -> bool:
    """Is it a Pydantic (v2) model class?"""
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or not isinstance(candidate, type):
        return False
    return hasattr(candidate, "__pydantic_core_schema__") and issubclass(candidate, pydantic.BaseModel)


def is_dataclass(candidate: Any) -> bool:
    """Is it a dataclass (the class, not an instance)?"""
    return isinstance(candidate, type) and hasattr(candidate, "__dataclass_fields__")


def is_typed_dict(candidate: Any) -> bool:
    """Is it a TypedDict class, of `typing` or of `typing_extensions`?"""
    return isinstance(candidate, type) and issubclass(candidate, dict) and hasattr(candidate, "__total__")


def _has_annotations(candidate: type) -> bool:
    return any(
        own_annotations(owner)
        for owner in candidate.__mro__
        if owner is not object and owner.__module__ not in ("typing", "typing_extensions", "builtins", "enum")
    )


def _is_message_class(candidate: type) -> bool:
    module = sys.modules.get(_MESSAGE_MODULE)
    return module is not None and issubclass(candidate, module.BaseMessage)


def _is_plain_schema(candidate: type) -> bool:
    """An annotated class of a person's own: no value class, no protocol, no enum, no mapping."""
    if issubclass(candidate, (*_VALUE_CLASSES, dict)) or getattr(candidate, "_is_protocol", False):
        return False
    enum = sys.modules.get("enum")
    if enum is not None and issubclass(candidate, enum.Enum):
        return False
    return _has_annotations(candidate)


def kind_of(schema: Any) -> Kind:
    """Classify a schema; everything without fields of its own is a `"root"` schema (one value).

    >>> kind_of(list)
    'root'
    """
    candidate = schema if isinstance(schema, type) else get_origin(schema)
    if not isinstance(candidate, type):
        return "root"
    if is_pydantic_model(candidate):
        return "pydantic"
    if is_dataclass(candidate):
        return "dataclass"
    if is_typed_dict(candidate):
        return "typeddict"
    return "class" if _is_plain_schema(candidate) else "root"


def is_schema_class(annotation: Any) -> bool:
    """Can this annotation of a node's first parameter be the node's input schema?

    Yes for TypedDicts, dataclasses, Pydantic models and other annotated classes (also generic ones with arguments);
    no for `Any`, `dict`, `Optional[...]`, `int`, `str`, protocols, enums and messages of LangChain.
    """
    kind = kind_of(annotation)
    if kind == "root":
        return False
    candidate = annotation if isinstance(annotation, type) else get_origin(annotation)
    return not (isinstance(candidate, type) and _is_message_class(candidate))
