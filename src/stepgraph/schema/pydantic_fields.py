"""The fields of a Pydantic model: annotation and default.

Rules of this file: it is imported only for a class that is a Pydantic model, and imports nothing of Pydantic at
module level.

Theory: the class body's own annotations keep the metadata in the order in which it was written (Pydantic mixes in
that of `Field(...)`), while only Pydantic knows the types of a parametrised generic model and of references that it
resolved itself. So the metadata comes from the body and, where the two differ, the type from the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from stepgraph.schema.annotations import class_hints, metadata_of
from stepgraph.schema.declared import DeclaredField
from stepgraph.values.missing import MISSING

__all__ = ["read_fields"]


def read_fields(model: Any) -> dict[str, DeclaredField]:
    """Every field of a model, by its name and not its alias."""
    if not model.__pydantic_complete__:
        model.model_rebuild(raise_errors=False)
    hints = _hints_in_order(model)
    fields: dict[str, DeclaredField] = {}
    for name, info in model.model_fields.items():
        annotation = _annotation(info, hints.get(name, MISSING))
        default, factory = _default_of(info)
        fields[name] = DeclaredField(name, annotation, model, default, factory, info.is_required())
    return fields


def _hints_in_order(model: Any) -> dict[str, Any]:
    try:
        return class_hints(model)
    except NameError:  # only Pydantic, which looked when the class was made, can know these names
        return {}


def _annotation(info: Any, hint: Any) -> Any:
    metadata = metadata_of(hint) if hint is not MISSING else tuple(info.metadata)
    resolved = info.annotation
    if resolved is None and hint is not MISSING:
        return hint
    return Annotated[(resolved, *metadata)] if metadata else resolved


def _default_of(info: Any) -> tuple[Any, Callable[[], Any] | None]:
    if info.default_factory is not None:
        # A factory that computes from other fields declares nothing that a channel could start from.
        takes_data = getattr(info, "default_factory_takes_validated_data", False)
        return MISSING, (None if takes_data else info.default_factory)
    return (MISSING if info.is_required() else info.default), None
