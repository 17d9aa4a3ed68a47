"""Pydantic's type adapters for any schema, where Pydantic is installed.

Rules of this file: Pydantic is imported when something is asked for, never before; whoever gets `None` uses the small
checker and generator of this package instead.

Theory: Pydantic refuses `typing.TypedDict` before Python 3.12. Such a class is replaced by a twin made with
`typing_extensions`, also inside containers. A class that refers to itself has no twin; then there is no adapter.
"""

from __future__ import annotations

import sys
from types import GenericAlias, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from stepgraph.schema.annotations import class_hints
from stepgraph.schema.declared import cached_by_schema
from stepgraph.schema.kinds import is_pydantic_model, is_typed_dict, kind_of

__all__ = ["adapter_for", "load_pydantic", "portable"]
_LENIENT: Final = {"arbitrary_types_allowed": True}


class NoTwinError(TypeError):
    """A TypedDict refers to itself, so it cannot be rebuilt from the outside."""


def load_pydantic() -> Any | None:
    """The `pydantic` module, or `None` where it is not installed."""
    try:
        import pydantic
    except ImportError:
        return None
    return pydantic


@cached_by_schema
def adapter_for(schema: Any) -> Any | None:
    """A `pydantic.TypeAdapter` for a schema or any other type.

    Returns:
        The adapter, the same for the same schema; `None` without Pydantic, or for a type that it cannot handle.
    """
    pydantic = load_pydantic()
    if pydantic is None:
        return None
    config = None if is_pydantic_model(schema) or kind_of(schema) in ("dataclass", "typeddict") else _LENIENT
    try:
        return pydantic.TypeAdapter(portable(schema), config=config)
    except (pydantic.PydanticUserError, NoTwinError, NameError):
        return None


def portable(hint: Any) -> Any:
    """The same type with each `typing.TypedDict` that Pydantic would refuse replaced by its twin.

    Raises:
        NoTwinError: such a class refers to itself.
    """
    return hint if sys.version_info >= (3, 12) else _portable(hint, ())


def _portable(hint: Any, around: tuple[Any, ...]) -> Any:
    origin = get_origin(hint)
    if origin is None:
        needs_twin = is_typed_dict(hint) and type(hint).__module__ == "typing"
        return _twin(hint, around) if needs_twin else hint
    if is_typed_dict(origin) and type(origin).__module__ == "typing":
        return _twin(hint, around)
    if origin is Annotated:
        inner = _portable(hint.__origin__, around)
        return hint if inner is hint.__origin__ else Annotated[(inner, *hint.__metadata__)]
    arguments = get_args(hint)
    converted = tuple(_portable(argument, around) for argument in arguments)
    if all(mine is theirs for mine, theirs in zip(arguments, converted)):
        return hint
    if origin in (Union, UnionType):
        return Union[converted]
    return GenericAlias(origin, converted) if isinstance(hint, GenericAlias) else hint.copy_with(converted)


def _twin(schema: Any, around: tuple[Any, ...]) -> Any:
    if schema in around:
        raise NoTwinError(f"{schema!r} refers to itself")
    import typing_extensions

    cls = get_origin(schema) or schema
    required = typing_extensions.Required
    optional = typing_extensions.NotRequired
    fields = {
        name: (required if name in cls.__required_keys__ else optional)[_portable(hint, (*around, schema))]
        for name, hint in class_hints(schema).items()
    }
    make: Any = typing_extensions.TypedDict
    twin = make(cls.__name__, fields)
    twin.__module__, twin.__qualname__, twin.__doc__ = cls.__module__, cls.__qualname__, cls.__doc__
    return twin
