"""Events of `@task` calls: they appear in the caller's namespace, in the modes that nodes appear in.

A call whose result was stored before shows its start and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepgraph.values.names import RETURN

if TYPE_CHECKING:
    from stepgraph.pregel.calls import CallTask


def call_began(call: CallTask) -> None:
    """A call was made."""
    sink = call.machine.sink
    if sink is not None and sink.wants_tasks:
        payload = {"id": call.id, "name": call.node.name, "input": call.input, "triggers": call.triggers}
        sink.show_task(call, "task", payload)


def call_ended(call: CallTask) -> None:
    """A call returned or failed."""
    sink = call.machine.sink
    if sink is None:
        return
    if sink.wants_messages and call.error is None and not call.cached:
        sink.messages(call, (call.result,))
    if sink.wants_updates and call.error is None:
        chunk: dict[str, Any] = {call.node.name: call.result}
        if call.cached:
            chunk["__metadata__"] = {"cached": True}
        sink.put((call.machine.namespace_parts, "updates", chunk))
    if sink.wants_tasks and not call.cached:
        payload: dict[str, Any] = {
            "id": call.id,
            "name": call.node.name,
            "error": call.error,
            "result": {RETURN: call.result} if call.error is None else {},
            "interrupts": [],
        }
        sink.show_task(call, "task_result", payload)
