"""Spans for calls of LangChain's models, for programs that no instrumentation of a model library watches.

Theory of operation. LangChain asks registered ContextVars for handlers that hear of whatever is called in their context. While
a node's code runs, one of them holds `ModelSpans`. So models are heard wherever the node calls them, and runs are not watched by
callbacks because of it. A span is a child of the span that is current where the model is called.

Rules of this file: LangChain is imported when a node begins in a process that has loaded it, and not before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from opentelemetry.trace import Span, SpanKind, Tracer

from stepgraph.observe.attributes import shown

_LISTENING: ContextVar[Any] = ContextVar("stepgraph_model_spans", default=None)
_REQUEST = {
    "ls_provider": "gen_ai.provider.name",
    "ls_model_name": "gen_ai.request.model",
    "ls_temperature": "gen_ai.request.temperature",
    "ls_max_tokens": "gen_ai.request.max_tokens",
}
"""What LangChain's metadata says of a call -> what OpenTelemetry calls it."""
_USAGE = {"input_tokens": "gen_ai.usage.input_tokens", "output_tokens": "gen_ai.usage.output_tokens"}

End = Callable[[Span, BaseException | None], None]


class Models:
    """Traces the models that nodes call.

    Args:
        tracer: Makes the spans.
        value_limit: So many characters of prompts and answers are shown; 0: none.
    """

    def __init__(self, tracer: Tracer, value_limit: int) -> None:
        self._tracer = tracer
        self._limit = value_limit
        self._handler: Any = None

    def listen(self, end: End) -> None:
        """Hear of every model that is called from here on, in this context."""
        if self._handler is None:
            if "langchain_core.callbacks" not in sys.modules:
                return
            self._handler = _handler(self._tracer, self._limit, end)
        _LISTENING.set(self._handler)


def _register() -> None:
    """Let LangChain look at our variable; once a process."""
    from langchain_core.tracers import context

    if all(variable is not _LISTENING for variable, *_ in context._configure_hooks):
        context.register_configure_hook(_LISTENING, inheritable=True)


def _handler(tracer: Tracer, limit: int, end: End) -> Any:
    from langchain_core.callbacks import BaseCallbackHandler

    _register()

    class ModelSpans(BaseCallbackHandler):
        """Hears of models, of nothing else."""

        run_inline = True
        ignore_chain = ignore_agent = ignore_retriever = ignore_retry = ignore_custom_event = True

        def __init__(self) -> None:
            self.open: dict[Any, Span] = {}

        def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: Any, **more: Any) -> None:
            self._begin("chat", messages, run_id, more)

        def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: Any, **more: Any) -> None:
            self._begin("text_completion", prompts, run_id, more)

        def _begin(self, operation: str, asked: Any, run_id: Any, more: dict[str, Any]) -> None:
            found = {"gen_ai.operation.name": operation, **_of_request(more.get("metadata") or {})}
            model = found.get("gen_ai.request.model")
            name = operation if model is None else f"{operation} {model}"
            span = tracer.start_span(name, kind=SpanKind.CLIENT, attributes=found)
            if limit and span.is_recording():
                span.set_attribute("gen_ai.input.messages", shown(asked, limit))
            self.open[run_id] = span

        def on_llm_end(self, response: Any, *, run_id: Any, **more: Any) -> None:
            span = self.open.pop(run_id, None)
            if span is None:
                return
            if span.is_recording():
                message = _answer_of(response)
                span.set_attributes(_of_answer(message))
                if limit:
                    span.set_attribute("gen_ai.output.messages", shown(message, limit))
            end(span, None)

        def on_llm_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
            span = self.open.pop(run_id, None)
            if span is not None:
                end(span, error)

    return ModelSpans()


def _of_request(metadata: dict[str, Any]) -> dict[str, Any]:
    return {name: metadata[key] for key, name in _REQUEST.items() if metadata.get(key) is not None}


def _answer_of(response: Any) -> Any:
    """The message that a model answered, or the text of one that answers none."""
    generations = response.generations
    if not generations or not generations[0]:
        return None
    first = generations[0][0]
    return getattr(first, "message", first)


def _of_answer(message: Any) -> dict[str, Any]:
    """What an answer says of itself."""
    found: dict[str, Any] = {}
    about = getattr(message, "response_metadata", None) or {}
    reason = about.get("finish_reason") or about.get("stop_reason")
    if reason:
        found["gen_ai.response.finish_reasons"] = (str(reason),)
    model = about.get("model_name") or about.get("model")
    if model:
        found["gen_ai.response.model"] = str(model)
    if getattr(message, "id", None):
        found["gen_ai.response.id"] = str(message.id)
    usage = getattr(message, "usage_metadata", None) or {}
    found.update({name: usage[key] for key, name in _USAGE.items() if usage.get(key) is not None})
    return found
