"""The handlers behind the stream mode `messages`: they hear what chat models produce, wherever a run calls them.

`TokenHandler` gives message chunks as they come. `MessageEventHandler` gives the events that LangChain's own protocol
makes of them, for `stream_events(version="v3")`. Both give a model that does not stream once, when it has ended. Messages
that a node returns are no business of these handlers: the stream shows them itself, and drops those that were shown.

A model's place in the run is read from the metadata that its call inherited: it arrives with the call whatever thread,
asyncio task, tool or chain the call is made in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage

from stepgraph.pregel.task import current_task
from stepgraph.stream.messages import WholeMessage
from stepgraph.values.names import NS_SEP, PUSH, TAG_NOSTREAM

try:
    from langchain_core.tracers._streaming import _V2StreamingCallbackHandler
except ImportError:  # pragma: no cover - versions of LangChain without its protocol of message events

    class _V2StreamingCallbackHandler:  # type: ignore[no-redef]
        """Stands in where LangChain does not look for it."""


Parts = tuple[str, ...]


class ModelHandler(BaseCallbackHandler):
    """Gives what models produce to one `stream()` call.

    Args:
        put: Takes an event of the stream.
        namespace: Where the graph runs that is being streamed.
        subgraphs: Whether what happens below it is wanted too.
    """

    run_inline = True
    ignore_chain = True
    ignore_agent = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self, put: Any, namespace: Parts, subgraphs: bool) -> None:
        self.put = put
        self.namespace = namespace
        self.subgraphs = subgraphs
        self.calls: dict[Any, tuple[Parts, dict[str, Any]]] = {}
        self.streamed: set[Any] = set()

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: Any,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A model is called."""
        if not metadata or (tags and TAG_NOSTREAM in tags):
            return
        parts = place_of(metadata)
        if parts is None or (parts != self.namespace and not self.subgraphs):
            return
        shown = [tag for tag in tags or () if not tag.startswith("seq:step")]
        self.calls[run_id] = (parts, {**metadata, "tags": shown} if shown else metadata)

    def on_llm_end(self, response: Any, *, run_id: Any, **kwargs: Any) -> None:
        """The model has answered; if no part of it was shown, the whole is."""
        call = self.calls.pop(run_id, None)
        if run_id in self.streamed:
            self.streamed.discard(run_id)
        elif call is not None and response.generations and response.generations[0]:
            message = getattr(response.generations[0][0], "message", None)
            if isinstance(message, BaseMessage):
                self.send((call[0], "messages", WholeMessage((message, call[1]))))

    def on_llm_error(self, error: BaseException, *, run_id: Any, **kwargs: Any) -> None:
        """The model has failed."""
        self.calls.pop(run_id, None)
        self.streamed.discard(run_id)

    def send(self, event: Any) -> None:
        """Give an event to the stream, unless the attempt it belongs to has been given up."""
        task = current_task()
        guard = None if task is None else task.machine.guard
        if guard is None:
            self.put(event)
        else:
            guard.through(self.put, event)
            guard.progress(True)


class TokenHandler(ModelHandler):
    """Gives the parts of messages as they come."""

    def tap_output_iter(self, run_id: Any, output: Iterator[Any]) -> Iterator[Any]:
        """By having this method a handler asks models to stream."""
        return output

    def tap_output_aiter(self, run_id: Any, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The same for asynchronous models."""
        return output

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: Any, **kwargs: Any) -> None:
        """A part of the model's answer has come."""
        call = self.calls.get(run_id)
        message = getattr(chunk, "message", None)
        if call is not None and isinstance(message, BaseMessage):
            self.streamed.add(run_id)
            if message.id is None:
                message.id = f"lc_run--{run_id}"
            self.send((call[0], "messages", (message, call[1])))


class MessageEventHandler(ModelHandler, _V2StreamingCallbackHandler):
    """Gives events of LangChain's message protocol: a start, blocks with their parts, an end."""

    def on_stream_event(self, event: Any, *, run_id: Any, **kwargs: Any) -> None:
        """An event of a model's answer."""
        call = self.calls.get(run_id)
        if call is not None:
            self.streamed.add(run_id)
            self.send((call[0], "messages", (event, {**call[1], "run_id": str(run_id)})))


def place_of(metadata: dict[str, Any]) -> Parts | None:
    """The namespace of the graph whose task made a call; a `@task` belongs to the graph of the task that called it."""
    namespace = metadata.get("langgraph_checkpoint_ns")
    if not namespace:
        return None
    parts = tuple(namespace.split(NS_SEP))[:-1]
    path: Any = metadata.get("langgraph_path") or ()
    while len(path) == 4 and path[0] == PUSH and path[3] is True:
        path, parts = path[1], parts[:-1]
    return parts
