"""Pure projections: from what a machine knows to the payloads of stream parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.config import checkpoint_config

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.task import Task


def _writes(task: Task) -> list[tuple[str, Any]]:
    updates = task.updates
    shown = task.machine.output_keys
    return [(k, v) for k, v in (updates.items() if isinstance(updates, dict) else updates) if k in shown]


def updates(task: Task) -> dict[str, Any]:
    """`{node: what it wrote}`; None where it wrote nothing, a list where it wrote one channel more than once."""
    machine = task.machine
    channels = machine.level.output_channels
    if channels is None:
        channels = machine.plan.output_channels
    chunk: Any = None
    updates = task.updates
    if type(updates) is dict and type(channels) is tuple:
        shown = machine.output_keys
        if not updates.keys() <= shown:
            updates = {key: value for key, value in updates.items() if key in shown}
        return {task.node.name: updates.copy() if updates else None}
    writes = _writes(task)
    if isinstance(channels, str):
        values = [value for _, value in writes]
        chunk = None if not values else values[0] if len(values) == 1 else values
    elif writes:
        chunk = dict(writes)
        if len(chunk) < len(writes):
            chunk = [{key: value} for key, value in writes]
    return {task.node.name: chunk}


def task_payload(task: Task) -> dict[str, Any]:
    """A task that starts."""
    payload = {"id": task.id, "name": task.node.name, "input": task.input, "triggers": task.triggers}
    if task.node.metadata:
        payload["metadata"] = dict(task.node.metadata)
    return payload


def written(task: Task, shown: Collection[str]) -> dict[str, Any]:
    """channel -> what a finished task wrote to it, of those `shown`; several writes to one channel stand under `$writes`."""
    result: dict[str, Any] = {}
    updates = task.updates
    for key, value in updates.items() if isinstance(updates, dict) else updates:
        if key not in shown:
            continue
        if key not in result:
            result[key] = value
        elif isinstance(result[key], dict) and "$writes" in result[key]:
            result[key]["$writes"].append(value)
        else:
            result[key] = {"$writes": [result[key], value]}
    return result


def result_payload(task: Task) -> dict[str, Any]:
    """A task that ended: with a result, an error, or questions."""
    shown = task.machine.plan.stream_keys
    result = written(task, shown) if task.error is None and task.interrupts is None else {}
    return {
        "id": task.id,
        "name": task.node.name,
        "error": task.error,
        "result": result,
        "interrupts": [interrupt_payload(i) for i in task.interrupts or ()],
    }


def interrupt_payload(interrupt: Any) -> dict[str, Any]:
    return {"value": interrupt.value, "id": interrupt.id, "response_schema": interrupt.response_schema}


def checkpoint_payload(machine: Machine, tasks: Sequence[Task]) -> dict[str, Any]:
    """A checkpoint as the `checkpoints` and `debug` modes show it."""
    ledger = machine.ledger
    assert ledger is not None
    ordered = [task for task in tasks if task.index >= 0] + [task for task in tasks if task.index < 0]
    unstored = ledger.at_exit and ledger.head != ledger.stored
    parent = ledger.stored if unstored else ledger.previous
    return {
        "config": checkpoint_config(machine, ledger.head),
        "parent_config": checkpoint_config(machine, parent) if parent else None,
        "values": machine.view(machine.plan.stream_channels, machine.state),
        "metadata": ledger.shown_metadata(),
        "next": [task.node.name for task in ordered],
        "tasks": [_checkpoint_task(task) for task in ordered],
    }


def _checkpoint_task(task: Task) -> dict[str, Any]:
    state = None
    if task.node.subgraphs:
        state = {"configurable": {"thread_id": task.machine.scope.thread_id, "checkpoint_ns": task.namespace}}
    shown: dict[str, Any] = {"id": task.id, "name": task.node.name}
    if task.error is not None:
        shown["error"] = task.error
    elif task.restored and task.interrupts is None:
        result = written(task, task.machine.output_keys)
        if result:
            shown["result"] = result
    shown["interrupts"] = tuple(interrupt_payload(i) for i in task.interrupts or task.stored_interrupts)
    shown["state"] = state
    return shown
