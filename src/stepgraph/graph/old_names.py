"""Parameters that are still accepted by the names they once had, with a warning.

Rules of this file: called by the methods that a person calls, so that a warning shows the person's line.
"""

from __future__ import annotations

from typing import Any


def old_names_of_graph(
    kwargs: dict[str, Any], input_schema: Any, output_schema: Any, context_schema: Any
) -> Any:
    """The three schemas of a `StateGraph`, whichever names they were given by; other names are an error."""
    import warnings

    from stepgraph.warnings import LangGraphDeprecatedSinceV05, LangGraphDeprecatedSinceV10

    for old, new, category in (
        ("input", "input_schema", LangGraphDeprecatedSinceV05),
        ("output", "output_schema", LangGraphDeprecatedSinceV05),
        ("config_schema", "context_schema", LangGraphDeprecatedSinceV10),
    ):
        if old in kwargs:
            warnings.warn(f"`{old}` is deprecated. Use `{new}` instead.", category, stacklevel=3)
            value = kwargs.pop(old)
            if old == "input":
                input_schema = input_schema or value
            elif old == "output":
                output_schema = output_schema or value
            else:
                context_schema = context_schema or value
    if kwargs:
        raise TypeError(f"StateGraph() got unexpected keyword arguments: {', '.join(kwargs)}")
    return input_schema, output_schema, context_schema


def old_names_of_node(kwargs: dict[str, Any]) -> None:
    """Refuse what `add_node` does not know, and say what an old name is called now."""
    import warnings

    from stepgraph.warnings import LangGraphDeprecatedSinceV05

    for old in ("input", "retry"):
        if old in kwargs:
            new = {"input": "input_schema", "retry": "retry_policy"}[old]
            warnings.warn(
                f"`{old}` is deprecated. Use `{new}` instead.", LangGraphDeprecatedSinceV05, stacklevel=3
            )
            raise TypeError(f"add_node() takes {new}, not {old}")
    if kwargs:
        raise TypeError(f"add_node() got unexpected keyword arguments: {', '.join(kwargs)}")
