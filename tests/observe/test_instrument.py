"""Turning tracing on and off, what is counted, and what it costs where it is off."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from typing_extensions import TypedDict

from langchain_bridge.counting import GRAPH, RUNS, calls_of, per_step
from pregel.both import Face, each_driver
from stepgraph import START, StateGraph
from stepgraph.observe import StepgraphInstrumentor, instrument, uninstrument
from stepgraph.types import RetryPolicy


class State(TypedDict, total=False):
    text: str


def graph_of(name, action=lambda state: {"text": "x"}, **options):
    graph = StateGraph(State).add_node("one", action, **options).add_edge(START, "one")
    return graph.compile(name=name)


def test_one_graph_is_traced_and_others_are_not(spans):
    watched = graph_of("watched")
    assert instrument(watched, tracer_provider=spans.provider) is watched
    watched.invoke({})
    watched.with_config(tags=["x"]).invoke({})
    graph_of("other").invoke({})
    assert [span.name for span in spans.all() if span.parent is None] == ["invoke_workflow watched"] * 2
    uninstrument(watched)
    spans.clear()
    watched.invoke({})
    assert spans.all() == []


@each_driver
def test_the_instrumentor_traces_every_graph_until_it_is_told_to_stop(spans, driver):
    graph = graph_of("made before")
    instrumentor = StepgraphInstrumentor()
    instrumentor.instrument(tracer_provider=spans.provider, skip_dep_check=True)
    assert instrumentor.is_instrumented_by_opentelemetry
    Face(graph, driver).invoke({})
    instrumentor.uninstrument()
    assert not instrumentor.is_instrumented_by_opentelemetry
    Face(graph, driver).invoke({})
    assert [span.name for span in spans.all() if span.parent is None] == ["invoke_workflow made before"]


def test_only_compiled_graphs_are_instrumented():
    with pytest.raises(TypeError, match=r"Call compile\(\) first"):
        instrument(StateGraph(State))
    with pytest.raises(ValueError, match="value_limit"):
        instrument(value_limit=0)


@each_driver
def test_a_trace_that_is_not_sampled_changes_nothing(spans, driver):
    graph = instrument(
        graph_of("quiet"), tracer_provider=TracerProvider(sampler=ALWAYS_OFF), record_values=True
    )
    assert Face(graph, driver).invoke({}) == {"text": "x"}


@each_driver
def test_runs_steps_and_retries_are_counted(spans, driver):
    reader = InMemoryMetricReader()
    failures = [ConnectionError("busy"), ConnectionError("busy")]

    def flaky(state):
        if failures:
            raise failures.pop()

    policy = RetryPolicy(initial_interval=0.001, jitter=False)
    graph = graph_of("counted", flaky, retry_policy=policy)
    instrument(graph, tracer_provider=spans.provider, meter_provider=MeterProvider([reader]))
    for _ in range(2):
        Face(graph, driver).invoke({"text": ""})
    (resource,) = reader.get_metrics_data().resource_metrics
    (scope,) = resource.scope_metrics
    points = {metric.name: metric.data.data_points[0] for metric in scope.metrics}
    counted = {name: getattr(point, "value", None) or point.count for name, point in points.items()}
    assert counted == {
        "stepgraph.runs": 2,
        "stepgraph.supersteps": 2,
        "stepgraph.retries": 2,
        "stepgraph.run.duration": 2,
        "stepgraph.task.duration": 4,
    }
    assert dict(points["stepgraph.runs"].attributes) == {
        "stepgraph.graph": "counted",
        "stepgraph.status": "done",
    }


@pytest.mark.parametrize("mode", sorted(RUNS))
def test_after_it_was_turned_off_no_function_is_called_more(spans, mode):
    RUNS[mode](2)
    steps, run = per_step(RUNS[mode]), calls_of(lambda: RUNS[mode](10))
    instrument(tracer_provider=spans.provider)
    assert per_step(RUNS[mode]) > steps
    uninstrument()
    assert GRAPH.watcher is None
    assert (per_step(RUNS[mode]), calls_of(lambda: RUNS[mode](10))) == (steps, run)


def test_nothing_is_loaded_before_somebody_asks():
    code = """
import sys
from stepgraph import StateGraph, START
from stepgraph.checkpoint.memory import InMemorySaver
graph = StateGraph(dict).add_node("one", lambda state: None).add_edge(START, "one").compile(checkpointer=InMemorySaver())
graph.invoke({"x": 1}, {"configurable": {"thread_id": "1"}})
print(*[name for name in sys.modules if name.startswith(("opentelemetry", "stepgraph.observe", "stepgraph.pregel.observers"))])
import stepgraph.observe
print(*[name for name in sys.modules if name.startswith("opentelemetry")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_a_missing_package_is_named():
    code = """
import sys
sys.modules["opentelemetry"] = None
from stepgraph.observe import instrument
try:
    instrument()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == 'Tracing needs OpenTelemetry. Install it: pip install "stepgraph[otel]"', (
        done.stderr
    )


def test_the_entry_point_leads_to_the_instrumentor():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    named = project["entry-points"]["opentelemetry_instrumentor"]["stepgraph"]
    assert named == f"{StepgraphInstrumentor.__module__.rpartition('.')[0]}:{StepgraphInstrumentor.__name__}"
