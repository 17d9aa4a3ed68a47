"""State as typed objects: a dict of values into an instance of a schema, and an instance back into a dict.

Rules of this file: it builds and reads objects and never changes one that it was given. Each schema's builder and
each class's reader is made once and kept, because both are used for every run of a node.

Theory: a TypedDict's state is the dict itself, so there is nothing to build. A dataclass is called with the values
that exist, so its defaults stand in for the rest. A Pydantic model is validated from them by field name (whatever its
aliases say) and so coerces. Reading gives the attributes as they are, nested objects untouched.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container
from typing import Any, get_origin

from stepgraph.schema.declared import DeclaredField, cached_by_schema, declared_fields, schema_name
from stepgraph.schema.fields import folds_writes
from stepgraph.schema.kinds import is_schema_class, kind_of
from stepgraph.values.missing import MISSING

__all__ = ["fields_of", "is_schema_class", "mapper_for"]

Mapper = Callable[[dict[str, Any]], Any]


@cached_by_schema
def mapper_for(schema: Any) -> Mapper | None:
    """How a node's input is built from a state dict.

    Args:
        schema: a schema as `parse_schema` takes it.

    Returns:
        A function from the dict to the object, the same for the same schema; `None` where the node gets the dict
        (TypedDicts) or the bare value (a state of one value).
    """
    kind = kind_of(schema)
    if kind == "pydantic":
        return ModelBuilder(schema)
    if kind == "dataclass":
        return DataclassBuilder(schema)
    return ClassBuilder(schema) if kind == "class" else None


class ModelBuilder:
    """Builds a Pydantic model by field name; a refusal is Pydantic's own `ValidationError`, with a note."""

    __slots__ = ("aliases", "model", "options")

    def __init__(self, model: Any) -> None:
        self.model = model
        aliased = {
            name: field for name, field in model.model_fields.items() if field.validation_alias is not None
        }
        by_name = _validates_by_name() if aliased else False
        self.options: dict[str, Any] = {"by_name": True} if by_name else {}
        self.aliases: dict[str, str] = {}
        if not by_name:
            self.aliases = {
                name: field.validation_alias
                for name, field in aliased.items()
                if isinstance(field.validation_alias, str)
            }

    def __call__(self, values: dict[str, Any]) -> Any:
        if self.aliases:
            values = {self.aliases.get(name, name): value for name, value in values.items()}
        try:
            return self.model.model_validate(values, **self.options)
        except ValueError as error:
            error.add_note(_building(self.model, values))
            raise


def _validates_by_name() -> bool:
    """Can Pydantic be told to go by field names (from 2.11)? Before, plain aliases are put in their place."""
    major, minor = sys.modules["pydantic"].VERSION.split(".")[:2]
    return (int(major), int(minor)) >= (2, 11)


class DataclassBuilder:
    """Calls a dataclass with the values that exist; fields outside its `__init__` are set afterwards."""

    __slots__ = ("late", "make", "schema")

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.make: Callable[..., Any] = get_origin(schema) or schema
        fields = vars(self.make).get("__dataclass_fields__") or getattr(self.make, "__dataclass_fields__", {})
        self.late = frozenset(name for name, field in fields.items() if not field.init)

    def __call__(self, values: dict[str, Any]) -> Any:
        late = self.late
        try:
            if not late:
                return self.make(**values)
            made = self.make(**{name: value for name, value in values.items() if name not in late})
        except TypeError as error:
            error.add_note(_building(self.schema, values))
            raise
        for name in late & values.keys():
            object.__setattr__(made, name, values[name])
        return made


class ClassBuilder:
    """Builds an annotated class: through its own `__init__` if it has one, else by setting attributes."""

    __slots__ = ("has_init", "make", "schema")

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.make: Any = get_origin(schema) or schema
        self.has_init = self.make.__init__ is not object.__init__ or issubclass(self.make, tuple)

    def __call__(self, values: dict[str, Any]) -> Any:
        try:
            if self.has_init:
                return self.make(**values)
            made = self.make()
        except TypeError as error:
            error.add_note(_building(self.schema, values))
            raise
        for name, value in values.items():
            setattr(made, name, value)
        return made


def _building(schema: Any, values: dict[str, Any]) -> str:
    return (
        f"while building the {schema_name(schema)} that a node takes from the state; the state holds values for "
        f"{', '.join(values) or 'no field'}. A field that may have no value yet needs a default."
    )


def fields_of(value: Any, given_only: bool = False, reducers: Container[str] = ()) -> dict[str, Any] | None:
    """The fields of an instance of any dataclass, Pydantic model, named tuple or other annotated class.

    Args:
        value: what a node returned, or a run's input.
        given_only: leave out reducer fields whose value equals the default that the instance's class declares: an
            instance carries its defaults along, and they must not be folded in once more. Plain fields are always
            there.
        reducers: names that are reducer fields although the instance's class does not say so.

    Returns:
        Name to value (attributes that are not set are left out), or `None` when it is no such instance; a dict, a
        LangChain message and a class itself are none.
    """
    reader = _reader_of(type(value))
    if reader is None:
        return None
    return reader.read_given(value, reducers) if given_only else reader.read(value)


class InstanceReader:
    """Reads the fields of instances of one class."""

    __slots__ = ("fields", "folding")

    def __init__(self, fields: dict[str, DeclaredField]) -> None:
        self.fields = fields
        self.folding = frozenset(name for name, field in fields.items() if folds_writes(field.annotation))

    def read(self, value: Any) -> dict[str, Any]:
        """All attributes that are set."""
        found = {}
        for name in self.fields:
            held = getattr(value, name, MISSING)
            if held is not MISSING:
                found[name] = held
        return found

    def read_given(self, value: Any, reducers: Container[str]) -> dict[str, Any]:
        """The same without reducer fields that hold their declared default."""
        return {
            name: held
            for name, held in self.read(value).items()
            if not (
                (name in self.folding or name in reducers) and is_declared_default(self.fields[name], held)
            )
        }


def is_declared_default(field: DeclaredField, held: Any) -> bool:
    """Does a field hold what its class declares as its default?"""
    if not field.has_default:
        return False
    default = field.make_default()
    if held is default:
        return True
    try:
        return bool(held == default)
    except (ValueError, TypeError):  # arrays and frames compare to more than one answer
        return False


@cached_by_schema
def _reader_of(cls: Any) -> InstanceReader | None:
    if issubclass(cls, dict) or not is_schema_class(cls):
        return None
    return InstanceReader(declared_fields(cls))
