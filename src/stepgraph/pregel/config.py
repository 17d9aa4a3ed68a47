"""The dict form of a run's settings: merged from what a person gives, and made for who asks.

A person's config is a `RunnableConfig`: `tags`, `metadata`, `callbacks`, `recursion_limit`, `max_concurrency`,
`configurable`, ... Inside, the engine reads `Scope` and `Task`; the dict that a node receives is built on demand.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stepgraph.pregel import bridges
from stepgraph.values.names import (
    CONFIG_KEY_CHECKPOINT_ID,
    CONFIG_KEY_CHECKPOINT_MAP,
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_READ,
    CONFIG_KEY_RUNTIME,
    CONFIG_KEY_SCRATCHPAD,
    CONFIG_KEY_SEND,
    CONFIG_KEY_TASK_ID,
)

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.task import Task
    from stepgraph.values.runtime import RunControl, Runtime

Config = Mapping[str, Any]


def merge_configs(*configs: Config | None) -> dict[str, Any]:
    """One config from several, later ones winning; tags are joined, metadata and configurable united."""
    merged: dict[str, Any] = {}
    for config in configs:
        if not config:
            continue
        for key, value in config.items():
            if value is None:
                continue
            if key in ("metadata", "configurable"):
                merged[key] = {**merged.get(key, {}), **value}
            elif key == "tags":
                merged[key] = [
                    *merged.get(key, ()),
                    *[tag for tag in value if tag not in merged.get(key, ())],
                ]
            elif key == "callbacks":
                merged[key] = _merge_callbacks(merged.get(key), value)
            else:
                merged[key] = value
    return merged


def _merge_callbacks(first: Any, second: Any) -> Any:
    if first is None:
        return second
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *[handler for handler in second if handler not in first]]
    if isinstance(second, list):
        manager = first.copy()
        for handler in second:
            if handler not in manager.handlers:
                manager.add_handler(handler, inherit=True)
        return manager
    return second


def checkpoint_config(machine: Machine, checkpoint_id: str | None) -> dict[str, Any]:
    """The config that names one checkpoint of a machine's namespace."""
    configurable: dict[str, Any] = {
        CONFIG_KEY_CHECKPOINT_NS: machine.namespace,
        "thread_id": machine.scope.thread_id,
    }
    if machine.namespace:
        configurable[CONFIG_KEY_CHECKPOINT_MAP] = {**machine.level.parents, machine.namespace: checkpoint_id}
    configurable[CONFIG_KEY_CHECKPOINT_ID] = checkpoint_id
    return {"configurable": configurable}


def task_config(task: Task) -> dict[str, Any]:
    """The config that a node receives: the run's, plus where in the run it is."""
    machine = task.machine
    scope = machine.scope
    level = machine.level
    parent = machine.parent
    base: Mapping[str, Any] = scope.config if parent is None else parent.config
    if level.config:
        base = merge_configs(base, level.config)
    node = task.node
    namespace = task.namespace
    known_metadata = root_metadata(base) if parent is None else base.get("metadata") or {}
    metadata = {**known_metadata, **task_place(task)}
    if machine.namespace:
        metadata.setdefault("checkpoint_ns", machine.namespace)
    known = base.get("configurable") or {}
    configurable = {
        **known,
        CONFIG_KEY_TASK_ID: task.id,
        CONFIG_KEY_SCRATCHPAD: task,
        CONFIG_KEY_RUNTIME: task.runtime,
        CONFIG_KEY_CHECKPOINTER: scope.saver,
        CONFIG_KEY_SEND: task.send,
        CONFIG_KEY_READ: task.read,
        CONFIG_KEY_CHECKPOINT_MAP: task.checkpoint_map,
        CONFIG_KEY_CHECKPOINT_ID: None,
        CONFIG_KEY_CHECKPOINT_NS: namespace,
    }
    config = {**base, "metadata": metadata, "configurable": configurable}
    if node.tags:
        config["tags"] = [*(base.get("tags") or ()), *node.tags]
    if task.observed is not None:
        config["callbacks"] = task.observed.callbacks
    elif bridges.active is not None:
        config.setdefault("callbacks", None)
    config.pop("run_id", None)
    config.pop("run_name", None)
    return config


TRACED_KEYS = (
    "thread_id",
    "task_id",
    "checkpoint_ns",
    "assistant_id",
    "run_id",
    "checkpoint_id",
    "graph_id",
)
"""Keys of `configurable` that stand in the metadata of traces, too."""


def root_metadata(config: Config) -> dict[str, Any]:
    """The metadata of a root run: the person's, and what of its `configurable` belongs into traces."""
    metadata = dict(config.get("metadata") or {})
    configurable = config.get("configurable")
    if configurable:
        for key in TRACED_KEYS:
            if configurable.get(key) and key not in metadata:
                metadata[key] = configurable[key]
    return metadata


def task_place(task: Task) -> dict[str, Any]:
    """Where in the run a task stands, as its metadata says it, and the metadata of its node."""
    node = task.node
    place = {
        "langgraph_step": task.machine.step,
        "langgraph_node": node.name,
        "langgraph_triggers": task.triggers,
        "langgraph_path": task.path,
        "langgraph_checkpoint_ns": task.namespace,
    }
    if node.metadata:
        place.update(node.metadata)
    return place


def task_runtime(task: Task) -> Runtime[Any]:
    """The `Runtime` that a node receives."""
    from stepgraph.values.runtime import ExecutionInfo, Runtime

    machine = task.machine
    scope = machine.scope
    if task.first_attempt_time is None and scope.clock is not None:
        task.first_attempt_time = scope.clock.time()
    return Runtime(
        context=machine.context,
        store=machine.store,
        stream_writer=writer_of(task),
        heartbeat=task.heartbeat,
        previous=task.previous,
        execution_info=ExecutionInfo(
            checkpoint_id=machine.checkpoint_id,
            checkpoint_ns=task.namespace,
            task_id=task.id,
            thread_id=scope.thread_id,
            run_id=None if scope.run_id is None else str(scope.run_id),
            node_attempt=task.attempt,
            node_first_attempt_time=task.first_attempt_time,
        ),
        control=control_of(machine),
    )


def control_of(machine: Machine) -> RunControl:
    """The control of a run; made when a node first asks for it, from then on the run looks whether it should stop."""
    scope = machine.scope
    if scope.control is None:
        with _MAKING_CONTROL:
            if scope.control is None:
                _give_control(machine)
    control: RunControl = scope.control
    return control


def _give_control(machine: Machine) -> None:
    from stepgraph.values.runtime import RunControl

    control = RunControl()
    level: Machine | None = machine
    while level is not None:
        level.stops = True
        level.scope.control = control
        level = None if level.parent is None else level.parent.machine


_MAKING_CONTROL = threading.Lock()


def writer_of(task: Task) -> Any:
    """A function that sends its argument to the `custom` stream; one that drops it if nobody asked."""
    sink = task.machine.sink
    if sink is None or not sink.wants_custom:
        return _drop if task.machine.guard is None else lambda chunk: task.progressed()
    parts = task.machine.namespace_parts
    put = sink.put

    def write(chunk: Any) -> None:
        put((parts, "custom", chunk))
        task.progressed()

    return write


def _drop(chunk: Any) -> None:
    return None
