"""Where a machine's events go: projected into the modes that somebody asked for, and into nothing else.

A `Sink` belongs to one `stream()` call. Machines of nested graphs share it when the caller asked for subgraphs; each
event carries the namespace of the machine that it came from. `put` hands one event (namespace parts, mode, payload,
interrupts) to the consumer and must be safe to call from any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.stream import project
from stepgraph.stream.messages import returned_messages
from stepgraph.values.names import INTERRUPT

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.task import Task

Event = tuple[tuple[str, ...], str, Any]
Put = Callable[[Event], None]


class Sink:
    """The modes that one consumer asked for, and where their parts go.

    `message_events`: models give events of LangChain's message protocol in place of chunks of messages.
    """

    __slots__ = (
        "message_events",
        "modes",
        "plain",
        "put",
        "stamp",
        "wants_checkpoints",
        "wants_custom",
        "wants_debug",
        "wants_messages",
        "wants_tasks",
        "wants_updates",
        "wants_values",
    )

    def __init__(self, modes: frozenset[str], put: Put, stamp: Callable[[], str]) -> None:
        self.modes = modes
        self.put = put
        self.stamp = stamp
        self.message_events = False
        self.wants_values = "values" in modes
        self.wants_updates = "updates" in modes
        self.wants_custom = "custom" in modes
        self.wants_messages = "messages" in modes
        self.wants_debug = "debug" in modes
        self.wants_tasks = "tasks" in modes or self.wants_debug
        self.wants_checkpoints = "checkpoints" in modes or self.wants_debug
        self.plain = not (self.wants_tasks or self.wants_checkpoints)

    def values(self, machine: Machine, output: Any) -> None:
        """The state after a superstep."""
        if self.wants_values:
            if output is None:
                state = machine.state
                channels = machine.level.output_channels or machine.plan.output_channels
                if type(channels) is tuple and machine.shown_state is None:
                    output = {key: state[key] for key in channels if key in state}
                else:
                    output = machine.output()
            self.put((machine.namespace_parts, "values", output))

    def tasks_begin(self, tasks: Sequence[Task]) -> None:
        """The tasks of a superstep, before they run; Sends first, then nodes by name, then resumed error handlers."""
        if self.wants_tasks:
            ordered = sorted(tasks, key=_sends_first)
            for task in (*ordered, *[task.handler for task in ordered if task.handler is not None]):
                if not task.node.hidden:
                    self.show_task(task, "task", project.task_payload(task))
        for task in tasks:
            if task.restored:
                self._restored(task)

    def _restored(self, task: Task) -> None:
        task = task.handler or task
        if task.interrupts is not None:
            self.task_paused(task)
        elif self.wants_updates and not task.node.hidden:
            chunk = project.updates(task)
            self.put((task.machine.namespace_parts, "updates", {**chunk, "__metadata__": {"cached": True}}))

    def task_done(self, task: Task) -> None:
        """A task finished."""
        task = task.handler or task
        if self.wants_messages and not task.cached:
            updates = task.updates
            self.messages(task, updates.values() if isinstance(updates, dict) else [v for _, v in updates])
        if self.wants_updates:
            chunk = project.updates(task)
            if task.cached:
                chunk["__metadata__"] = {"cached": True}
            self.put((task.machine.namespace_parts, "updates", chunk))
        if self.wants_tasks and not task.cached:
            self.show_task(task, "task_result", project.result_payload(task))

    def messages(self, task: Task, values: Iterable[Any]) -> None:
        """The messages that a task returned."""
        for message in returned_messages(task, values):
            self.put((task.machine.namespace_parts, "messages", message))

    def task_failed(self, task: Task) -> None:
        """A task failed for good."""
        if self.wants_tasks:
            self.show_task(task, "task_result", project.result_payload(task))

    def task_paused(self, task: Task) -> None:
        """A task waits for a person."""
        machine = task.machine
        asked = tuple(task.interrupts or ())
        if self.wants_updates:
            self.put((machine.namespace_parts, "updates", {INTERRUPT: asked}))
        if self.wants_values:
            state = machine.output()
            shown = {**state, INTERRUPT: asked} if isinstance(state, dict) else {INTERRUPT: asked}
            self.put((machine.namespace_parts, "values", shown))
        if self.wants_tasks and not task.restored:
            self.show_task(task, "task_result", project.result_payload(task))

    def breakpoint(self, machine: Machine) -> None:
        """The run stops before or after a node, as it was told to."""
        if self.wants_updates:
            self.put((machine.namespace_parts, "updates", {INTERRUPT: ()}))

    def checkpoint(self, machine: Machine, tasks: Sequence[Task]) -> None:
        """A checkpoint was made; `tasks` are those that it is about to run."""
        if self.wants_checkpoints:
            payload = project.checkpoint_payload(machine, tasks)
            if "checkpoints" in self.modes:
                self.put((machine.namespace_parts, "checkpoints", payload))
            if self.wants_debug:
                self._debug(machine, "checkpoint", payload, payload["metadata"]["step"])

    def beside(self, other: Sink) -> Sink:
        """One sink that serves another consumer too: a nested graph's own stream beside its parent's."""

        def put(event: Event) -> None:
            if event[1] in other.modes:
                other.put(event)
            if event[1] in self.modes:
                self.put(event)

        return Sink(other.modes | self.modes, put, other.stamp)

    def show_task(self, task: Task, kind: str, payload: dict[str, Any]) -> None:
        """What became of a task, in the modes `tasks` and `debug`."""
        machine = task.machine
        if "tasks" in self.modes:
            self.put((machine.namespace_parts, "tasks", payload))
        if self.wants_debug:
            self._debug(machine, kind, payload, machine.step)

    def _debug(self, machine: Machine, kind: str, payload: dict[str, Any], step: int) -> None:
        event = {"step": step, "timestamp": self.stamp(), "type": kind, "payload": payload}
        self.put((machine.namespace_parts, "debug", event))


def joined(first: Sink | None, second: Sink | None) -> Sink | None:
    """One sink for what a nested graph's own stream and its parent's want; either may be None."""
    if first is None or second is None:
        return first or second
    return second.beside(first)


def _sends_first(task: Task) -> bool:
    return task.index < 0
