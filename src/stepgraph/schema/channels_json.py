"""JSON schemas and models of low-level graphs, which declare channels instead of schema classes, and of a run's config."""

from __future__ import annotations

from typing import Any

from stepgraph.schema.json_schema import json_schema_of

__all__ = ["channels_json_schema", "channels_model", "config_model"]


def channels_json_schema(graph: Any, what: str, name: str) -> dict[str, Any]:
    """The JSON schema of a low-level graph's input or output channels.

    Args:
        graph: the graph.
        what: `"input"` or `"output"`.
        name: the title.
    """
    channels, attribute = _ends(graph, what)
    declared = graph.channels
    if isinstance(channels, str):
        described = json_schema_of(getattr(declared[channels], attribute))
        return {**described, "title": name}
    properties = {
        channel: {**json_schema_of(getattr(declared[channel], attribute)), "title": channel.title()}
        for channel in channels
    }
    return {"type": "object", "title": name, "properties": properties}


def _ends(graph: Any, what: str) -> tuple[str | list[str], str]:
    if what == "input":
        return graph.input_channels, "UpdateType"
    return graph.output_channels, "ValueType"


def channels_model(graph: Any, what: str, name: str) -> Any:
    """A Pydantic model of the same.

    Raises:
        ImportError: Pydantic is not installed.
    """
    pydantic = _pydantic()
    channels, attribute = _ends(graph, what)
    declared = graph.channels
    if isinstance(channels, str):
        root = getattr(declared[channels], attribute)
        return pydantic.create_model(name, __base__=pydantic.RootModel[root])
    fields = {channel: (getattr(declared[channel], attribute), None) for channel in channels}
    return pydantic.create_model(name, **fields)


def config_model(graph: Any, include: Any) -> Any:
    """A Pydantic model of the config that a run takes: the context schema's fields as `configurable`."""
    pydantic = _pydantic()
    fields: dict[str, Any] = {}
    if graph.context_schema is not None:
        fields["configurable"] = (graph.context_schema, None)
    known = {"tags": list[str], "metadata": dict[str, Any], "recursion_limit": int, "max_concurrency": int}
    fields.update({name: (known.get(name, Any), None) for name in include or ()})
    return pydantic.create_model(graph.get_name("Config"), **fields)


def _pydantic() -> Any:
    try:
        import pydantic
    except ImportError as error:
        raise ImportError(
            'Pydantic models need Pydantic: pip install "stepgraph[pydantic]". JSON schemas work without it: '
            "get_input_jsonschema()."
        ) from error
    return pydantic
