"""The open spans of one level of a run: its own, that of the superstep at work, those of its tasks.

Rules of this file: it starts and ends spans and knows when; what a span is called and says is `attributes.py`'s part, when
something begins or ends `tracing.py` is told. Nothing here is locked: `tracing.py` does that.
"""

from __future__ import annotations

from time import time_ns
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode, set_span_in_context

from stepgraph.errors import GraphBubbleUp
from stepgraph.observe.attributes import error_type


class TaskSpan:
    """One task: its span, and where its node may be tried again that of the attempt at work."""

    __slots__ = ("attempt", "began", "error", "number", "span")

    def __init__(self, span: Span) -> None:
        self.span = span
        self.attempt: Span | None = None
        self.number = 0
        self.began = time_ns()
        self.error: tuple[BaseException, int] | None = None
        """The failure of the last attempt, and when; the next attempt clears it."""

    @property
    def innermost(self) -> Span:
        """The span that is current while the node runs."""
        return self.span if self.attempt is None else self.attempt

    def end_attempt(self, error: BaseException | None, told: Told) -> None:
        """The attempt at work is over; the task may have another."""
        attempt, self.attempt = self.attempt, None
        if attempt is not None:
            told.end(attempt, error)


class RunSpan:
    """One level of a run."""

    __slots__ = ("around", "began", "last", "number", "span", "step", "tasks")

    def __init__(self, span: Span, around: Context) -> None:
        self.span = span
        self.around = set_span_in_context(span, around)
        self.began = time_ns()
        self.last = self.began
        self.number: int | None = None
        self.step: Span | None = None
        self.tasks: dict[str, TaskSpan] = {}

    @property
    def innermost(self) -> Span:
        """The span of the superstep at work, or of the run where none is."""
        return self.span if self.step is None else self.step

    def end_step(self, error: BaseException | None, told: Told) -> None:
        """The superstep is over: it ended when the last of what belongs to it did."""
        for task in self.tasks.values():
            failed, ended = task.error or (error, self.last)
            task.end_attempt(failed, told)
            told.end(task.span, failed, max(ended, task.began))
        self.tasks = {}
        step, self.step, self.number = self.step, None, None
        if step is not None:
            told.end(step, error, self.last)


class Told:
    """Ends spans, and tells an error's story once: on the innermost span that it ends."""

    __slots__ = ("_error",)

    def __init__(self) -> None:
        self._error: BaseException | None = None

    def end(self, span: Span, error: BaseException | None = None, at: int | None = None) -> None:
        """End a span; pauses and hand-overs are no errors."""
        if error is not None and not isinstance(error, (GraphBubbleUp, GeneratorExit)):
            if error is not self._error:
                self._error = error
                span.record_exception(error, timestamp=at)
            span.set_attribute("error.type", error_type(error))
            span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
        span.end(at)


def under(span: Span) -> Context:
    """The current context with this span as the parent of what is started in it."""
    return set_span_in_context(span, otel_context.get_current())


def enter(span: Span) -> Any:
    """Make a span the current one; the answer leads back."""
    return otel_context.attach(under(span))
