"""JSON schemas of types, without Pydantic.

Rules of this file: it makes the schema that Pydantic would make for the types that states are made of: builtins,
containers, unions, literals, enums, dates, TypedDicts, dataclasses and annotated classes. A type that it does not
know is described as "anything". A Pydantic model describes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from stepgraph.schema.annotations import bare_type
from stepgraph.schema.declared import DeclaredField, declared_fields
from stepgraph.schema.kinds import is_pydantic_model, kind_of

__all__ = ["describe", "title_of"]

JsonSchema = dict[str, Any]

_SIMPLE: Final[dict[Any, JsonSchema]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"format": "binary", "type": "string"},
    NoneType: {"type": "null"},
    None: {"type": "null"},
}
_FORMATS: Final = {
    ("datetime", "datetime"): "date-time",
    ("datetime", "date"): "date",
    ("datetime", "time"): "time",
    ("datetime", "timedelta"): "duration",
    ("uuid", "UUID"): "uuid",
    ("pathlib", "Path"): "path",
}


def title_of(name: str) -> str:
    """A field's name as a heading: `thread_id` is `Thread Id`."""
    return name.title().replace("_", " ").strip()


def describe(schema: Any) -> JsonSchema:
    """The JSON schema of a type; classes used inside it stand under `$defs`.

    >>> describe(list[int])
    {'items': {'type': 'integer'}, 'type': 'array'}
    """
    writer = SchemaWriter()
    described = writer.describe(schema)
    reference = described.get("$ref")
    name = reference.rsplit("/", 1)[-1] if reference else None
    if name is not None and writer.uses[name] == 1:
        described = writer.definitions.pop(name)
    return {**described, **({"$defs": writer.definitions} if writer.definitions else {})}


class SchemaWriter:
    """Describes types, and collects the classes that they name."""

    def __init__(self) -> None:
        self.definitions: dict[str, JsonSchema] = {}
        self.uses: dict[str, int] = {}
        self._names: dict[Any, str] = {}

    def describe(self, hint: Any) -> JsonSchema:
        """The schema of one type."""
        hint = bare_type(hint)
        hint = getattr(hint, "__value__", getattr(hint, "__supertype__", hint))
        try:
            if hint in _SIMPLE:
                return dict(_SIMPLE[hint])
        except TypeError:  # an annotation with unhashable metadata
            return {}
        origin = get_origin(hint)
        if origin in (Union, UnionType):
            return {"anyOf": [self.describe(option) for option in get_args(hint)]}
        if origin is Literal:
            return _described_choices([getattr(choice, "value", choice) for choice in get_args(hint)])
        if kind_of(hint) != "root":
            return self._reference(hint, lambda: self._described_class(hint))
        candidate = origin or hint
        if not isinstance(candidate, type):
            return {}
        if issubclass(candidate, Enum):
            return self._reference(hint, lambda: _described_enum(candidate))
        return self._described_container(candidate, get_args(hint))

    def _described_container(self, origin: type, arguments: tuple[Any, ...]) -> JsonSchema:
        from collections.abc import Collection

        if (form := _FORMATS.get((origin.__module__, origin.__name__))) is not None:
            return {"format": form, "type": "string"}
        if origin in (str, bytes) or not issubclass(origin, Collection):
            return {}
        if issubclass(origin, Mapping):
            values = self.describe(arguments[1]) if len(arguments) == 2 else {}
            return {"additionalProperties": values or True, "type": "object"}
        if origin is tuple and arguments and arguments[-1] is not Ellipsis:
            count = len(arguments)
            items = [self.describe(argument) for argument in arguments]
            return {"maxItems": count, "minItems": count, "prefixItems": items, "type": "array"}
        described: JsonSchema = {"items": self.describe(arguments[0]) if arguments else {}, "type": "array"}
        if issubclass(origin, (set, frozenset)):
            described["uniqueItems"] = True
        return described

    def _reference(self, hint: Any, make: Callable[[], JsonSchema]) -> JsonSchema:
        name = self._names.get(hint)
        if name is None:
            wanted = str(getattr(hint, "__name__", None) or getattr(get_origin(hint), "__name__", "Value"))
            name, count = wanted, 1
            while name in self.definitions:
                count += 1
                name = f"{wanted}{count}"
            self._names[hint] = name
            self.uses[name] = 0
            self.definitions[name] = {}
            self.definitions[name] = make()
        self.uses[name] += 1
        return {"$ref": f"#/$defs/{name}"}

    def _described_class(self, schema: Any) -> JsonSchema:
        if is_pydantic_model(schema):
            described: JsonSchema = schema.model_json_schema()
            for name, definition in described.pop("$defs", {}).items():
                self.definitions.setdefault(name, definition)
            return described
        cls = get_origin(schema) or schema
        fields = declared_fields(schema)
        described = {
            "properties": {name: self._described_field(field) for name, field in fields.items()},
            "title": cls.__name__,
            "type": "object",
        }
        if required := [name for name, field in fields.items() if field.required]:
            described["required"] = required
        if description := _description_of(cls):
            described["description"] = description
        return described

    def _described_field(self, field: DeclaredField) -> JsonSchema:
        described = self.describe(field.annotation)
        if "$ref" not in described:
            described["title"] = title_of(field.name)
        default = field.default.value if isinstance(field.default, Enum) else field.default
        if isinstance(default, (str, int, float, bool, list, dict, NoneType)):
            described["default"] = default
        return described


def _description_of(cls: Any) -> str | None:
    """The class's own docstring; dataclasses without one carry their signature there, which says nothing."""
    text = vars(cls).get("__doc__")
    if not text or (kind_of(cls) == "dataclass" and text.startswith(f"{cls.__name__}(")):
        return None
    from inspect import cleandoc

    return cleandoc(text)


def _described_enum(cls: type[Enum]) -> JsonSchema:
    described = {
        **_described_choices([member.value for member in cls], always_list=True),
        "title": cls.__name__,
    }
    text = vars(cls).get("__doc__")
    if text and text != "An enumeration.":
        from inspect import cleandoc

        described["description"] = cleandoc(text)
    return described


def _described_choices(choices: list[Any], always_list: bool = False) -> JsonSchema:
    described: JsonSchema = {"enum": choices}
    if len(choices) == 1 and not always_list:
        described = {"const": choices[0]}
    kinds = {type(choice) for choice in choices}
    if len(kinds) == 1 and (kind := kinds.pop()) in _SIMPLE:
        described.update(_SIMPLE[kind])
    return described
