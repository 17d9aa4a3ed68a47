"""Fields of several schemas joined into one set of channels.

Rules of this file: it compares specs and chooses one for each name; it changes none.

Theory: state, input, output and node schemas of a graph describe views of one state, so a name means one channel.
A schema that says nothing of folding (a `LastValue`) takes what another one says. Two that say different things can
not both be right, and nobody but the author knows which is: that is an error at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from types import FunctionType
from typing import Any

from stepgraph.channels.base import BaseChannel
from stepgraph.channels.last_value import LastValue
from stepgraph.schema.fields import FieldSpec, SchemaSpec, schema_name

__all__ = ["merge_field", "merge_schemas", "same_reducer"]


def merge_schemas(schemas: Iterable[SchemaSpec]) -> dict[str, FieldSpec]:
    """Join the fields of schemas.

    Args:
        schemas: in the order in which they were declared.

    Returns:
        Name to the spec that holds for it.

    Raises:
        ValueError: two schemas fold one name in different ways; the message names both and where they stand.
    """
    merged: dict[str, FieldSpec] = {}
    for schema in schemas:
        for name, spec in schema.fields.items():
            known = merged.get(name)
            merged[name] = spec if known is None else merge_field(known, spec)
    return merged


def merge_field(known: FieldSpec, added: FieldSpec) -> FieldSpec:
    """Choose between two specs of one name.

    Raises:
        ValueError: both say how writes are folded, and differently.
    """
    if known is added or _is_plain(added):
        return known
    if _is_plain(known):
        return added
    if _same_channel(known, added):
        return added if added.has_default and not known.has_default else known
    raise ValueError(
        f"Channel {known.name!r} is declared twice with different types: {_described(known)}, but "
        f"{_described(added)}. One name is one channel in all schemas of a graph: use the same reducer in both, or "
        "leave it out of one of them, or rename the field."
    )


def _is_plain(spec: FieldSpec) -> bool:
    return type(spec.channel) is LastValue


def _same_channel(known: FieldSpec, added: FieldSpec) -> bool:
    if known.reducer is not None or added.reducer is not None:
        return (
            known.reducer is not None
            and added.reducer is not None
            and same_reducer(known.reducer, added.reducer)
        )
    if not isinstance(known.channel, BaseChannel) or not isinstance(added.channel, BaseChannel):
        return known.channel is added.channel
    return type(known.channel) is type(added.channel) and _same_settings(known.channel, added.channel)


def _same_settings(known: BaseChannel[Any, Any, Any], added: BaseChannel[Any, Any, Any]) -> bool:
    """Channel classes tell equality themselves, but take any two lambdas for one; so functions are compared here."""
    for attribute in ("operator", "reducer"):
        mine, theirs = getattr(known, attribute, None), getattr(added, attribute, None)
        if (mine is None) is not (theirs is None) or (mine is not None and not same_reducer(mine, theirs)):
            return False
    return bool(known == added)


def same_reducer(known: Any, added: Any) -> bool:
    """Do two reducers do the same?

    Equal objects do, and functions of the same code in the same place: a string annotation that holds a lambda
    makes another function each time it is evaluated.
    """
    if known is added or known == added:
        return True
    if isinstance(known, FunctionType) and isinstance(added, FunctionType):
        return (
            known.__code__ == added.__code__
            and known.__globals__ is added.__globals__
            and known.__defaults__ == added.__defaults__
            and known.__kwdefaults__ == added.__kwdefaults__
            and _cell_contents(known) == _cell_contents(added)
        )
    if type(known) is partial and type(added) is partial:
        return (
            same_reducer(known.func, added.func)
            and known.args == added.args
            and known.keywords == added.keywords
        )
    return False


def _cell_contents(function: FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or ()]


def _described(spec: FieldSpec) -> str:
    """`Child.items folds with merge (app.py:12)`."""
    where = f"{schema_name(spec.schema)}.{spec.name}"
    if spec.reducer is not None:
        return f"{where} folds with {_reducer_name(spec.reducer)}"
    if isinstance(spec.channel, BaseChannel):
        return f"{where} is {_channel_name(spec.channel)}"
    return f"{where} is the managed value {spec.channel.__name__}"


def _channel_name(channel: BaseChannel[Any, Any, Any]) -> str:
    function = getattr(channel, "operator", None) or getattr(channel, "reducer", None)
    name = f"a {type(channel).__name__}"
    return name if function is None else f"{name} with {_reducer_name(function)}"


def _reducer_name(reducer: Any) -> str:
    inner = reducer.func if isinstance(reducer, partial) else reducer
    name = getattr(inner, "__qualname__", None) or repr(inner)
    module = getattr(inner, "__module__", None)
    code = getattr(inner, "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}" if code is not None else module
    return f"{name} ({place})" if place else str(name)
