"""Pydantic's JSON schema generator, made to describe any state.

Rules of this file: it is imported only where Pydantic is in use.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

__all__ = ["LenientJsonSchema"]


class LenientJsonSchema(GenerateJsonSchema):
    """Describes a type that has no JSON form as "anything" in place of refusing the whole schema."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        """What to write for a class or function in a state: no restriction."""
        return {}
