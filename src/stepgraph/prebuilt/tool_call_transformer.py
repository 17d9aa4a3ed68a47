"""`run.tool_calls` of `stream_events(version="v3")`: a stream for each call of a tool, with the parts of its output as they come.

Pass the class as `transformers=[ToolCallTransformer]`. What the events are made from stands in `tool_call_events.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepgraph.prebuilt.tool_call_events import MODE
from stepgraph.stream._types import ProtocolEvent, StreamTransformer
from stepgraph.stream.stream_channel import StreamChannel

__all__ = ("ToolCallStream", "ToolCallTransformer")


class ToolCallStream:
    """One call of a tool.

    Attributes:
        tool_call_id: The call.
        tool_name: The tool.
        input: The arguments that the model gave.
        output_deltas: The parts of the output that the tool shows while it runs; iterate over it once.
        output: What the tool answered, once it has.
        error: What it failed with, if it did.
        completed: Whether it has ended.
    """

    def __init__(self, tool_call_id: str, tool_name: str, input: Any, deltas: StreamChannel[Any]) -> None:
        self.tool_call_id = tool_call_id
        self.tool_name = tool_name
        self.input = input
        self.output_deltas = deltas
        self.output: Any = None
        self.error: str | None = None
        self.completed = False

    def __repr__(self) -> str:
        status = "running" if not self.completed else "finished" if self.error is None else "error"
        return f"ToolCallStream(tool_call_id={self.tool_call_id!r}, tool_name={self.tool_name!r}, status={status})"

    def _end(self, output: Any = None, error: str | None = None) -> None:
        self.output, self.error, self.completed = output, error, True
        self.output_deltas.close()


class ToolCallTransformer(StreamTransformer):
    """The calls of tools that this graph's own nodes make."""

    required_stream_modes = (MODE,)
    _native = True

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._log: StreamChannel[ToolCallStream] = StreamChannel()
        self._place = list(scope)
        self._open: dict[str, ToolCallStream] = {}
        self._mux: Any = None

    def _on_register(self, mux: Any) -> None:
        self._mux = mux

    def init(self) -> dict[str, Any]:
        """The channel `tool_calls`."""
        return {"tool_calls": self._log}

    def process(self, event: ProtocolEvent) -> bool:
        """Take in what happened to a call."""
        if event["method"] == MODE and event["params"]["namespace"] == self._place:
            self._take(event["params"]["data"])
        return True

    def _take(self, data: Mapping[str, Any]) -> None:
        key, kind = data["tool_call_id"], data["event"]
        if kind == "tool-started":
            deltas: StreamChannel[Any] = StreamChannel()
            deltas._bind(self._mux, self._mux.is_async, None)
            self._open[key] = stream = ToolCallStream(key, data["tool_name"], data["input"], deltas)
            self._log.push(stream)
        elif key not in self._open:
            return
        elif kind == "tool-output-delta":
            self._open[key].output_deltas.push(data["delta"])
        elif kind == "tool-finished":
            self._open.pop(key)._end(_content(data["output"]))
        elif kind == "tool-error":
            self._open.pop(key)._end(error=data["message"])

    def finalize(self) -> None:
        """Calls that never came to an end have none."""
        self.fail(RuntimeError("The run ended before the tool did"))

    def fail(self, err: BaseException) -> None:
        """Calls that are under way fail with the run."""
        for stream in self._open.values():
            stream._end(error=str(err))
        self._open.clear()


def _content(output: Any) -> Any:
    """What a tool answered: of a message, its content."""
    return output.content if hasattr(output, "tool_call_id") and hasattr(output, "content") else output
