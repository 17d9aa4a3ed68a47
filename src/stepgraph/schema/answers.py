"""What a person may answer to a question that names a response schema.

Rules of this file: the two public questions, does this answer fit, and how is the schema shown. A schema given as a
JSON schema (a dict) is only shown; a class or type is checked, by Pydantic where it is installed, else by `check`.
"""

from __future__ import annotations

from typing import Any

from stepgraph.schema.adapters import adapter_for
from stepgraph.schema.check import check_value
from stepgraph.schema.json_schema import json_schema_of
from stepgraph.schema.kinds import kind_of

__all__ = ["answer_json_schema", "check_answer"]


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
