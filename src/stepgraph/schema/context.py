"""A run's context, checked against the context schema of its graph.

Rules of this file: nothing is converted but a dict into the class that the schema names; values pass as they are.

Theory: a context carries what a person has at hand: settings, but also clients and stand-ins for them in tests. So
builtin types, containers and literals are checked, while a field that names any other class takes every object. A
Pydantic model checks by itself, and its own `ValidationError` tells what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from stepgraph.schema.annotations import bare_type
from stepgraph.schema.declared import declared_fields, schema_name
from stepgraph.schema.kinds import is_typed_dict, kind_of
from stepgraph.schema.objects import mapper_for

__all__ = ["as_context"]

_ACCEPTED: Final[dict[Any, tuple[type, ...]]] = {
    str: (str,),
    int: (int,),
    float: (float, int),
    bool: (bool,),
    bytes: (bytes,),
    NoneType: (NoneType,),
    None: (NoneType,),
}
_CONTAINERS: Final = (list, dict, set, frozenset, tuple)


def as_context(schema: Any, context: Any, graph_name: str) -> Any:
    """Make a run's context out of what was given for it.

    Args:
        schema: the graph's context schema.
        context: an instance of the schema, or a dict of its fields.
        graph_name: for messages.

    Returns:
        The instance: a dict becomes an object of the schema's class, for a TypedDict it stays the dict it is.

    Raises:
        TypeError: it is neither an instance nor a dict that fits; the message says what does not.
        pydantic.ValidationError: the schema is a Pydantic model that refuses the dict.
    """
    kind = kind_of(schema)
    cls = get_origin(schema) or schema
    if kind in ("root", "typeddict"):
        if kind == "typeddict" and context == {}:
            return context  # how callers that always send a context say that there is none
        faults = _faults(schema, context, "")
        if faults:
            raise _refusal(schema, graph_name, faults)
        return context
    if isinstance(context, cls):
        return context
    if not isinstance(context, Mapping):
        raise _refusal(schema, graph_name, [f"it is a {type(context).__name__}, {context!r}"])
    if kind != "pydantic":
        faults = _field_faults(schema, context, "") + _unknown_fields(schema, context)
        if faults:
            raise _refusal(schema, graph_name, faults)
    build = mapper_for(schema)
    return context if build is None else build(dict(context))


def _refusal(schema: Any, graph_name: str, faults: list[str]) -> TypeError:
    name = schema_name(schema)
    return TypeError(
        f"The context of graph {graph_name!r} does not fit its context_schema {name}: {'; '.join(faults)}. "
        f"Give context= an instance of {name}, or a dict of its fields."
    )


def _unknown_fields(schema: Any, context: Mapping[str, Any]) -> list[str]:
    known = declared_fields(schema)
    return [f"it has no field {name!r}" for name in context if name not in known]


def _field_faults(schema: Any, values: Mapping[str, Any], path: str) -> list[str]:
    faults: list[str] = []
    for name, field in declared_fields(schema).items():
        place = f"{path}.{name}" if path else name
        if name in values:
            faults += _faults(field.annotation, values[name], place)
        elif field.required:
            faults.append(f"{place!r} is missing")
    return faults


def _faults(hint: Any, value: Any, path: str) -> list[str]:
    """What in a value does not fit a type, of the types that are checked."""
    hint = bare_type(hint)
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        options = [_faults(option, value, path) for option in get_args(hint)]
        return [] if not all(options) else [_fault(hint, value, path)]
    if origin is Literal:
        return [] if value in get_args(hint) else [_fault(hint, value, path)]
    if is_typed_dict(origin or hint):
        return _field_faults(hint, value, path) if isinstance(value, Mapping) else [_fault(hint, value, path)]
    if origin in _CONTAINERS or hint in _CONTAINERS:
        return [] if isinstance(value, origin or hint) else [_fault(hint, value, path)]
    accepted = _ACCEPTED.get(hint) if isinstance(hint, type) or hint is None else None
    return [] if accepted is None or isinstance(value, accepted) else [_fault(hint, value, path)]


def _fault(hint: Any, value: Any, path: str) -> str:
    return f"{repr(path) if path else 'it'} must be {schema_name(hint)}, not {value!r}"
