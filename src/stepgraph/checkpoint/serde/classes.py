"""Finds out what a class is, and so how its objects are stored.

In this order: enum, exception, named tuple, Pydantic model, dataclass, subclass of a type that has an encoder. Anything
else has no stored form, and the message says what to use instead.
"""

from __future__ import annotations

import sys
from enum import EnumMeta
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.serde.errors import Unstorable

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.families import Encode
    from stepgraph.checkpoint.serde.writer import Writer


def is_enum(cls: type) -> bool:
    """Whether a class is an enum with members."""
    return issubclass(type(cls), EnumMeta)


def is_exception(cls: type) -> bool:
    """Whether a class is an exception."""
    return issubclass(cls, BaseException)


def is_namedtuple(cls: type) -> bool:
    """Whether a class is a named tuple."""
    fields = getattr(cls, "_fields", None) if issubclass(cls, tuple) else None
    return isinstance(fields, tuple) and all(type(name) is str for name in fields)


def is_dataclass(cls: type) -> bool:
    """Whether a class is a dataclass, or a record that answers like one."""
    return any("__dataclass_fields__" in base.__dict__ for base in cls.__mro__)


def is_model(cls: type) -> bool:
    """Whether a class is a Pydantic model (version 2)."""
    pydantic = sys.modules.get("pydantic.main")
    base = getattr(pydantic, "BaseModel", None)
    return isinstance(base, type) and issubclass(cls, base)


def encoder_of_class(cls: type) -> Encode:
    """The encoder for the objects of a class that is in no table."""
    if is_enum(cls):
        from stepgraph.checkpoint.serde.records import enum_encoder

        return enum_encoder(cls)
    if is_exception(cls):
        from stepgraph.checkpoint.serde.exceptions import exception_encoder

        return exception_encoder(cls)
    if is_namedtuple(cls):
        from stepgraph.checkpoint.serde.records import namedtuple_encoder

        return namedtuple_encoder(cls)
    if is_model(cls):
        from stepgraph.checkpoint.serde.models import model_encoder

        return model_encoder(cls)
    if is_dataclass(cls) and _is_plain_object(cls):
        from stepgraph.checkpoint.serde.records import dataclass_encoder

        return dataclass_encoder(cls)
    if "pydantic_core" in sys.modules:
        from stepgraph.checkpoint.serde.models import is_url, url_encoder

        if is_url(cls):
            return url_encoder(cls)
    from stepgraph.checkpoint.serde.subclasses import subclass_encoder

    encode = subclass_encoder(cls)
    return refuse if encode is None else encode


def _is_plain_object(cls: type) -> bool:
    """Whether nothing but `object` lies under the classes that `class` statements made."""
    from stepgraph.checkpoint.serde.lookup import is_builtin

    return all(base is object or not is_builtin(base) for base in cls.__mro__)


def refuse(writer: Writer, obj: Any) -> Any:
    """The encoder of what has no stored form: pickles if the person asked for that, else says what to do."""
    if writer.policy.pickle:
        return _pickled(obj)
    raise Unstorable(obj, _advice(obj))


def _pickled(obj: Any) -> Any:
    import pickle

    from ormsgpack import Ext

    from stepgraph.checkpoint.serde import codes

    try:
        return Ext(codes.PICKLE, pickle.dumps(obj, 5))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise Unstorable(obj, f"{_label(obj)} cannot be pickled either: {error}") from error


def _label(obj: Any) -> str:
    cls = type(obj)
    name = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    if isinstance(obj, type):
        return f"the class {obj.__qualname__} itself (not an object of it)"
    own = getattr(obj, "__qualname__", None) if callable(obj) else None
    return f"a {name}" + (f" ({own})" if isinstance(own, str) else "")


def _advice(obj: Any) -> str:
    return (
        f"{_label(obj)} has no stored form. Store plain data, a dataclass, a named tuple, an enum, a Pydantic model or"
        " another type that the serializer knows; keep clients, functions and handles out of the state (pass them as"
        " context), or use JsonPlusSerializer(pickle_fallback=True)."
    )
