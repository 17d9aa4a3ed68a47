"""Schemas towards the outside: shown as a JSON schema or a Pydantic model, and used to check what people answer.

Rules of this file: the public questions only. Pydantic answers where it is installed and can; else `describe` and
`check` of this package do, in the same shape.

Theory: the schema of a graph's input or output is named after the graph where the class brings no name that is meant
for readers: bare types and dataclasses get the graph's name, TypedDicts and models keep their own.
"""

from __future__ import annotations

from typing import Any

from stepgraph.schema.adapters import adapter_for, load_pydantic, portable
from stepgraph.schema.check import check_value
from stepgraph.schema.declared import declared_fields, schema_name
from stepgraph.schema.describe import JsonSchema, describe
from stepgraph.schema.kinds import is_pydantic_model, kind_of

__all__ = ["answer_json_schema", "check_answer", "json_schema_of", "named_json_schema", "pydantic_model_for"]


def json_schema_of(schema: Any) -> JsonSchema:
    """The JSON schema of a class or type.

    A type that has no JSON form is described as "anything".

    >>> json_schema_of(int)
    {'type': 'integer'}
    """
    adapter = adapter_for(schema) if kind_of(schema) != "class" else None
    if adapter is None:
        return describe(schema)
    described: JsonSchema = adapter.json_schema(schema_generator=_generator())
    return described


def named_json_schema(schema: Any, name: str) -> JsonSchema:
    """The JSON schema of a graph's input or output.

    Args:
        schema: the input or output schema.
        name: what it is called where the class has no name for readers: the graph's name with `Input` or `Output`.
    """
    described = dict(json_schema_of(schema))
    kind = kind_of(schema)
    if kind == "root":
        described.update(title=name, default=None)
    elif kind in ("dataclass", "class"):
        described["title"] = name
        described.pop("description", None)
        described["properties"] = _with_made_defaults(schema, described.get("properties", {}))
    return described


def pydantic_model_for(schema: Any, name: str) -> Any:
    """A Pydantic model that validates values of a schema.

    Args:
        schema: the input or output schema; a Pydantic model is its own answer.
        name: the model's name.

    Returns:
        The model; for a dataclass, TypedDict or bare type one with a single `root`.

    Raises:
        ImportError: Pydantic is not installed.
    """
    if is_pydantic_model(schema):
        return schema
    pydantic = load_pydantic()
    if pydantic is None:
        raise ImportError(
            f"The model of {schema_name(schema)} needs Pydantic, which is not installed. "
            'Install it with: pip install "stepgraph[pydantic]". The JSON schema can be had without it.'
        )
    config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    if kind_of(schema) == "class":
        fields = {
            field: (spec.annotation, spec.make_default() if spec.has_default else ...)
            for field, spec in declared_fields(schema).items()
        }
        return pydantic.create_model(name, __config__=config, **fields)
    base: Any = type(name, (pydantic.RootModel,), {"model_config": config, "__module__": __name__})
    return pydantic.create_model(name, __base__=base, root=(portable(schema), ...))


def check_answer(response_schema: Any, value: Any) -> Any:
    """Check an answer.

    Args:
        response_schema: a Pydantic model, TypedDict, dataclass or any other type; `None` and a JSON schema take
            every answer.
        value: the answer.

    Returns:
        The answer as the schema has it: an instance of the class, a dict for a TypedDict.

    Raises:
        ValueError: the answer does not fit; with Pydantic it is its `ValidationError`.
    """
    if response_schema is None or isinstance(response_schema, dict):
        return value
    adapter = adapter_for(response_schema) if kind_of(response_schema) != "class" else None
    return check_value(response_schema, value) if adapter is None else adapter.validate_python(value)


def answer_json_schema(response_schema: Any) -> dict[str, Any] | None:
    """How a response schema is shown to whoever asks the person: as a JSON schema."""
    if response_schema is None or isinstance(response_schema, dict):
        return response_schema
    return json_schema_of(response_schema)


def _with_made_defaults(schema: Any, properties: JsonSchema) -> JsonSchema:
    """Who fills in a form of a graph's input also sees the defaults that a factory makes."""
    shown = dict(properties)
    for name, field in declared_fields(schema).items():
        if field.default_factory is None or name not in shown or "default" in shown[name]:
            continue
        default = field.make_default()
        if isinstance(default, (str, int, float, bool, list, dict)):
            shown[name] = {"default": default, **shown[name]}
    return shown


def _generator() -> Any:
    from stepgraph.schema.pydantic_json import LenientJsonSchema

    return LenientJsonSchema
