"""Turning tracing on and off, for one graph or for all of this process.

Rules of this file: it sets `watcher` on a graph or on the class of all graphs, and knows nothing of runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from stepgraph.pregel.pregel import Pregel

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from stepgraph.observe.watching import Telemetry

GraphT = TypeVar("GraphT")

VALUE_LIMIT = 4096
"""So many characters of a value are shown at most, unless somebody asks for more."""


def instrument(
    graph: GraphT | None = None,
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    record_values: bool = False,
    value_limit: int = VALUE_LIMIT,
    models: bool = False,
) -> GraphT | None:
    """Trace the runs of a graph, or of all graphs in this process, with OpenTelemetry.

    Args:
        graph: The compiled graph to trace: runs that begin at it, with the graphs inside. Left out: every graph.
        tracer_provider: Where spans go; left out, OpenTelemetry's global one.
        meter_provider: Where metrics go; left out, OpenTelemetry's global one.
        record_values: Show inputs, outputs, arguments and questions, too. They may hold what no log should.
        value_limit: So many characters of each of these at most.
        models: Make a span for each call of a LangChain model that a node's code makes. Leave it off where an
            instrumentation of the model's library does so already.

    Returns:
        The graph that was given, which is traced from now on.

    Raises:
        ImportError: OpenTelemetry is not installed.
        TypeError: `graph` is no compiled graph.
        ValueError: `value_limit` is less than 1.

    Example:
        ```python
        from stepgraph.observe import instrument

        graph = instrument(builder.compile())
        ```
    """
    if graph is not None and not isinstance(graph, Pregel):
        raise TypeError(
            f"instrument() takes a compiled graph, got {type(graph).__name__}. Call compile() first, or leave it out to trace "
            "every graph."
        )
    watcher = _telemetry(tracer_provider, meter_provider, record_values, value_limit, models)
    target: Any = Pregel if graph is None else graph
    target.watcher = watcher
    return graph


def uninstrument(graph: Any = None) -> None:
    """Stop tracing what `instrument` was called with; runs that have begun are traced to their end.

    Args:
        graph: The graph; left out, every graph that was not instrumented by itself.
    """
    if graph is None:
        Pregel.watcher = None
    else:
        graph.__dict__.pop("watcher", None)


class StepgraphInstrumentor:
    """The same in the form of OpenTelemetry's instrumentations, for programs that list these.

    `opentelemetry-instrument python program.py` finds it by its entry point.

    Example:
        ```python
        from stepgraph.observe import StepgraphInstrumentor

        StepgraphInstrumentor().instrument(tracer_provider=provider)
        ```
    """

    @property
    def is_instrumented_by_opentelemetry(self) -> bool:
        """Whether every graph of this process is traced."""
        return Pregel.watcher is not None

    def instrumentation_dependencies(self) -> tuple[str, ...]:
        """What must be installed besides OpenTelemetry: nothing."""
        return ()

    def instrument(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        record_values: bool = False,
        value_limit: int = VALUE_LIMIT,
        models: bool = False,
        **ignored: Any,
    ) -> None:
        """Trace every graph of this process; arguments as for the function `instrument`."""
        instrument(
            tracer_provider=tracer_provider,
            meter_provider=meter_provider,
            record_values=record_values,
            value_limit=value_limit,
            models=models,
        )

    def uninstrument(self, **ignored: Any) -> None:
        """Stop tracing."""
        uninstrument()


def _telemetry(
    tracer_provider: Any, meter_provider: Any, record_values: bool, value_limit: int, models: bool
) -> Telemetry:
    if value_limit < 1:
        raise ValueError(f"value_limit must be at least 1 character, got {value_limit}")
    try:
        from stepgraph.observe.watching import Telemetry
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] != "opentelemetry":
            raise
        raise ImportError(
            'Tracing needs OpenTelemetry. Install it: pip install "stepgraph[otel]"', name="opentelemetry"
        ) from error
    return Telemetry(tracer_provider, meter_provider, value_limit if record_values else 0, models)
