"""Checking one field's value against a Pydantic model.

Rules of this file: it is the one place that looks inside a model's core schema. It raises Pydantic's own
`ValidationError`, because programs catch that, with notes that say which field, which value and what to do.

Theory: a step's commit changes some fields, while others may have no value yet, so the model as a whole cannot be
validated there. But each field can: its part of the core schema, field validators included, becomes a validator of a
typed dict that holds this field, preceded by the other fields' values unchecked (a field validator may look at them in
`info.data`). Validators of the whole model run where the whole object is built, for a node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from stepgraph.schema.declared import cached_by_schema, schema_name
from stepgraph.schema.kinds import is_pydantic_model

__all__ = ["FieldValidator", "validator_for"]

_LONGEST_VALUE: Final = 200

Check = Callable[[dict[str, Any]], Any]


@cached_by_schema
def validator_for(schema: Any) -> FieldValidator | None:
    """The validator of a schema's fields; `None` where the schema is no Pydantic model and so checks nothing."""
    return FieldValidator(schema) if is_pydantic_model(schema) else None


class FieldValidator:
    """Validates single fields of one Pydantic model."""

    __slots__ = ("_checks", "model")

    def __init__(self, model: Any) -> None:
        self.model = model
        self._checks: dict[str, Check | None] = {}

    def __call__(self, field: str, value: Any, others: Mapping[str, Any] | None = None) -> Any:
        """Validate one field's value.

        Args:
            field: the field's name, not its alias; a name that the model does not have is not checked.
            value: the value as it was folded.
            others: values of other fields, which a field validator may look at.

        Returns:
            The coerced value.

        Raises:
            pydantic.ValidationError: the value is refused.
        """
        try:
            check = self._checks[field]
        except KeyError:
            check = self._checks[field] = _check_of(self.model, field)
        if check is None:
            return value
        values = {**others, field: value} if others else {field: value}
        try:
            return check(values)
        except Exception as error:
            error.add_note(
                f"The value of field {field!r} is not what {schema_name(self.model)} declares: {_shortened(value)}. "
                "Nothing of this step was written; correct what writes the field, or declare the type it writes."
            )
            raise


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "..."


def _check_of(model: Any, field: str) -> Check | None:
    if field not in model.model_fields:
        return None
    if not model.__pydantic_complete__:
        model.model_rebuild()
    definitions: dict[str, Any] = {}
    fields, config = _field_schemas(model.__pydantic_core_schema__, definitions)
    if fields is None or field not in fields:
        return _check_by_type(model, field)
    return _check_by_core_schema(model, field, fields, config, definitions)


def _check_by_core_schema(
    model: Any,
    field: str,
    fields: Mapping[str, Any],
    config: Mapping[str, Any],
    definitions: Mapping[str, Any],
) -> Check:
    from pydantic_core import SchemaValidator

    checked: dict[str, Any] = {}
    for name, schema in fields.items():
        inner = schema["schema"] if name == field else {"type": "any"}
        checked[name] = {"type": "typed-dict-field", "schema": inner, "required": False}
        if name == field:
            break
    whole: Any = {
        "type": "typed-dict",
        "cls_name": model.__name__,
        "fields": checked,
        "config": {**config, "title": model.__name__, "extra_fields_behavior": "ignore"},
    }
    if definitions:
        whole = {"type": "definitions", "schema": whole, "definitions": list(definitions.values())}
    validate = SchemaValidator(whole).validate_python
    return lambda values: validate(values)[field]


def _check_by_type(model: Any, field: str) -> Check:
    """For a model that brings a core schema of its own: the field's declared type decides."""
    from typing import Annotated

    from pydantic import TypeAdapter

    info = model.model_fields[field]
    annotation: Any = Annotated[info.annotation, info]
    adapter: Any = TypeAdapter(annotation)
    return lambda values: adapter.validate_python(values[field])


def _field_schemas(schema: Any, definitions: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The schemas of a model's fields and its configuration, below definitions and model validators."""
    config: dict[str, Any] = {}
    while schema is not None:
        kind = schema["type"]
        if kind == "model-fields":
            return schema["fields"], config
        if kind == "definitions":
            definitions.update({entry["ref"]: entry for entry in schema["definitions"]})
        if kind == "model":
            config = dict(schema.get("config") or {})
        if kind == "definition-ref":
            schema = definitions.get(schema["schema_ref"])
        else:
            schema = schema.get("schema")
    return None, config
