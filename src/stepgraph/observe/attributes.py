"""Names of spans and attributes: OpenTelemetry's conventions for generative AI where they fit, `stepgraph.*` elsewhere.

A graph with a `ToolNode` is an agent, any other a workflow. What a span is called does not vary with data: steps, ids and
threads are attributes.

Rules of this file: from what the engine knows to names and plain values; it makes no spans.
"""

from __future__ import annotations

import json
import sys
from reprlib import Repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.plan import Plan
    from stepgraph.pregel.task import Task
    from stepgraph.values.commands import Interrupt

Attributes = dict[str, Any]

_MOST_ITEMS = 50
_MOST_LEVELS = 8


def is_agent(plan: Plan) -> bool:
    """Whether a graph lets a model choose tools: one of its nodes is a `ToolNode`."""
    loaded = sys.modules.get("stepgraph.prebuilt.tool_node")
    return loaded is not None and any(isinstance(n.action, loaded.ToolNode) for n in plan.nodes.values())


def run_name(plan: Plan) -> str:
    """What the span of a graph's run is called."""
    return f"{'invoke_agent' if is_agent(plan) else 'invoke_workflow'} {plan.graph_name}"


def run_attributes(machine: Machine) -> Attributes:
    """What is known of a run when it begins."""
    plan, scope = machine.plan, machine.scope
    agent = is_agent(plan)
    found: Attributes = {
        "gen_ai.operation.name": "invoke_agent" if agent else "invoke_workflow",
        "gen_ai.agent.name" if agent else "gen_ai.workflow.name": plan.graph_name,
        "stepgraph.graph": plan.graph_name,
        "stepgraph.namespace": machine.namespace,
    }
    if scope.thread_id is not None:
        found["gen_ai.conversation.id"] = found["stepgraph.thread_id"] = str(scope.thread_id)
    if scope.run_id is not None:
        found["stepgraph.run_id"] = str(scope.run_id)
    if scope.saver is not None:
        found["stepgraph.durability"] = scope.durability
    return found


def step_attributes(machine: Machine) -> Attributes:
    """What is known of a superstep when its first task begins."""
    found: Attributes = {
        "stepgraph.graph": machine.plan.graph_name,
        "stepgraph.namespace": machine.namespace,
        "stepgraph.step": machine.step,
        "stepgraph.tasks": len(machine.tasks) or 1,
    }
    if machine.ledger is not None and machine.checkpoint_id:
        found["stepgraph.checkpoint_id"] = machine.checkpoint_id
    return found


def task_attributes(task: Task) -> Attributes:
    """What is known of a task when it begins."""
    machine = task.machine
    found: Attributes = {
        "stepgraph.graph": machine.plan.graph_name,
        "stepgraph.node": task.node.name,
        "stepgraph.namespace": task.namespace,
        "stepgraph.step": machine.step,
        "stepgraph.task_id": task.id,
    }
    failed = getattr(task, "failed", None)
    if failed is not None:
        found["stepgraph.handles_failure_of"] = failed.node.name
    return found


def tool_attributes(name: str, call_id: str | None) -> Attributes:
    """What is known of a tool's call."""
    found = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
    }
    if call_id:
        found["gen_ai.tool.call.id"] = call_id
    return found


def interrupt_attributes(interrupts: tuple[Interrupt[Any], ...], limit: int) -> Attributes:
    """The questions that something waits for; what they ask only where values are shown."""
    found: Attributes = {"stepgraph.interrupt_ids": tuple(i.id for i in interrupts)}
    if limit:
        found["stepgraph.interrupt_values"] = tuple(shown(i.value, limit) for i in interrupts)
    return found


def shown(value: Any, limit: int) -> str:
    """A value as text of at most `limit` characters; the cost is bounded, too."""
    short = Repr()
    short.maxlevel, short.maxstring, short.maxother = _MOST_LEVELS, limit, limit
    short.maxdict = short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = _MOST_ITEMS
    short.maxdeque = short.maxarray = _MOST_ITEMS
    return _cut(short.repr(value), limit)


def shown_as_json(value: Any, limit: int) -> str:
    """Arguments of a tool as JSON, cut at the limit."""
    try:
        text = json.dumps(value, default=repr)
    except (TypeError, ValueError):
        return shown(value, limit)
    return _cut(text, limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def error_type(error: BaseException) -> str:
    """An error's class, as `error.type` wants it."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
