"""One execution of one node, and the one ContextVar that tells running code which task it belongs to.

A `Task` is at once the machine's record (input, updates, targets, sends) and the context that `get_config()`,
`interrupt()`, the stream writer and nested graphs look at. What differs from the defaults is stored on the instance;
ids, namespaces and config dicts are made when somebody asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.identity import child_namespace, task_id
from stepgraph.pregel.results import add_writes, wire_writes
from stepgraph.values.names import PREVIOUS, PULL, PUSH
from stepgraph.values.task_ids import pull_path, push_path

if TYPE_CHECKING:
    from stepgraph.pregel.calls import Calls
    from stepgraph.pregel.ledger import Ledger
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.plan import NodePlan
    from stepgraph.values.commands import Interrupt, Send

Pairs = Sequence[tuple[str, Any]]
Updates = dict[str, Any] | list[tuple[str, Any]] | tuple[tuple[str, Any], ...]


class Task:
    """One execution of one node in one superstep.

    A task made by a `Send` keeps what was sent as `argument`: each attempt gets its input from that, with containers of its
    own. `updates` is a dict, or a list of pairs where a channel is written more than once. `targets` are the nodes that run
    next because of this task, `sends` its explicit `Send`s. `former` is the name of its node that it was stored with, where
    that is another: ids, path and namespace stay as they were stored.
    """

    index = -1
    argument: Any = None
    updates: Updates = ()
    targets: tuple[NodePlan, ...] = ()
    sends: list[Send] | None = None
    folded: dict[str, Any] | None = None
    commands: list[Any] | None = None
    interrupts: tuple[Interrupt[Any], ...] | None = None
    stored_interrupts: tuple[Interrupt[Any], ...] = ()
    error: BaseException | None = None
    restored = False
    saved = False
    finished = False
    ended_children: list[Ledger] | None = None
    cached = False
    attempt = 1
    first_attempt_time: float | None = None
    interrupt_count = 0
    child_count = 0
    calls: Calls | None = None
    answers: list[Any] | None = None
    swallowed: BaseException | Calls | None = None
    takes_commands = True
    timeout: Any = None
    triggers_override: tuple[str, ...] | None = None
    call_path: tuple[Any, ...] | None = None
    cancelled = False
    run_id: Any = None
    observed: Any = None
    asked = False
    ticket: Any = None
    run_slot: Any = None
    handler: Task | None = None
    written: list[tuple[str, Any]] | None = None
    handled: Any = None
    handed_up_by: str | None = None
    asked_as: tuple[int, str] | None = None
    former: str | None = None
    _id: str | None = None
    _config: dict[str, Any] | None = None
    _runtime: Any = None

    def __init__(self, machine: Machine, node: NodePlan, input: Any) -> None:
        self.machine = machine
        self.node = node
        self.input = input

    @property
    def path(self) -> tuple[Any, ...]:
        """Where the task stands in its superstep; the order of commit is the order of paths."""
        if self.call_path is not None:
            return self.call_path
        return (PULL, self.former or self.node.name) if self.index < 0 else (PUSH, self.index, False)

    @property
    def path_text(self) -> str:
        """`path` as sortable text, as savers store it."""
        if self.call_path is None:
            return pull_path(self.former or self.node.name) if self.index < 0 else push_path(self.index)
        return "~" + ", ".join(f"{p:010d}" if type(p) is int else str(p) for p in self.path)

    @property
    def id(self) -> str:
        known = self._id
        if known is None:
            machine = self.machine
            name = self.former or self.node.name
            known = self._id = task_id(
                machine.checkpoint_id, machine.namespace, machine.step, name, self.path_text
            )
        return known

    @property
    def namespace(self) -> str:
        """Where a graph runs that this task starts."""
        return child_namespace(self.machine.namespace, self.former or self.node.name, self.id)

    @property
    def triggers(self) -> tuple[str, ...]:
        """The channels that made this task run."""
        if self.triggers_override is not None:
            return self.triggers_override
        return self.node.triggers if self.index < 0 else (PUSH,)

    @property
    def config(self) -> dict[str, Any]:
        """The `RunnableConfig` dict of this task, made on first use."""
        known = self._config
        if known is None:
            from stepgraph.pregel.config import task_config

            known = self._config = task_config(self)
        return known

    @property
    def runtime(self) -> Any:
        """The `Runtime` that is injected into the node, made on first use."""
        known = self._runtime
        if known is None:
            from stepgraph.pregel.config import task_runtime

            known = self._runtime = task_runtime(self)
        return known

    @property
    def previous(self) -> Any:
        """What an entrypoint saved in its last run."""
        return self.machine.state.get(PREVIOUS)

    @property
    def above(self) -> Task | None:
        """The task that waits for this one."""
        return self.machine.parent

    @property
    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What a key function is called with."""
        return (self.input,), {}

    @property
    def checkpoint_map(self) -> dict[str, str]:
        """Namespace to checkpoint id, for a graph that this task starts."""
        machine = self.machine
        return {**machine.level.parents, machine.namespace: machine.checkpoint_id}

    def send(self, pairs: Pairs) -> None:
        """Write to channels from inside the node, beside what it returns."""
        add_writes(self, pairs)
        self.progressed()

    def read(self, select: str | Sequence[str], fresh: bool = False) -> Any:
        """Channels as they were at the step's start, or with this task's own writes so far."""
        from stepgraph.pregel.branches import fresh_state

        state = fresh_state(self) if fresh else self.machine.state
        self.folded = None
        return self.machine.view(select, state)

    def heartbeat(self) -> None:
        """Tell an idle limit that the node is still at work."""
        if self.machine.guard is not None:
            self.machine.guard.progress(False)

    def progressed(self) -> None:
        """Something visible came out of the node: an idle limit in its automatic form counts that."""
        if self.machine.guard is not None:
            self.machine.guard.progress(True)

    def pairs(self) -> list[tuple[str, Any]]:
        """All writes in their wire form: state first, then control."""
        return wire_writes(self)

    def reset(self) -> None:
        """Forget what an attempt wrote, before the next attempt."""
        self.updates, self.targets, self.sends = (), (), None
        self.folded = self.commands = None
        self.interrupt_count = self.child_count = 0
        self.swallowed = self.written = self.ended_children = self.calls = None
        self._config = self._runtime = None

    def __repr__(self) -> str:
        return f"Task({self.node.name!r}, step={self.machine.step})"


CURRENT: ContextVar[Task] = ContextVar("stepgraph_task")
"""The task whose code is running; each task runs in a copy of the context of its own."""


def current_task() -> Task | None:
    """The task that the calling code belongs to, or None outside of a graph's run."""
    return CURRENT.get(None)
