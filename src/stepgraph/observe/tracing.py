"""OpenTelemetry's spans as an observer of one root run and of the graphs inside it.

The tree: a run holds supersteps, a superstep its tasks and saves, a task its attempts (where its node may be tried again), and
an attempt whatever its code starts: runs of graphs, calls of tools, `@task`s, and spans of other instrumentations, for the
span is the current one while the node's code runs.

A superstep begins with its first task, and ends with the last of its tasks and saves. Nobody tells that: it is seen when the
next one begins or the run ends, so the engine has no code for it.

Rules of this file: it decides when spans begin and end. Hooks are called from any thread that runs a task.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import time_ns
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry import trace

from stepgraph.errors import GraphBubbleUp, GraphDrained, GraphInterrupt, ParentCommand
from stepgraph.observe.attributes import (
    interrupt_attributes,
    run_attributes,
    run_name,
    shown,
    shown_as_json,
    step_attributes,
    task_attributes,
    tool_attributes,
)
from stepgraph.observe.carrying import Carried
from stepgraph.observe.links import link_to, text_of
from stepgraph.observe.saves import TimedSaver
from stepgraph.observe.spans import RunSpan, TaskSpan, Told, enter, under
from stepgraph.pregel.observing import Observer
from stepgraph.values.names import METADATA_KEY_TRACE

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

    from stepgraph.checkpoint.base import CheckpointTuple
    from stepgraph.observe.models import Models
    from stepgraph.observe.watching import Meters
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.scope import Level
    from stepgraph.pregel.task import Task

_SECOND = 1e9


class Tracing(Observer):
    """Traces one root run.

    Args:
        tracer: Makes the spans.
        meters: What is counted besides.
        value_limit: So many characters of a value are shown; 0: no values.
        models: Traces the models that nodes call; None: nobody does.
    """

    def __init__(self, tracer: Tracer, meters: Meters, value_limit: int, models: Models | None) -> None:
        self._tracer = tracer
        self._meters = meters
        self._limit = value_limit
        self._models = models
        self._lock = threading.Lock()
        self._told = Told()
        self._runs: dict[Level, RunSpan] = {}
        self._places: dict[str, RunSpan] = {}

    # ---- runs of graphs

    def run_begins(self, machine: Machine, input: Any) -> None:
        around = self._around(machine)
        span = self._tracer.start_span(
            run_name(machine.plan), context=around, attributes=run_attributes(machine)
        )
        self._show(span, "stepgraph.input", input)
        self._runs[machine.level] = run = RunSpan(span, around)
        if machine.ledger is not None:
            self._places[machine.namespace] = run
            if machine.parent is None:
                self._follow_saves(machine, span)

    def _around(self, machine: Machine) -> Context:
        """The context of the code that starts a run; a thread that lost it is inside the task all the same."""
        around = otel_context.get_current()
        parent = machine.parent
        if parent is None or trace.get_current_span(around).get_span_context().is_valid:
            return around
        run = self._runs.get(parent.machine.level)
        task = None if run is None else run.tasks.get(parent.id)
        return around if task is None else under(task.innermost)

    def _follow_saves(self, machine: Machine, span: Span) -> None:
        place = text_of(span.get_span_context())
        if place is not None and machine.ledger is not None:
            machine.ledger.metadata[METADATA_KEY_TRACE] = place
        machine.recorder.saver = TimedSaver(machine.recorder.saver, self._save_begins, self._save_ends)

    def run_loads(self, machine: Machine, loaded: CheckpointTuple) -> None:
        run = self._runs.get(machine.level)
        if run is None:
            return
        run.span.set_attribute("stepgraph.resumed_from", loaded.checkpoint["id"])
        link = link_to(loaded.metadata) if machine.parent is None else None
        if link is not None:
            run.span.add_link(link.context, link.attributes)

    def run_ends(self, machine: Machine, output: Any) -> None:
        self._end_run(machine, machine.status, None, output)

    def run_fails(self, machine: Machine, error: BaseException) -> None:
        self._end_run(machine, _status(error), error, None)

    def _end_run(self, machine: Machine, status: str, error: BaseException | None, output: Any) -> None:
        with self._lock:
            run = self._runs.pop(machine.level, None)
            if run is None:
                return
            run.end_step(error, self._told)
        span = run.span
        span.set_attribute("stepgraph.status", status)
        if machine.ledger is not None:
            span.set_attribute("stepgraph.checkpoint_id", machine.checkpoint_id)
            if machine.parent is not None:
                self._places.pop(machine.namespace, None)
        if machine.pausing:
            span.set_attributes(interrupt_attributes(machine.interrupts(), self._limit))
        if error is None:
            self._show(span, "stepgraph.output", output)
        self._told.end(span, error)
        if machine.parent is None:
            labels = {"stepgraph.graph": machine.plan.graph_name, "stepgraph.status": status}
            self._meters.runs.add(1, labels)
            self._meters.run_duration.record((time_ns() - run.began) / _SECOND, labels)

    # ---- tasks and their attempts

    def task_begins(self, task: Task) -> None:
        if task.node.hidden and not hasattr(task, "failed"):
            return
        with self._lock:
            run = self._runs.get(task.machine.level)
            if run is None:
                return
            if run.number != task.machine.step:
                self._begin_step(run, task.machine)
            known = run.tasks.get(task.id)
            if known is None:
                known = run.tasks[task.id] = TaskSpan(self._begin_task(run, task))
            else:
                known.end_attempt(None if known.error is None else known.error[0], self._told)
            known.error = None
            known.number = task.attempt
        known.span.set_attribute("stepgraph.attempt", task.attempt)
        policy = task.node.policy
        if policy is not None and policy.retry:
            known.attempt = self._tracer.start_span(
                "attempt", context=under(known.span), attributes={"stepgraph.attempt": task.attempt}
            )
        if task.attempt > 1:
            self._meters.retries.add(1, _place(task))
        enter(known.innermost)
        if self._models is not None:
            self._models.listen(self._told.end)

    def _begin_step(self, run: RunSpan, machine: Machine) -> None:
        run.end_step(None, self._told)
        run.number = machine.step
        run.step = self._tracer.start_span(
            "superstep", context=run.around, attributes=step_attributes(machine)
        )
        self._meters.steps.add(1, {"stepgraph.graph": machine.plan.graph_name})

    def _begin_task(self, run: RunSpan, task: Task) -> Span:
        """A task hangs below its superstep; a call of a `@task` below the code that made it."""
        around = under(run.innermost)
        if hasattr(task, "caller") and trace.get_current_span().get_span_context().is_valid:
            around = otel_context.get_current()
        span = self._tracer.start_span(
            f"task {task.node.name}", context=around, attributes=task_attributes(task)
        )
        self._show(span, "stepgraph.input", task.input)
        return span

    def task_ends(self, task: Task, result: Any) -> None:
        self._attempt_ends(task, None, result)

    def task_fails(self, task: Task, error: BaseException) -> None:
        self._attempt_ends(task, error, None)

    def _attempt_ends(self, task: Task, error: BaseException | None, result: Any) -> None:
        with self._lock:
            run = self._runs.get(task.machine.level)
            known = None if run is None else run.tasks.get(task.id)
            if run is None or known is None or known.number != task.attempt:
                return
            run.last = now = time_ns()
            again = (
                known.attempt is not None
                and isinstance(error, Exception)
                and not isinstance(error, GraphBubbleUp)
            )
            if not again:
                del run.tasks[task.id]
        self._meters.task_duration.record((now - known.began) / _SECOND, _place(task))
        if isinstance(error, GraphInterrupt):
            asked = tuple(error.args[0]) if error.args else ()
            known.span.set_attributes(interrupt_attributes(asked, self._limit))
        if error is None:
            self._show(known.span, "stepgraph.output", result)
        known.end_attempt(error, self._told)
        if again:
            assert error is not None
            known.error = (error, now)
        else:
            self._told.end(known.span, error)

    # ---- what runs inside a task

    def tool_begins(self, task: Task, name: str, call_id: str | None, arguments: Any) -> Any:
        span = self._tracer.start_span(f"execute_tool {name}", attributes=tool_attributes(name, call_id))
        if self._limit and span.is_recording():
            span.set_attribute("gen_ai.tool.call.arguments", shown_as_json(arguments, self._limit))
        return span, enter(span)

    def tool_ends(self, begun: Any, result: Any) -> None:
        span, token = begun
        self._show(span, "gen_ai.tool.call.result", result)
        otel_context.detach(token)
        span.end()

    def tool_fails(self, begun: Any, error: BaseException) -> None:
        span, token = begun
        otel_context.detach(token)
        self._told.end(span, error)

    def shipped(self, task: Task, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return Carried(function)

    # ---- what is stored

    def _save_begins(self, namespace: str | None, attributes: dict[str, Any]) -> Span:
        run = self._places.get(namespace or "") or self._places.get("")
        around = None if run is None else under(run.span if namespace is None else run.innermost)
        return self._tracer.start_span("save", context=around, attributes=attributes)

    def _save_ends(self, namespace: str | None, span: Span, error: BaseException | None) -> None:
        self._told.end(span, error)
        run = None if namespace is None else self._places.get(namespace)
        if run is not None:
            run.last = time_ns()

    def _show(self, span: Span, name: str, value: Any) -> None:
        if self._limit and span.is_recording():
            span.set_attribute(name, shown(value, self._limit))


def _place(task: Task) -> dict[str, Any]:
    return {"stepgraph.graph": task.machine.plan.graph_name, "stepgraph.node": task.node.name}


def _status(error: BaseException) -> str:
    """How a run ended that ended by an exception."""
    if isinstance(error, GraphDrained):
        return "drained"
    if isinstance(error, ParentCommand):
        return "handed_up"
    if isinstance(error, GraphBubbleUp):
        return "paused"
    if isinstance(error, GeneratorExit):
        return "closed"
    return "cancelled" if type(error).__name__ == "CancelledError" else "failed"
