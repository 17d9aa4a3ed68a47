"""The part of a compiled graph's face that describes it: its schemas, its picture, its inner structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.node import PregelNode

if TYPE_CHECKING:
    from stepgraph.pregel.plan import Plan
    from stepgraph.values.findings import Finding


class Describing:
    """Schemas, drawing, and the compiled structure, to be looked at."""

    plan: Plan
    name: str
    context_schema: Any

    def check(self) -> list[Finding]:
        """Look for mistakes in this graph and in the graphs inside, without running anything.

        Returns:
            Errors first, then warnings, then hints: each with a stable code, the place in the source, why, and the mend.

        Example:
            >>> graph.check()
            [Finding(code='SG203', severity='error', ...)]
        """
        from importlib import import_module

        found: list[Finding] = import_module("stepgraph.check").check_graph(self)
        return found

    @property
    def nodes(self) -> Mapping[str, PregelNode]:
        """Name to node: triggers, channels, mapper, writers, bound action, subgraphs."""
        return {name: PregelNode.of(node) for name, node in self.plan.nodes.items() if name != "__input__"}

    @property
    def node_error_handler_map(self) -> Mapping[str, str]:
        """Node to the hidden node that handles its failures."""
        policies = [(name, node.policy) for name, node in self.plan.nodes.items()]
        return {
            name: policy.error_handler.name
            for name, policy in policies
            if policy and policy.error_handler is not None
        }

    @property
    def trigger_to_nodes(self) -> Mapping[str, Sequence[str]]:
        """Channel to the nodes that a write to it can make run."""
        return {channel: [node.name for node in nodes] for channel, nodes in self.plan.triggers.items()}

    @property
    def stream_channels_list(self) -> Sequence[str]:
        """The channels that streams show."""
        channels = self.plan.stream_channels
        return [channels] if isinstance(channels, str) else list(channels)

    @property
    def stream_channels_asis(self) -> str | Sequence[str]:
        """The same, one channel as its bare name."""
        channels = self.plan.stream_channels
        return channels if isinstance(channels, str) else list(channels)

    @property
    def config_specs(self) -> list[Any]:
        return []

    # ---- schemas

    def _schema_of(self, what: str) -> Any:
        """The schema class of the input or output; None where only channels are known."""
        return None

    def _json_schema(self, what: str, name: str) -> dict[str, Any]:
        from stepgraph.schema.channels_json import channels_json_schema
        from stepgraph.schema.json_schema import named_json_schema

        schema = self._schema_of(what)
        if schema is not None:
            return dict(named_json_schema(schema, name))
        return channels_json_schema(self, what, name)

    def get_input_jsonschema(self, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The JSON schema of what `invoke` takes."""
        return self._json_schema("input", self._schema_name("Input"))

    def get_output_jsonschema(self, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The JSON schema of what `invoke` returns."""
        return self._json_schema("output", self._schema_name("Output"))

    def _schema_name(self, suffix: str) -> str:
        return self.get_name(suffix)  # type: ignore[attr-defined,no-any-return]

    def get_input_schema(self, config: Mapping[str, Any] | None = None) -> Any:
        """A Pydantic model of what `invoke` takes.

        Raises:
            ImportError: Pydantic is not installed.
        """
        return self._model("input", "Input")

    def get_output_schema(self, config: Mapping[str, Any] | None = None) -> Any:
        """A Pydantic model of what `invoke` returns; raises as `get_input_schema`."""
        return self._model("output", "Output")

    def _model(self, what: str, suffix: str) -> Any:
        from stepgraph.schema.channels_json import channels_model
        from stepgraph.schema.json_schema import pydantic_model_for

        schema = self._schema_of(what)
        name = self._schema_name(suffix)
        return channels_model(self, what, name) if schema is None else pydantic_model_for(schema, name)

    @property
    def InputType(self) -> Any:
        """The type of the input."""
        return self._schema_of("input") or Any

    @property
    def OutputType(self) -> Any:
        """The type of the output."""
        return self._schema_of("output") or Any

    @property
    def input_schema(self) -> Any:
        """The same as `get_input_schema()`."""
        return self.get_input_schema()

    @property
    def output_schema(self) -> Any:
        """The same as `get_output_schema()`."""
        return self.get_output_schema()

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """The JSON schema of what `context=` takes; None if there is no context schema."""
        if self.context_schema is None:
            return None
        from stepgraph.schema.json_schema import json_schema_of

        return dict(json_schema_of(self.context_schema))

    def config_schema(self, *, include: Sequence[str] | None = None) -> Any:
        """A Pydantic model of the config that a run takes (deprecated: see `get_context_jsonschema`)."""
        from stepgraph.schema.channels_json import config_model

        return config_model(self, include)

    def get_config_jsonschema(self, *, include: Sequence[str] | None = None) -> dict[str, Any]:
        """The JSON schema of the config that a run takes (deprecated: see `get_context_jsonschema`)."""
        return self.config_schema(include=include).model_json_schema()  # type: ignore[no-any-return]

    # ---- pictures

    def get_graph(self, config: Mapping[str, Any] | None = None, *, xray: int | bool = False) -> Any:
        """The graph as something that can be drawn: `.draw_mermaid()`, `.draw_ascii()`, `.draw_png()`.

        Args:
            config: Not used; taken for programs that pass it.
            xray: Show what is inside nested graphs, to this depth (True: all of it).
        """
        from stepgraph.draw.build import drawable

        return drawable(self, xray)

    async def aget_graph(self, config: Mapping[str, Any] | None = None, *, xray: int | bool = False) -> Any:
        """The same as `get_graph`, awaited."""
        return self.get_graph(config, xray=xray)
