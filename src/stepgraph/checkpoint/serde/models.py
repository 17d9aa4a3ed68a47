"""Pydantic models, and the few types of Pydantic that hold a value of their own.

A model comes back as it was: `__dict__`, the set of fields that were given, extra and private attributes, without
running validators, `__init__` or `model_post_init`. A field or private attribute that the class has got since then
takes its default. A generic model names its type arguments (`type_arguments.py`).

Rules: Pydantic is found among the loaded modules; this file does not import it before data names one of its types.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.classes import is_model
from stepgraph.checkpoint.serde.errors import CorruptPayloadError
from stepgraph.checkpoint.serde.families import ENCODERS, RESTORERS
from stepgraph.checkpoint.serde.lookup import loaded_class
from stepgraph.checkpoint.serde.policy import Policy, check_names
from stepgraph.checkpoint.serde.records import MAX_SHAPES, names_not_stored
from stepgraph.checkpoint.serde.type_arguments import described_class, generic_parts
from stepgraph.checkpoint.serde.writer import Head

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.families import Encode, Restore
    from stepgraph.checkpoint.serde.writer import Writer

_new: Final = object.__new__
_set: Final = object.__setattr__


def model_encoder(cls: type) -> Encode:
    """The encoder for a model class."""
    hidden = names_not_stored(cls)
    owner, arguments = generic_parts(cls)
    known: dict[Any, Head] = {}

    def head(names: tuple[str, ...], given: frozenset[str] | bool) -> Head:
        found = known.get((names, given))
        if found is None:
            listed = given if isinstance(given, bool) else _positions(names, given)
            found = Head(
                owner, codes.HEAD_MODEL, owner.__module__, owner.__qualname__, list(names), listed, arguments
            )
            if len(known) < MAX_SHAPES:
                known[names, given] = found
        return found

    def encode(writer: Writer, obj: Any) -> Any:
        state = obj.__dict__
        if not hidden.isdisjoint(state):
            state = {name: value for name, value in state.items() if name not in hidden}
        fields_set = obj.__pydantic_fields_set__
        given = True if fields_set == state.keys() else frozenset(fields_set)
        values = [*state.values()]
        extra, private = obj.__pydantic_extra__, obj.__pydantic_private__
        if extra is not None or private is not None:
            values.append(extra)
            values.append(private)
        return writer.object(obj, head(tuple(state), given), values)

    return encode


def _make_model_restorer(policy: Policy, head: list[Any]) -> tuple[type | None, Restore]:
    if len(head) != 6:
        raise CorruptPayloadError("The stored bytes should describe a model.")
    _, module, qualname, names, listed, arguments = head
    check_names(names)
    given = set(names) if listed is True else _given(names, listed)
    owner = policy.find(module, qualname, is_model, "Pydantic model")
    if owner is None:
        return None, _plain_model(names)
    cls = described_class(policy, owner, arguments)
    late = _late_fields(cls, names)
    late_private = getattr(cls, "__private_attributes__", {})
    length = len(names)

    def restore(values: Any) -> Any:
        if type(values) is not list or not (len(values) == length or len(values) == length + 2):
            raise CorruptPayloadError(
                f"The stored bytes should hold {length} fields of a model, got {values!r:.60}"
            )
        extra, private = (None, None) if len(values) == length else values[length:]
        _check_parts(extra, private)
        state = dict(zip(names, values))
        for name, field in late.items():
            state[name] = _default_of(field, state)
        if late_private and (private is None or not late_private.keys() <= private.keys()):
            private = {**_private_defaults(late_private, private), **(private or {})}
        restored: Any = _new(cls)
        _set(restored, "__dict__", state)
        _set(restored, "__pydantic_fields_set__", given.copy())
        _set(restored, "__pydantic_extra__", extra)
        _set(restored, "__pydantic_private__", private)
        return restored

    return (None if cls is owner and arguments is not None else owner), restore


def _positions(names: tuple[str, ...], given: frozenset[str]) -> list[int | str]:
    """The fields that were given, as positions among the names; by name what is not among them."""
    return [names.index(name) if name in names else name for name in sorted(given)]


def _given(names: list[str], listed: Any) -> set[str]:
    if type(listed) is not list or not all(type(entry) is int or type(entry) is str for entry in listed):
        raise CorruptPayloadError("The stored bytes should say which fields of a model were given.")
    return {names[entry] if type(entry) is int else entry for entry in listed}


def _plain_model(names: list[str]) -> Restore:
    def restore(values: Any) -> dict[str, Any]:
        plain = dict(zip(names, values))
        if len(values) == len(names) + 2 and type(values[-2]) is dict:
            plain |= values[-2]
        return plain

    return restore


def _check_parts(extra: Any, private: Any) -> None:
    for part in (extra, private):
        if part is not None and type(part) is not dict:
            raise CorruptPayloadError(
                "The stored bytes should hold the extra and private attributes of a model."
            )


def _late_fields(cls: Any, names: list[str]) -> dict[str, Any]:
    """The fields that a stored state lacks and the class has a default for.

    Fields without one may have been left out by `model_construct`, so they are no fault.
    """
    fields: dict[str, Any] = getattr(cls, "__pydantic_fields__", None) or cls.model_fields
    return {name: field for name, field in fields.items() if name not in names and not field.is_required()}


def _default_of(field: Any, state: dict[str, Any]) -> Any:
    try:
        return field.get_default(call_default_factory=True, validated_data=state)
    except TypeError:
        return field.get_default(call_default_factory=True)


def _private_defaults(attributes: dict[str, Any], stored: dict[str, Any] | None) -> dict[str, Any]:
    """The defaults of private attributes that a stored model does not have."""
    undefined = getattr(sys.modules.get("pydantic_core"), "PydanticUndefined", None)
    defaults = {
        name: attribute.get_default() for name, attribute in attributes.items() if name not in (stored or {})
    }
    return {name: value for name, value in defaults.items() if value is not undefined}


def _encode_secret(writer: Writer, obj: Any) -> Any:
    cls = type(obj)
    return writer.record(
        Head(cls, codes.HEAD_SECRET, cls.__module__, cls.__qualname__), obj.get_secret_value()
    )


def url_encoder(cls: type) -> Encode:
    """The encoder for a class of URLs; its text says all."""
    head = Head(cls, codes.HEAD_URL, cls.__module__, cls.__qualname__)

    def encode(writer: Writer, obj: Any) -> Any:
        return writer.record(head, obj.unicode_string())

    return encode


def is_url(cls: type) -> bool:
    """Whether a class is one of Pydantic's URLs."""
    bases = [
        getattr(sys.modules.get("pydantic.networks"), "_BaseUrl", None),
        getattr(sys.modules.get("pydantic.networks"), "_BaseMultiHostUrl", None),
        getattr(sys.modules.get("pydantic_core"), "Url", None),
        getattr(sys.modules.get("pydantic_core"), "MultiHostUrl", None),
    ]
    return any(isinstance(base, type) and issubclass(cls, base) for base in bases)


def _is_secret(cls: type) -> bool:
    types = sys.modules.get("pydantic.types")
    return cls is getattr(types, "SecretStr", None) or cls is getattr(types, "SecretBytes", None)


def _make_secret_restorer(policy: Policy, head: list[Any]) -> tuple[type | None, Restore]:
    cls: Any = policy.find(head[1], head[2], _is_secret, "secret of Pydantic")
    return cls, (lambda value: value) if cls is None else cls


def _make_url_restorer(policy: Policy, head: list[Any]) -> tuple[type | None, Restore]:
    cls: Any = policy.find(head[1], head[2], is_url, "URL of Pydantic")
    core: Any = sys.modules.get("pydantic_core")
    if cls is None or core is None:
        return None, lambda text: text
    if cls is core.Url or cls is core.MultiHostUrl:
        return cls, cls
    multiple = getattr(sys.modules.get("pydantic.networks"), "_BaseMultiHostUrl", None)
    inner = core.MultiHostUrl if multiple is not None and issubclass(cls, multiple) else core.Url

    def restore(text: Any) -> Any:
        restored: Any = _new(cls)
        _set(restored, "_url", inner(text))
        return restored

    return cls, restore


for _name in ("SecretStr", "SecretBytes"):
    _secret = loaded_class("pydantic.types", _name)
    if _secret is not None:
        ENCODERS[_secret] = _encode_secret
RESTORERS[codes.HEAD_MODEL] = _make_model_restorer
RESTORERS[codes.HEAD_SECRET] = _make_secret_restorer
RESTORERS[codes.HEAD_URL] = _make_url_restorer
