"""`run.messages`: a stream for each message, with its text, its reasoning and its tool calls as they come.

LangChain's `ChatModelStream` is such a stream. Models give events of its message protocol while they produce; a message that
comes whole is played back as such events, so every message has the same form. A program without LangChain gets its messages
as they are.
"""

from __future__ import annotations

from typing import Any

from stepgraph.stream._types import ProtocolEvent, StreamTransformer
from stepgraph.stream.messages import message_class
from stepgraph.stream.stream_channel import StreamChannel


class MessagesTransformer(StreamTransformer):
    """The messages of this graph's own nodes."""

    required_stream_modes = ("messages",)
    _native = True

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._log: StreamChannel[Any] = StreamChannel()
        self._place = list(scope)
        self._open: dict[str, Any] = {}
        self._mux: Any = None

    def _on_register(self, mux: Any) -> None:
        self._mux = mux

    def init(self) -> dict[str, Any]:
        """The channel `messages`."""
        return {"messages": self._log}

    def process(self, event: ProtocolEvent) -> bool:
        """Take messages, and the parts of messages."""
        if event["method"] != "messages" or event["params"]["namespace"] != self._place:
            return True
        payload, metadata = event["params"]["data"]
        base = message_class()
        if isinstance(payload, dict) and "event" in payload:
            self._part(payload, metadata)
        elif base is None or not isinstance(payload, base):
            self._log.push(payload)
        elif self._log._buffers:
            self._whole(payload, metadata)
        return True

    def _part(self, part: dict[str, Any], metadata: dict[str, Any]) -> None:
        run_id = metadata.get("run_id", "")
        if part["event"] == "message-start" and self._log._buffers:
            self._open[run_id] = stream = self._stream(metadata, part.get("id"))
            self._log.push(stream)
        stream = self._open.get(run_id)
        if stream is not None:
            stream.dispatch(part)
            if part["event"] in ("message-finish", "error"):
                del self._open[run_id]

    def _whole(self, message: Any, metadata: dict[str, Any]) -> None:
        from langchain_core.language_models._compat_bridge import message_to_events

        stream = self._stream(metadata, message.id)
        for part in message_to_events(message, message_id=message.id):
            stream.dispatch(part)
        self._log.push(stream)

    def _stream(self, metadata: dict[str, Any], message_id: str | None) -> Any:
        """A stream that asks the run for more when it is read."""
        from langchain_core.language_models.chat_model_stream import AsyncChatModelStream, ChatModelStream

        mux = self._mux
        node = metadata.get("langgraph_node")
        place: dict[str, Any] = {"namespace": self._place, "node": node, "message_id": message_id}
        if not mux.is_async:
            stream = ChatModelStream(**place)
            stream.set_request_more(mux.request_more)
            return stream
        astream = AsyncChatModelStream(**place)

        async def more() -> bool:
            return bool(await mux.arequest_more(lambda: False))

        astream.set_arequest_more(more)
        return astream

    def finalize(self) -> None:
        """Messages that never came to their end have failed."""
        self.fail(RuntimeError("The run ended before the message did"))

    def fail(self, err: BaseException) -> None:
        """Messages that are under way fail with the run."""
        for stream in self._open.values():
            stream.fail(err)
        self._open.clear()
