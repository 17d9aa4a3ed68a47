"""What the stream mode `tools` shows of a call: that it started, parts of its output, that it ended or failed.

`TOOL_CALL_WRITER` holds, while a tool runs, the function that sends a part of its output. Whoever else shows calls of
tools (a callback handler) sets it the same way, and leaves a call alone for which it is already set.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from stepgraph.pregel.task import Task

TOOL_CALL_WRITER: ContextVar[Callable[[Any], None] | None] = ContextVar(
    "stepgraph_tool_call_writer", default=None
)

MODE = "tools"


class ToolCallEvents:
    """Shows one call to who streams `tools`."""

    __slots__ = ("_call_id", "_parts", "_put")

    def __init__(self, task: Task, call_id: str | None) -> None:
        machine = task.machine
        assert machine.sink is not None
        self._put = machine.sink.put
        self._parts = machine.namespace_parts
        self._call_id = call_id

    def _show(self, event: str, **more: Any) -> None:
        self._put((self._parts, MODE, {"event": event, "tool_call_id": self._call_id, **more}))

    def started(self, name: str, arguments: Any) -> None:
        """The tool begins; `arguments` are those that the model gave."""
        self._show("tool-started", tool_name=name, input=arguments)

    def delta(self, delta: Any) -> None:
        """A part of the output."""
        self._show("tool-output-delta", delta=delta)

    def finished(self, output: Any) -> None:
        """The tool returned."""
        self._show("tool-finished", output=output)

    def failed(self, error: BaseException) -> None:
        """The tool raised."""
        self._show("tool-error", message=str(error))


def events_for(task: Task | None, call_id: str | None) -> ToolCallEvents | None:
    """What shows a call of this task, None if nobody wants to see it."""
    sink = None if task is None else task.machine.sink
    if sink is None or MODE not in sink.modes:
        return None
    assert task is not None
    return ToolCallEvents(task, call_id)
