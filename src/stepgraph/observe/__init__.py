"""Watching runs from outside: OpenTelemetry's spans and metrics for graphs.

What lives here: `instrument`, and the instrumentor class that OpenTelemetry's users know. Nothing of OpenTelemetry is
imported before one of them is called, and nothing here before somebody imports it: runs that nobody traces pay nothing.
Needs `pip install "stepgraph[otel]"`.
"""

from stepgraph.observe.instrumentor import StepgraphInstrumentor, instrument, uninstrument

__all__ = ("StepgraphInstrumentor", "instrument", "uninstrument")
