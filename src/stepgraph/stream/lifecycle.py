"""Which nested graphs run: as events of their lives (`lifecycle`), and as streams of their own (`run.subgraphs`).

Theory of operation. A nested graph has begun when the first of its tasks has. It has ended when the task above it that runs
it has: its result says how. What is still open when the run ends or fails ends with it.

Rules of this file: it reads the events of the mode `tasks` only; these belong to it, so the stream does not show them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from stepgraph.stream._types import ProtocolEvent, StreamTransformer
from stepgraph.stream.stream_channel import StreamChannel

if TYPE_CHECKING:
    from stepgraph.stream._mux import StreamMux

Namespace = tuple[str, ...]

SubgraphStatus: TypeAlias = Literal["started", "completed", "failed", "interrupted", "drained"]
"""Where a nested graph stands."""


class LifecyclePayload(TypedDict):
    """A nested graph begins or ends.

    Attributes:
        event: What became of it.
        namespace: Where it runs.
        graph_name: The node that runs it; when it begins.
        trigger_call_id: The task that runs it; when it begins.
        cause: What made that task run, where that is known.
        error: What it failed with.
    """

    event: SubgraphStatus
    namespace: list[str]
    graph_name: NotRequired[str]
    trigger_call_id: NotRequired[str]
    cause: NotRequired[dict[str, Any]]
    error: NotRequired[str]


class _TasksLifecycleBase(StreamTransformer):
    """Follows the lives of nested graphs; subclasses say which, and what to do when one begins or ends."""

    required_stream_modes = ("tasks",)
    _native = True

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._open: dict[Namespace, str] = {}

    def init(self) -> dict[str, Any]:
        """No projection; subclasses have one."""
        return {}

    def process(self, event: ProtocolEvent) -> bool:
        """Look at tasks; they are not shown."""
        if event["method"] != "tasks":
            return True
        namespace = tuple(event["params"]["namespace"])
        data = event["params"]["data"]
        if "triggers" in data:
            self._handle_task_start(namespace, data)
        else:
            for ended, status, error in self._pop_terminal_transitions(namespace, data):
                self._on_terminal(ended, status, error)
        return False

    def finalize(self) -> None:
        """What is still open has stopped where it was told to."""
        for namespace in reversed([*self._open]):
            del self._open[namespace]
            self._on_terminal(namespace, "completed", None)

    def fail(self, err: BaseException) -> None:
        """What is still open ends as the run does."""
        status, text = _status_from_exception(err)
        for namespace in reversed([*self._open]):
            del self._open[namespace]
            self._on_terminal(namespace, status, text)

    def _handle_task_start(self, namespace: Namespace, data: dict[str, Any]) -> None:
        if namespace in self._open or not self._should_track(namespace):
            return
        node, task_id = _parse_ns_segment(namespace[-1])
        if task_id is None:
            return
        self._open[namespace] = task_id
        self._on_started(namespace, node, task_id)

    def _pop_terminal_transitions(
        self, namespace: Namespace, data: dict[str, Any]
    ) -> list[tuple[Namespace, SubgraphStatus, str | None]]:
        """The graphs that end because a task has ended: the one that it runs."""
        ended = (*namespace, f"{data.get('name')}:{data.get('id')}")
        if self._open.pop(ended, None) is None:
            return []
        return [(ended, *_terminal_from_result(data))]

    def _should_track(self, ns: Namespace) -> bool:
        """Whether a graph at this namespace is followed: here, every one below this one's."""
        return len(ns) > len(self.scope) and ns[: len(self.scope)] == self.scope

    def _on_started(self, ns: Namespace, graph_name: str | None, trigger_call_id: str | None) -> None:
        """A graph has begun."""

    def _on_terminal(self, ns: Namespace, status: SubgraphStatus, error: str | None) -> None:
        """A graph has ended."""


class LifecycleTransformer(_TasksLifecycleBase):
    """`run.lifecycle`: the beginnings and ends of all graphs below this one; the stream shows them too."""

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._channel: StreamChannel[LifecyclePayload] = StreamChannel("lifecycle")

    def init(self) -> dict[str, Any]:
        """The channel `lifecycle`."""
        return {"lifecycle": self._channel}

    def _on_started(self, ns: Namespace, graph_name: str | None, trigger_call_id: str | None) -> None:
        payload: LifecyclePayload = {"event": "started", "namespace": list(ns)}
        if graph_name is not None:
            payload["graph_name"] = graph_name
        if trigger_call_id is not None:
            payload["trigger_call_id"] = trigger_call_id
        self._channel.push(payload)

    def _on_terminal(self, ns: Namespace, status: SubgraphStatus, error: str | None) -> None:
        payload: LifecyclePayload = {"event": status, "namespace": list(ns)}
        if error is not None:
            payload["error"] = error
        self._channel.push(payload)


class SubgraphTransformer(_TasksLifecycleBase):
    """`run.subgraphs`: a stream for each graph that this one runs directly; each has such a projection of its own."""

    supports_sync = True

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._log: StreamChannel[Any] = StreamChannel()
        self._handles: dict[Namespace, Any] = {}
        self._ended: list[tuple[Any, str | None]] = []
        self._mux: StreamMux | None = None

    def _on_register(self, mux: Any) -> None:
        self._mux = mux

    def init(self) -> dict[str, Any]:
        """The channel `subgraphs`."""
        return {"subgraphs": self._log}

    def process(self, event: ProtocolEvent) -> bool:
        """Follow tasks, and pass a nested graph's events on to its stream."""
        shown = super().process(event)
        handle = self._handle_of(event)
        if handle is not None:
            handle._observe_event(event)
            handle._mux.push(event)
        for ended, error in self._take_ended():
            if error is None:
                ended._mux.close()
            else:
                ended._mux.fail(RuntimeError(error))
        return shown

    async def aprocess(self, event: ProtocolEvent) -> bool:
        """The same in an asynchronous run."""
        shown = super().process(event)
        handle = self._handle_of(event)
        if handle is not None:
            handle._observe_event(event)
            await handle._mux.apush(event)
        await self._aend()
        return shown

    def finalize(self) -> None:
        """Streams that are still open end."""
        super().finalize()
        for ended, _ in self._take_ended():
            ended._mux.close()

    async def afinalize(self) -> None:
        """The same in an asynchronous run."""
        super().finalize()
        await self._aend()

    def fail(self, err: BaseException) -> None:
        """Streams that are still open fail with the run."""
        super().fail(err)
        for ended, _ in self._take_ended():
            ended._mux.fail(err)

    async def afail(self, err: BaseException) -> None:
        """The same in an asynchronous run."""
        super().fail(err)
        for ended, _ in self._take_ended():
            await ended._mux.afail(err)

    async def _aend(self) -> None:
        for ended, error in self._take_ended():
            if error is None:
                await ended._mux.aclose()
            else:
                await ended._mux.afail(RuntimeError(error))

    def _take_ended(self) -> list[tuple[Any, str | None]]:
        ended, self._ended = self._ended, []
        return ended

    def _handle_of(self, event: ProtocolEvent) -> Any:
        """The stream of the graph, directly below this one, that an event belongs to."""
        depth = len(self.scope) + 1
        namespace = event["params"]["namespace"]
        return self._handles.get(tuple(namespace[:depth])) if len(namespace) >= depth else None

    def _should_track(self, ns: Namespace) -> bool:
        return len(ns) == len(self.scope) + 1 and ns[:-1] == self.scope

    def _on_started(self, ns: Namespace, graph_name: str | None, trigger_call_id: str | None) -> None:
        from stepgraph.stream.run_stream import AsyncSubgraphRunStream, SubgraphRunStream

        assert self._mux is not None
        kind: Any = AsyncSubgraphRunStream if self._mux.is_async else SubgraphRunStream
        handle = kind(self._mux.child(ns), path=ns, graph_name=graph_name, trigger_call_id=trigger_call_id)
        self._handles[ns] = handle
        self._log.push(handle)

    def _on_terminal(self, ns: Namespace, status: SubgraphStatus, error: str | None) -> None:
        handle = self._handles.pop(ns, None)
        if handle is not None:
            handle.status, handle.error = status, error
            self._ended.append((handle, error))


def _parse_ns_segment(segment: str) -> tuple[str | None, str | None]:
    """Node and task id of a part of a namespace; a further child of the same task has neither."""
    node, colon, task_id = segment.rpartition(":")
    return (node, task_id) if colon else (None, None)


def _terminal_from_result(data: dict[str, Any]) -> tuple[SubgraphStatus, str | None]:
    """What became of the graph that a task runs, by the task's result."""
    error = data.get("error")
    if error is not None:
        return "failed", str(error)
    return ("interrupted", None) if data.get("interrupts") else ("completed", None)


def _status_from_exception(err: BaseException) -> tuple[SubgraphStatus, str | None]:
    """What became of a graph that was open when its run ended by an exception."""
    from stepgraph.errors import GraphDrained, GraphInterrupt

    if isinstance(err, GraphDrained):
        return "drained", None
    if isinstance(err, GraphInterrupt):
        return "interrupted", None
    return "failed", str(err)
