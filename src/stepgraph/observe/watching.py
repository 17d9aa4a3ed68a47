"""What all traced runs have in common: the tracer, the meters, how much of values is shown.

Rules of this file: one `Telemetry` for each `instrument()`; it makes a `Tracing` (see `tracing.py`) for each root run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace

from stepgraph.observe.models import Models
from stepgraph.observe.tracing import Tracing
from stepgraph.version import __version__

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine

SCOPE = "stepgraph"
"""The instrumentation scope of all spans and metrics."""


class Meters:
    """What is counted and timed, over all runs."""

    def __init__(self, provider: Any) -> None:
        meter = metrics.get_meter(SCOPE, __version__, provider)
        self.runs = meter.create_counter("stepgraph.runs", "{run}", "Runs that ended, by how they ended")
        self.steps = meter.create_counter("stepgraph.supersteps", "{superstep}", "Supersteps that ran")
        self.retries = meter.create_counter("stepgraph.retries", "{attempt}", "Attempts after the first")
        self.run_duration = meter.create_histogram("stepgraph.run.duration", "s", "How long runs took")
        self.task_duration = meter.create_histogram("stepgraph.task.duration", "s", "How long attempts took")


class Telemetry:
    """Traces the root runs of the graphs that it is the `watcher` of.

    Args:
        tracer_provider: Where spans go; None: the global one.
        meter_provider: Where metrics go; None: the global one.
        value_limit: So many characters of a value are shown; 0: no values.
        models: Whether calls of LangChain's models are traced.
    """

    def __init__(self, tracer_provider: Any, meter_provider: Any, value_limit: int, models: bool) -> None:
        self.tracer = trace.get_tracer(SCOPE, __version__, tracer_provider)
        self.meters = Meters(meter_provider)
        self.value_limit = value_limit
        self.models = models

    def observer_of(self, machine: Machine) -> Tracing:
        """The observer of one root run."""
        models = Models(self.tracer, self.value_limit) if self.models else None
        return Tracing(self.tracer, self.meters, self.value_limit, models)
