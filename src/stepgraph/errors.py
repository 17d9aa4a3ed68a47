"""Every error that the runtime raises by itself.

Rules: a message says what happened, where (graph, node, namespace, key) and what to do next; what a program may want to
know is an attribute too; every error survives pickling with its attributes. An exception that a node raises is not
wrapped: it reaches the caller as the very same object.

Two families:

- `GraphBubbleUp` and below are no faults but control flow that travels up the stack. It derives from `BaseException`, so
  that a node's `except Exception` cannot swallow a pause.
- All others are `Exception`s.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from stepgraph.values.commands import PLACEHOLDER_INTERRUPT_ID, Command, Interrupt
from stepgraph.values.record import FrozenRecord, set_slot

if TYPE_CHECKING:
    from stepgraph.values.findings import Finding

__all__ = (
    "EmptyChannelError",
    "EmptyInputError",
    "ErrorCode",
    "GraphBubbleUp",
    "GraphChange",
    "GraphChangedError",
    "GraphCheckError",
    "GraphDrained",
    "GraphInterrupt",
    "GraphRecursionError",
    "InvalidResumeError",
    "InvalidUpdateError",
    "NodeCancelledError",
    "NodeError",
    "NodeInterrupt",
    "NodeTimeoutError",
    "ParentCommand",
    "TaskNotFound",
    "TaskOrderError",
    "ThreadBusyError",
    "UnknownInterruptError",
    "is_invalid_resume",
)


class ErrorCode(Enum):
    """Names of well-known faults, stable over versions."""

    GRAPH_RECURSION_LIMIT = "GRAPH_RECURSION_LIMIT"
    INVALID_CONCURRENT_GRAPH_UPDATE = "INVALID_CONCURRENT_GRAPH_UPDATE"
    INVALID_GRAPH_NODE_RETURN_VALUE = "INVALID_GRAPH_NODE_RETURN_VALUE"
    MULTIPLE_SUBGRAPHS = "MULTIPLE_SUBGRAPHS"
    INVALID_CHAT_HISTORY = "INVALID_CHAT_HISTORY"


# Control flow.


class GraphBubbleUp(BaseException):
    """Base of what travels up through nodes and graphs and is no fault."""


class GraphInterrupt(GraphBubbleUp):
    """A node pauses. The run catches it; it never leaves `invoke` or `stream`.

    Args:
        interrupts: The pauses.
    """

    def __init__(self, interrupts: Sequence[Interrupt[Any]] = ()) -> None:
        super().__init__(interrupts)

    @property
    def interrupts(self) -> Sequence[Interrupt[Any]]:
        """The pauses."""
        pauses: Sequence[Interrupt[Any]] = self.args[0]
        return pauses


class NodeInterrupt(GraphInterrupt):
    """A pause that a node raises by hand. Deprecated: call `interrupt()`.

    Args:
        value: What to show.
        id: The id of the pause.
    """

    __deprecated__ = "NodeInterrupt is deprecated. Please use `stepgraph.types.interrupt` instead."

    def __init__(self, value: Any, id: str | None = None) -> None:
        from warnings import warn

        from stepgraph.warnings import LangGraphDeprecatedSinceV10

        warn(self.__deprecated__, LangGraphDeprecatedSinceV10, stacklevel=2)
        super().__init__([Interrupt(value, PLACEHOLDER_INTERRUPT_ID if id is None else id)])

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


class ParentCommand(GraphBubbleUp):
    """Carries a `Command` for the graph above.

    Args:
        command: The command.
    """

    args: tuple[Command[Any]]

    def __init__(self, command: Command[Any]) -> None:
        super().__init__(command)


class GraphDrained(GraphBubbleUp, Exception):
    """A run stopped at the border of a superstep because `RunControl.request_drain()` asked for it.

    The checkpoint is saved; `invoke(None, config)` goes on from it.

    Args:
        reason: Why, as given to `request_drain`.
    """

    def __init__(self, reason: str = "shutdown") -> None:
        super().__init__(f"Graph drained: {reason}")
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


# Faults of a run.


class GraphRecursionError(RecursionError):
    """A run reached its limit of supersteps before it came to an end.

    Raise `config["recursion_limit"]` if so many steps are meant, else look for a loop without a way out.
    """


class InvalidUpdateError(Exception):
    """A write that no channel can take, or a node's result that is no update.

    Args:
        args: The message.
        key: The channel.
        node: The node that wrote, where it is one.
        namespace: The level of the graph.
        writers: All nodes that wrote to the channel in the step, where they are at odds.
        code: The kind of fault.
    """

    def __init__(
        self,
        *args: object,
        key: str | None = None,
        node: str | None = None,
        namespace: str | None = None,
        writers: Sequence[str] = (),
        code: ErrorCode | None = None,
    ) -> None:
        super().__init__(*args)
        self.key = key
        self.node = node
        self.namespace = namespace
        self.writers = tuple(writers)
        self.code = code


class EmptyInputError(Exception):
    """A run got no input, and there is no checkpoint to go on from."""


class EmptyChannelError(Exception):
    """A channel was read before it was ever written (or after its value was consumed)."""


class TaskNotFound(Exception):
    """A task id that no task of the checkpoint has."""


class NodeCancelledError(Exception):
    """A node raised `asyncio.CancelledError` by itself, although its run was not cancelled.

    Args:
        node: The node.
        message: The text; by default it says which node.
    """

    def __init__(self, node: str, message: str | None = None) -> None:
        super().__init__(f"Node {node!r} raised asyncio.CancelledError" if message is None else message)
        self.node = node

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


class NodeTimeoutError(Exception):
    """An attempt of a node took too long. It may be retried.

    Args:
        node: The node.
        elapsed: How long it ran, in seconds.
        kind: Which limit it passed: `"run"`, for the whole attempt, or `"idle"`, without progress.
        idle_timeout: The limit without progress, in seconds.
        run_timeout: The limit for the whole attempt, in seconds.

    Raises:
        ValueError: `kind` is unknown, or its limit is not given.
    """

    timeout: float

    def __init__(
        self,
        node: str,
        elapsed: float,
        *,
        kind: Literal["idle", "run"],
        idle_timeout: float | None = None,
        run_timeout: float | None = None,
    ) -> None:
        if kind not in ("idle", "run"):
            raise ValueError(f"kind must be 'idle' or 'run', got {kind!r}")
        limit = idle_timeout if kind == "idle" else run_timeout
        if limit is None:
            raise ValueError(f"{kind}_timeout is required when kind={kind!r}")
        idle = " without making progress" if kind == "idle" else ""
        super().__init__(
            f"Node {node!r} exceeded its {kind} timeout of {limit:.3f}s{idle} (elapsed: {elapsed:.3f}s)."
        )
        self.timeout = limit
        self.node = node
        self.elapsed = elapsed
        self.kind = kind
        self.idle_timeout = idle_timeout
        self.run_timeout = run_timeout

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


class NodeError(FrozenRecord):
    """What an error handler gets: which node failed, and with what. Not an exception itself.

    Args:
        node: The node.
        error: What it raised after its last attempt.
    """

    __slots__ = ("error", "node")
    record_fields = ("node", "error")

    node: str
    error: BaseException

    def __init__(self, node: str, error: BaseException) -> None:
        _set_node(self, node)
        _set_error(self, error)


_set_node = NodeError.__dict__["node"].__set__
_set_error = NodeError.__dict__["error"].__set__


# Faults of an answer.


class UnknownInterruptError(RuntimeError):
    """A `Command(resume=...)` that fits no pending pause. Nothing was written.

    Args:
        message: The text.
        reason: `"not_pending"`: an id that is not pending. `"ambiguous"`: one answer where several pauses wait.
            `"empty_map"`: a dict without answers.
        interrupt_ids: The ids that the answer named.
        pending_ids: The ids that wait for an answer.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: Literal["not_pending", "empty_map", "ambiguous"],
        interrupt_ids: Sequence[str] = (),
        pending_ids: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.interrupt_ids = tuple(interrupt_ids)
        self.pending_ids = tuple(pending_ids)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


class InvalidResumeError(ValueError):
    """An answer that does not fit the pause's `response_schema`. Nothing was saved; answer again.

    Args:
        message: The text.
        interrupt_id: The pause.
        node: The node that asked.
        value: The answer that was refused.
    """

    def __init__(
        self,
        message: str,
        *,
        interrupt_id: str | None = None,
        node: str | None = None,
        value: Any = None,
    ) -> None:
        super().__init__(message)
        self.interrupt_id = interrupt_id
        self.node = node
        self.value = value


_INVALID_RESUME = "__invalid_resume__"


class TaskOrderError(RuntimeError):
    """A node or entrypoint that is run again makes its `@task` calls in another order than the run that stored results.

    Args:
        number: Which call of the caller, from 0.
        caller: The node, entrypoint or task that makes the calls.
        task: The task that is called there now.
        stored: The task whose call is stored there, where its name is known.
        graph: The graph.
        message: The text; by default it is made of the other arguments.
    """

    def __init__(
        self,
        number: int,
        caller: str,
        task: str,
        stored: str | None = None,
        graph: str = "",
        *,
        message: str | None = None,
    ) -> None:
        self.number = number
        self.caller = caller
        self.task = task
        self.stored = stored
        self.graph = graph
        super().__init__(message if message is not None else self._describe())

    def _describe(self) -> str:
        before = f"{self.stored!r} was" if self.stored else "a task that no longer exists under its name was"
        return (
            f"Call {self.number} of {self.caller!r} in graph {self.graph!r} is to {self.task!r} now, but {before} called there"
            " when the thread was last run: stored results would go to the wrong calls. Make the calls in the same order"
            " whenever the code runs again (what they depend on must come from inputs, tasks and answers, not from the time,"
            " chance or changed globals), keep a renamed task's old name with @task(name=...), or start the thread with a"
            " new input."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def mark_invalid_resume(error: BaseException) -> None:
    """Mark an exception (a validator's own) as caused by a wrong answer, for `is_invalid_resume`."""
    setattr(error, _INVALID_RESUME, True)


def is_invalid_resume(error: BaseException) -> bool:
    """Whether an exception says that an answer does not fit its pause's `response_schema`.

    Args:
        error: What `invoke` raised.

    Returns:
        True if the same question can be answered again.
    """
    return isinstance(error, InvalidResumeError) or getattr(error, _INVALID_RESUME, False) is True


# Faults of a thread.


class ThreadBusyError(RuntimeError):
    """Another writer moved a thread on while a run was at work on it. Nothing was overwritten.

    Args:
        thread_id: The thread.
        namespace: The level of the graph; the root is the empty string.
        run_id: The run that stopped.
        other_run_id: The run that got ahead, where it is known.
        last_step: The last superstep that the stopped run saved.
        cause: `"run"`: another run; `"update_state"`: a call of `update_state`; `"lease"`: refused before it began.
        message: The text; by default it is made of the other arguments.
    """

    def __init__(
        self,
        thread_id: str,
        namespace: str = "",
        *,
        run_id: str | None = None,
        other_run_id: str | None = None,
        last_step: int | None = None,
        cause: Literal["run", "update_state", "lease"] = "run",
        message: str | None = None,
    ) -> None:
        if other_run_id == "update_state":
            other_run_id, cause = None, "update_state"
        self.thread_id = thread_id
        self.namespace = namespace
        self.run_id = run_id
        self.other_run_id = other_run_id
        self.last_step = last_step
        self.cause = cause
        super().__init__(message if message is not None else self._describe())

    def _describe(self) -> str:
        place = f"Thread {self.thread_id!r}"
        if self.cause != "lease":
            place += f", namespace {self.namespace!r}{'' if self.namespace else ' (the root)'},"
        own = f"run {self.run_id}" if self.run_id else "this run"
        if self.last_step is not None:
            own += f" (its last saved step: {self.last_step})"
        if self.cause == "update_state":
            other = "a call of update_state"
        else:
            other = f"run {self.other_run_id}" if self.other_run_id else "another run"
        if self.cause == "lease":
            return (
                f"{place} is in use by {other}, so {own} did not start. Wait for it to end and run again, use"
                " another thread_id, or compile with concurrency='detect'."
            )
        return (
            f"{place} was moved on by {other} while {own} was at work on it. {own[0].upper()}{own[1:]} stopped and"
            " overwrote nothing. Look at the thread with get_state() and run again from its newest checkpoint, run one"
            " at a time per thread_id, or compile with concurrency='allow' to let histories interleave."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


class GraphChange(FrozenRecord):
    """One thing that a stored thread needs and its graph no longer has. Not an exception itself.

    Args:
        kind: `"node"`, `"field"`, `"edge"` (a waiting edge) or `"subgraph"`.
        name: The node or field, or the waiting edge's channel.
        stored: What the thread was stored with.
        present: What the graph has now.
        problem: What that means for the thread.
        mend: What to do.
    """

    __slots__ = ("kind", "mend", "name", "present", "problem", "stored")
    record_fields = ("kind", "name", "stored", "present", "problem", "mend")

    kind: str
    name: str
    stored: str
    present: str
    problem: str
    mend: str

    def __init__(self, kind: str, name: str, stored: str, present: str, problem: str, mend: str) -> None:
        for field, value in zip(self.record_fields, (kind, name, stored, present, problem, mend)):
            set_slot(self, field, value)


class GraphChangedError(RuntimeError):
    """A thread cannot go on, because the graph was changed since the thread was stored. Nothing was written.

    Args:
        graph: The graph.
        namespace: Its level; the root is the empty string.
        thread_id: The thread.
        checkpoint_id: The checkpoint that was to go on.
        changes: What is missing or different.
        message: The text; by default it is made of the other arguments.
    """

    def __init__(
        self,
        graph: str,
        namespace: str,
        thread_id: Any,
        checkpoint_id: str,
        changes: Sequence[GraphChange],
        *,
        message: str | None = None,
    ) -> None:
        self.graph = graph
        self.namespace = namespace
        self.thread_id = thread_id
        self.checkpoint_id = checkpoint_id
        self.changes = tuple(changes)
        super().__init__(message if message is not None else self._describe())

    def _describe(self) -> str:
        where = f" at namespace {self.namespace!r}" if self.namespace else ""
        lines = [
            f"Thread {self.thread_id!r} cannot go on from checkpoint {self.checkpoint_id!r}: graph {self.graph!r}{where} was"
            " changed since it was stored. Nothing was written."
        ]
        lines += [f"- {change.problem} {change.mend}" for change in self.changes]
        lines.append(
            "Say what became of what is missing, with compile(migrations=[...]) and rename_node, rename_field, convert_field,"
            " remove_field of stepgraph.migrations."
        )
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


class GraphCheckError(ValueError):
    """A graph was compiled with `check="error"`, and the check found errors.

    Args:
        graph: The graph.
        findings: The errors that were found.
        message: The text; by default it is made of the findings.
    """

    def __init__(self, graph: str, findings: Sequence[Finding], *, message: str | None = None) -> None:
        self.graph = graph
        self.findings = tuple(findings)
        lines = [f"Graph {graph!r} was not compiled, because check='error' found:"]
        lines += [f"- {finding}" for finding in self.findings]
        super().__init__(message if message is not None else "\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[BaseException], args: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    """Rebuild an exception without its `__init__` (which would format or warn again)."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error
