"""Finished spans in memory, as a tree of names that a test can compare."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Spans:
    """What was traced so far."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def all(self, name: str | None = None) -> list[Any]:
        """The spans of that name, in the order in which they began."""
        found = sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time)
        return [span for span in found if name is None or span.name == name]

    def one(self, name: str) -> Any:
        (span,) = self.all(name)
        return span

    def tree(self, *, saves: bool = False) -> Any:
        """Each span as its name, or as (name, what is below it)."""
        spans = [span for span in self.all() if saves or span.name != "save"]

        def below(parent: int | None) -> list[Any]:
            shown = []
            for span in spans:
                if (span.parent.span_id if span.parent else None) == parent:
                    inner = below(span.context.span_id)
                    shown.append((span.name, *inner) if inner else span.name)
            return shown

        return below(None)

    def clear(self) -> None:
        self.exporter.clear()
