"""A schema class turned into field specs: one channel a field.

Rules of this file: it reads classes and makes channels; it runs no graph and holds no values. `parse_schema` is the
entry, and its result is cached for the class, so it and all it holds are shared: a channel in a spec is a prototype
that the engine copies, never a channel of a run.

Theory: a field's annotation says how writes to it are folded. A managed value or a reducer counts only as the last
metadata of its `Annotated`; a channel (instance or class) counts anywhere in it; everything else is a `LastValue`.
A default that the class declares is where a reducer starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from stepgraph.channels.base import BaseChannel
from stepgraph.channels.binop import BinaryOperatorAggregate
from stepgraph.channels.delta import DeltaChannel
from stepgraph.channels.last_value import LastValue
from stepgraph.managed.base import ManagedValueSpec, is_managed_value
from stepgraph.schema.annotations import metadata_of, strip_wrappers
from stepgraph.schema.callables import describe_parameters, takes_two_arguments
from stepgraph.schema.declared import DeclaredField, cached_by_schema, declared_fields, schema_name
from stepgraph.schema.kinds import Kind, kind_of

__all__ = ["ROOT", "FieldSpec", "SchemaSpec", "folds_writes", "parse_schema", "schema_name"]

ROOT: Final = "__root__"


class FieldSpec(DeclaredField):
    """One field of a schema with its channel.

    Attributes:
        channel: the channel prototype, or a managed value's class.
        reducer: the reducer named in the annotation, or `None`.
    """

    __slots__ = ("channel", "reducer")

    def __init__(self, field: DeclaredField) -> None:
        super().__init__(
            field.name, field.annotation, field.schema, field.default, field.default_factory, field.required
        )
        self.reducer: Callable[[Any, Any], Any] | None = None
        self.channel: BaseChannel[Any, Any, Any] | ManagedValueSpec = _channel_of(self)

    @property
    def is_managed(self) -> bool:
        """Is the value computed by the engine, so that nothing can write it?"""
        return not isinstance(self.channel, BaseChannel)

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
        self.channels: dict[str, BaseChannel[Any, Any, Any]] = {}
        self.managed: dict[str, ManagedValueSpec] = {}
        for name, spec in fields.items():
            if isinstance(spec.channel, BaseChannel):
                self.channels[name] = spec.channel
            else:
                self.managed[name] = spec.channel

    def __repr__(self) -> str:
        return f"SchemaSpec({schema_name(self.schema)}, {self.kind}, {list(self.fields)})"


@cached_by_schema
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
    kind = kind_of(schema)
    if kind == "root":
        field = DeclaredField(ROOT, strip_wrappers(schema), schema)
        return SchemaSpec(schema, kind, {ROOT: FieldSpec(field)})
    return SchemaSpec(
        schema, kind, {name: FieldSpec(field) for name, field in declared_fields(schema).items()}
    )


def folds_writes(annotation: Any) -> bool:
    """Does this annotation give its field a channel for which a write is more than the field's next value?

    Asked of classes that need not be a graph's state, so a wrong reducer is no error here.
    """
    metadata = metadata_of(annotation)
    return any(map(_is_channel, metadata)) or bool(metadata and _may_be_reducer(metadata[-1]))


def _channel_of(spec: FieldSpec) -> BaseChannel[Any, Any, Any] | ManagedValueSpec:
    metadata = metadata_of(spec.annotation)
    last = metadata[-1] if metadata else None
    if is_managed_value(last):
        return last
    for entry in metadata:
        if _is_channel(entry):
            return _prototype(entry, spec)
    if _may_be_reducer(last):
        return _named(_aggregate(spec, last), spec)
    return _named(LastValue(spec.type), spec)


def _is_channel(entry: Any) -> bool:
    return isinstance(entry, BaseChannel) or (isinstance(entry, type) and issubclass(entry, BaseChannel))


def _may_be_reducer(entry: Any) -> bool:
    """Something to call; Pydantic's marker classes (`SkipValidation`, ...) are callable only because they are classes."""
    if not callable(entry) or is_managed_value(entry):
        return False
    return not (
        isinstance(entry, type) and entry.__module__.split(".", 1)[0] in ("pydantic", "annotated_types")
    )


def _prototype(entry: Any, spec: FieldSpec) -> BaseChannel[Any, Any, Any]:
    """A channel for this field; the person's own object may serve several fields and so is never changed."""
    if isinstance(entry, type):
        return _named(entry(spec.type), spec)
    if type(entry) is DeltaChannel:
        delta = DeltaChannel(entry.reducer, spec.type, snapshot_frequency=entry.snapshot_frequency)
        return _named(delta, spec)
    return _named(entry.copy(), spec)


def _aggregate(spec: FieldSpec, reducer: Any) -> BinaryOperatorAggregate[Any]:
    if not takes_two_arguments(reducer):
        raise ValueError(
            f"Invalid reducer signature. Expected (a, b) -> c. Got ({describe_parameters(reducer)}): the reducer "
            f"{getattr(reducer, '__qualname__', reducer)!r} of field {spec.name!r} of {schema_name(spec.schema)} must "
            "take two positional arguments, the current value and the update. If it is not meant as a reducer, put "
            "something else last in the Annotated."
        )
    spec.reducer = reducer
    if spec.has_default:
        return BinaryOperatorAggregate(spec.type, reducer, default=spec.make_default)
    return BinaryOperatorAggregate(spec.type, reducer)


def _named(channel: BaseChannel[Any, Any, Any], spec: FieldSpec) -> BaseChannel[Any, Any, Any]:
    channel.key = spec.name
    return channel
