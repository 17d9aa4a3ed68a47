"""A schema class turned into field specs: one channel a field.

Rules of this file: it reads classes and makes channels; it runs no graph and holds no values. `parse_schema` is the
entry, and its result is cached for the class, so it and all it holds are shared: a channel in a spec is a prototype
that the engine copies, never a channel of a run.

Theory: a field's annotation says how writes to it are folded. A managed value or a reducer counts only as the last
metadata of its `Annotated`; a channel (instance or class) counts anywhere in it; everything else is a `LastValue`.
A default that the class declares is where a reducer starts from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from stepgraph.channels.base import BaseChannel
from stepgraph.channels.binop import BinaryOperatorAggregate
from stepgraph.channels.delta import DeltaChannel
from stepgraph.channels.last_value import LastValue
from stepgraph.managed.base import ManagedValueSpec, is_managed_value
from stepgraph.schema.annotations import bare_type, class_hints, metadata_of, strip_wrappers
from stepgraph.schema.callables import describe_parameters, takes_two_arguments
from stepgraph.schema.kinds import Kind, kind_of
from stepgraph.values.missing import MISSING

__all__ = ["ROOT", "FieldSpec", "SchemaSpec", "parse_schema", "schema_name"]

ROOT: Final = "__root__"
_CACHED_SCHEMAS: Final = 1024


class FieldSpec:
    """One field of a schema.

    Attributes:
        name: the field's name, which is also its channel's.
        annotation: the resolved annotation with its `Annotated` metadata, without `NotRequired` and the like.
        type: the annotation without metadata.
        channel: the channel prototype, or a managed value's class.
        reducer: the reducer named in the annotation, or `None`.
        default: the declared default, `MISSING` where there is none or a factory makes it.
        default_factory: makes the declared default, or `None`.
        schema: the class that was parsed, for messages.
    """

    __slots__ = ("annotation", "channel", "default", "default_factory", "name", "reducer", "schema", "type")

    def __init__(
        self,
        name: str,
        annotation: Any,
        schema: Any,
        default: Any = MISSING,
        default_factory: Callable[[], Any] | None = None,
    ) -> None:
        self.name = name
        self.annotation = annotation
        self.type = bare_type(annotation)
        self.schema = schema
        self.default = default
        self.default_factory = default_factory
        self.reducer: Callable[[Any, Any], Any] | None = None
        self.channel: BaseChannel[Any, Any, Any] | ManagedValueSpec = _channel_of(self)

    @property
    def is_managed(self) -> bool:
        """Is the value computed by the engine, so that nothing can write it?"""
        return not isinstance(self.channel, BaseChannel)

    @property
    def has_default(self) -> bool:
        """Does the class declare a default for this field?"""
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
        return f"FieldSpec({schema_name(self.schema)}.{self.name}: {self.channel!r})"


class SchemaSpec:
    """What a schema declares.

    Attributes:
        schema: the class (or bare type) that was parsed.
        kind: `"typeddict"`, `"dataclass"`, `"pydantic"`, `"class"` (any other annotated class) or `"root"`.
        fields: name to `FieldSpec`, managed ones included, in the order of declaration.
        channels: name to channel prototype, without managed values.
        managed: name to managed value class.
    """

    __slots__ = ("channels", "fields", "kind", "managed", "schema")

    def __init__(self, schema: Any, kind: Kind, fields: Mapping[str, FieldSpec]) -> None:
        self.schema = schema
        self.kind: Kind = kind
        self.fields = dict(fields)
        self.channels = {
            name: spec.channel for name, spec in fields.items() if isinstance(spec.channel, BaseChannel)
        }
        self.managed = {
            name: spec.channel for name, spec in fields.items() if not isinstance(spec.channel, BaseChannel)
        }

    def __repr__(self) -> str:
        return f"SchemaSpec({schema_name(self.schema)}, {self.kind}, {list(self.fields)})"


def schema_name(schema: Any) -> str:
    """How a schema is called in messages: its qualified name without the functions around it."""
    qualname = getattr(schema, "__qualname__", None)
    if qualname is None:
        return repr(schema)
    return str(qualname).rsplit(".<locals>.", 1)[-1]


def parse_schema(schema: Any) -> SchemaSpec:
    """Read the fields of a schema.

    Args:
        schema: a TypedDict, dataclass, Pydantic model or other annotated class, also a generic one with arguments;
            anything else (`list`, `Annotated[list, add]`, ...) is a state of one value, the field `__root__`.

    Returns:
        The spec; the same object for the same schema.

    Raises:
        ValueError: a reducer does not take two arguments.
        NameError: an annotation names a reducer or channel that cannot be found.
    """
    try:
        return _parse_cached(schema)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return _parse(schema)


def _parse(schema: Any) -> SchemaSpec:
    kind = kind_of(schema)
    if kind == "root":
        return SchemaSpec(schema, kind, {ROOT: FieldSpec(ROOT, strip_wrappers(schema), schema)})
    if kind == "pydantic":
        fields = _pydantic_fields(schema)
    elif kind == "dataclass":
        fields = _dataclass_fields(schema)
    else:
        hints = class_hints(schema)
        defaults = {} if kind == "typeddict" else {name: _class_default(schema, name) for name in hints}
        fields = {
            name: FieldSpec(name, hint, schema, defaults.get(name, MISSING)) for name, hint in hints.items()
        }
    return SchemaSpec(schema, kind, fields)


_parse_cached = lru_cache(maxsize=_CACHED_SCHEMAS)(_parse)


def _class_default(schema: Any, name: str) -> Any:
    """The default of a plain annotated class: its class attribute, unless that is a descriptor such as a slot."""
    default = getattr(schema, name, MISSING)
    return MISSING if hasattr(type(default), "__get__") and hasattr(type(default), "__set__") else default


def _dataclass_fields(schema: Any) -> dict[str, FieldSpec]:
    dataclasses = sys.modules["dataclasses"]
    hints = class_hints(schema)
    fields: dict[str, FieldSpec] = {}
    for field in dataclasses.fields(schema):
        default = MISSING if field.default is dataclasses.MISSING else field.default
        factory = None if field.default_factory is dataclasses.MISSING else field.default_factory
        fields[field.name] = FieldSpec(field.name, hints.get(field.name, Any), schema, default, factory)
    return fields


def _pydantic_fields(schema: Any) -> dict[str, FieldSpec]:
    from stepgraph.schema.pydantic_fields import read_fields

    return {
        name: FieldSpec(name, annotation, schema, default, factory)
        for name, annotation, default, factory in read_fields(schema)
    }


def _channel_of(spec: FieldSpec) -> BaseChannel[Any, Any, Any] | ManagedValueSpec:
    metadata = metadata_of(spec.annotation)
    last = metadata[-1] if metadata else None
    if is_managed_value(last):
        return last
    for entry in metadata:
        if isinstance(entry, BaseChannel):
            return _with_type(entry, spec)
        if isinstance(entry, type) and issubclass(entry, BaseChannel):
            return _named(entry(spec.type), spec)
    if callable(last) and not _is_validation_marker(last):
        if not takes_two_arguments(last):
            raise ValueError(
                f"Invalid reducer signature. Expected (a, b) -> c. Got ({describe_parameters(last)}): the reducer "
                f"{getattr(last, '__qualname__', last)!r} of field {spec.name!r} of {schema_name(spec.schema)} must "
                "take the current value and the update."
            )
        spec.reducer = last
        return _named(_aggregate(spec, last), spec)
    return _named(LastValue(spec.type), spec)


def _aggregate(spec: FieldSpec, reducer: Callable[[Any, Any], Any]) -> BinaryOperatorAggregate[Any]:
    if spec.has_default:
        return BinaryOperatorAggregate(spec.type, reducer, default=spec.make_default)
    return BinaryOperatorAggregate(spec.type, reducer)


def _named(channel: BaseChannel[Any, Any, Any], spec: FieldSpec) -> BaseChannel[Any, Any, Any]:
    channel.key = spec.name
    return channel


def _with_type(channel: BaseChannel[Any, Any, Any], spec: FieldSpec) -> BaseChannel[Any, Any, Any]:
    """A prototype of the person's own channel object, which may serve several fields and so is never changed."""
    if type(channel) is DeltaChannel:
        made = DeltaChannel(channel.reducer, spec.type, snapshot_frequency=channel.snapshot_frequency)
        return _named(made, spec)
    return _named(channel.copy(), spec)


def _is_validation_marker(entry: Any) -> bool:
    """Pydantic's marker classes (`SkipValidation`, `Strict`, ...) are callable because they are classes."""
    return isinstance(entry, type) and entry.__module__.split(".", 1)[0] in ("pydantic", "annotated_types")
