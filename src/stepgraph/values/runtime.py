"""What a node can ask about the run it is part of: context, store, where it is, and control over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypedDict, TypeVar, Unpack

from stepgraph.values.record import FrozenRecord, set_slot

if TYPE_CHECKING:
    from stepgraph.store.base import BaseStore

ContextT = TypeVar("ContextT")


def no_stream_writer(_: Any) -> None:
    """Stands for the stream writer where nobody listens."""


def no_heartbeat() -> None:
    """Stands for the heartbeat where no timeout runs."""


class BaseUser(Protocol):
    """Who started a run, on a server that knows."""

    @property
    def is_authenticated(self) -> bool:
        """Whether the server has checked who it is."""

    @property
    def display_name(self) -> str:
        """The name to show."""

    @property
    def identity(self) -> str:
        """The name that is unique."""

    @property
    def permissions(self) -> Sequence[str]:
        """What the user may do."""


class ExecutionInfo(FrozenRecord):
    """Where a node is: thread, checkpoint, task, attempt.

    Args:
        checkpoint_id: The checkpoint that the step started from.
        checkpoint_ns: The namespace of the task.
        task_id: The id of the task, the same on each attempt and each resume.
        thread_id: The thread, if there is one.
        run_id: The run, if it has an id.
        node_attempt: Which attempt this is, from 1.
        node_first_attempt_time: When the first attempt began, in seconds since the epoch.
    """

    __slots__ = (
        "checkpoint_id",
        "checkpoint_ns",
        "node_attempt",
        "node_first_attempt_time",
        "run_id",
        "task_id",
        "thread_id",
    )
    record_fields = (
        "checkpoint_id",
        "checkpoint_ns",
        "task_id",
        "thread_id",
        "run_id",
        "node_attempt",
        "node_first_attempt_time",
    )

    checkpoint_id: str
    checkpoint_ns: str
    task_id: str
    thread_id: str | None
    run_id: str | None
    node_attempt: int
    node_first_attempt_time: float | None

    def __init__(
        self,
        checkpoint_id: str,
        checkpoint_ns: str,
        task_id: str,
        thread_id: str | None = None,
        run_id: str | None = None,
        node_attempt: int = 1,
        node_first_attempt_time: float | None = None,
    ) -> None:
        set_slot(self, "checkpoint_id", checkpoint_id)
        set_slot(self, "checkpoint_ns", checkpoint_ns)
        set_slot(self, "task_id", task_id)
        set_slot(self, "thread_id", thread_id)
        set_slot(self, "run_id", run_id)
        set_slot(self, "node_attempt", node_attempt)
        set_slot(self, "node_first_attempt_time", node_first_attempt_time)

    def patch(self, **overrides: Any) -> ExecutionInfo:
        """A copy with some fields changed.

        Raises:
            TypeError: There is no such field.
        """
        return ExecutionInfo(**{**self._as_dict(), **overrides})


class ServerInfo(FrozenRecord):
    """Which deployed graph this is, on a server.

    Args:
        assistant_id: The configured graph.
        graph_id: The graph.
        user: Who started the run.
    """

    __slots__ = ("assistant_id", "graph_id", "user")
    record_fields = ("assistant_id", "graph_id", "user")

    assistant_id: str
    graph_id: str
    user: BaseUser | None

    def __init__(self, assistant_id: str, graph_id: str, user: BaseUser | None = None) -> None:
        set_slot(self, "assistant_id", assistant_id)
        set_slot(self, "graph_id", graph_id)
        set_slot(self, "user", user)


class RunControl:
    """A handle on a run from outside of it. Safe to use from any thread.

    Give it to `invoke(..., control=control)`, and call `control.request_drain()` to stop the run at the border of the next
    superstep with its checkpoint saved.
    """

    # One attribute holds both facts, so that a reader in another thread never sees one without the other.
    __slots__ = ("_reason",)

    def __init__(self) -> None:
        self._reason: str | None = None

    def request_drain(self, reason: str = "shutdown") -> None:
        """Ask the run to stop; the last reason given counts.

        Args:
            reason: Why; `GraphDrained.reason` will say it.
        """
        self._reason = reason

    @property
    def drain_requested(self) -> bool:
        """Whether the run was asked to stop."""
        return self._reason is not None

    @property
    def drain_reason(self) -> str | None:
        """Why it was asked to."""
        return self._reason


class _RuntimeOverrides(TypedDict, Generic[ContextT], total=False):
    """What `Runtime.override` takes."""

    context: ContextT
    store: BaseStore | None
    stream_writer: Callable[[Any], None]
    heartbeat: Callable[[], None]
    previous: Any
    execution_info: ExecutionInfo | None
    server_info: ServerInfo | None
    control: RunControl | None


class Runtime(FrozenRecord, Generic[ContextT]):
    """What a node gets of its run; a parameter annotated `Runtime[Context]` is given one.

    Args:
        context: What the caller gave as `context=`: data of the run that is no state.
        store: The memory that outlives threads.
        stream_writer: Sends a custom event to who streams the run.
        heartbeat: Tells an idle timeout that the node is alive.
        previous: In an entrypoint, what the last run on the thread saved.
        execution_info: Where the node is.
        server_info: Which deployed graph this is.
        control: A handle on the run.

    Example:
        >>> def node(state: dict, runtime: Runtime[str]) -> dict:
        ...     return {"greeting": f"hello {runtime.context}"}
        >>> node({}, Runtime(context="Ada"))
        {'greeting': 'hello Ada'}
    """

    __slots__ = (
        "context",
        "control",
        "execution_info",
        "heartbeat",
        "previous",
        "server_info",
        "store",
        "stream_writer",
    )
    record_fields = (
        "context",
        "store",
        "stream_writer",
        "heartbeat",
        "previous",
        "execution_info",
        "server_info",
        "control",
    )

    context: ContextT
    store: BaseStore | None
    stream_writer: Callable[[Any], None]
    heartbeat: Callable[[], None]
    previous: Any
    execution_info: ExecutionInfo | None
    server_info: ServerInfo | None
    control: RunControl | None

    def __init__(
        self,
        *,
        context: ContextT = None,  # type: ignore[assignment]
        store: BaseStore | None = None,
        stream_writer: Callable[[Any], None] = no_stream_writer,
        heartbeat: Callable[[], None] = no_heartbeat,
        previous: Any = None,
        execution_info: ExecutionInfo | None = None,
        server_info: ServerInfo | None = None,
        control: RunControl | None = None,
    ) -> None:
        _set_context(self, context)
        _set_store(self, store)
        _set_stream_writer(self, stream_writer)
        _set_heartbeat(self, heartbeat)
        _set_previous(self, previous)
        _set_execution_info(self, execution_info)
        _set_server_info(self, server_info)
        _set_control(self, control)

    @property
    def drain_requested(self) -> bool:
        """Whether the run was asked to stop at the end of this step."""
        return self.control is not None and self.control.drain_requested

    @property
    def drain_reason(self) -> str | None:
        """Why it was asked to."""
        return None if self.control is None else self.control.drain_reason

    @property
    def idempotency_key(self) -> str | None:
        """A key for calls to services that take one: the same on each attempt and each resume of this task.

        `None` outside of a task.
        """
        info = self.execution_info
        if info is None:
            return None
        from hashlib import blake2b

        place = "\0".join((info.thread_id or "", info.checkpoint_ns, info.task_id))
        return blake2b(place.encode(), digest_size=16).hexdigest()

    def merge(self, other: Runtime[ContextT]) -> Runtime[ContextT]:
        """A copy in which what `other` has set takes the place of what this one has."""
        return Runtime(
            context=other.context or self.context,
            store=other.store if other.store is not None else self.store,
            stream_writer=other.stream_writer
            if other.stream_writer is not no_stream_writer
            else self.stream_writer,
            heartbeat=other.heartbeat if other.heartbeat is not no_heartbeat else self.heartbeat,
            previous=other.previous if other.previous is not None else self.previous,
            execution_info=other.execution_info or self.execution_info,
            server_info=other.server_info or self.server_info,
            control=other.control or self.control,
        )

    def override(self, **overrides: Unpack[_RuntimeOverrides[ContextT]]) -> Runtime[ContextT]:
        """A copy with some fields changed.

        Raises:
            TypeError: There is no such field.
        """
        return Runtime(**{**self._as_dict(), **overrides})

    def patch_execution_info(self, **overrides: Any) -> Runtime[ContextT]:
        """A copy with some fields of `execution_info` changed.

        Raises:
            RuntimeError: There is no `execution_info`.
        """
        if self.execution_info is None:
            raise RuntimeError(
                "Cannot patch execution_info before it has been set: this Runtime belongs to no task."
            )
        return self.override(execution_info=self.execution_info.patch(**overrides))


_set_context = Runtime.__dict__["context"].__set__
_set_store = Runtime.__dict__["store"].__set__
_set_stream_writer = Runtime.__dict__["stream_writer"].__set__
_set_heartbeat = Runtime.__dict__["heartbeat"].__set__
_set_previous = Runtime.__dict__["previous"].__set__
_set_execution_info = Runtime.__dict__["execution_info"].__set__
_set_server_info = Runtime.__dict__["server_info"].__set__
_set_control = Runtime.__dict__["control"].__set__
