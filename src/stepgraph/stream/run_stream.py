"""What `stream_events(version="v3")` answers: a run that goes on while somebody reads it.

Theory of operation. Nothing runs by itself. Reading the run's events, a projection, a message, a nested graph's stream or
the output makes the run produce one event after the other until what was asked for is there. In an asynchronous run several
tasks may read at once: one of them turns the crank, the others wait for what it brings; a reader that is cancelled does not
take the run with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

from stepgraph.stream._mux import StreamMux, made_event
from stepgraph.stream._types import ProtocolEvent

if TYPE_CHECKING:
    import asyncio

    from stepgraph.stream.lifecycle import LifecyclePayload, SubgraphStatus
    from stepgraph.stream.stream_channel import StreamChannel

__all__ = ("AsyncGraphRunStream", "AsyncSubgraphRunStream", "GraphRunStream", "SubgraphRunStream")


def event_of(part: dict[str, Any]) -> ProtocolEvent | None:
    """The event of a stream part; None for results of tools, which are no chat messages of their own."""
    data = part["data"]
    if part["type"] == "messages":
        message = data[0]
        kind = message.get("role") if isinstance(message, dict) else getattr(message, "type", None)
        if kind == "tool":
            return None
    return made_event(part["type"], part["ns"], data, part.get("interrupts"))


class _RunStream:
    """What synchronous and asynchronous runs have in common: their projections, and what is known of the output."""

    values: StreamChannel[Any]
    messages: StreamChannel[Any]
    lifecycle: StreamChannel[LifecyclePayload]
    subgraphs: StreamChannel[Any]
    updates: StreamChannel[Any]
    custom: StreamChannel[Any]
    tasks: StreamChannel[Any]
    checkpoints: StreamChannel[Any]
    debug: StreamChannel[Any]

    def __init__(self, mux: StreamMux) -> None:
        self._mux = mux
        self._place = list(mux.scope)
        self._latest: Any = None
        self._interrupts: list[Any] = []

    @property
    def extensions(self) -> Mapping[str, Any]:
        """All projections by name: the built-in ones and those of transformers."""
        return MappingProxyType(self._mux.extensions)

    def __getattr__(self, name: str) -> Any:
        """A projection of a built-in transformer."""
        mux = self.__dict__.get("_mux")
        if mux is not None and name in mux.native:
            return mux.extensions[name]
        known = ", ".join(sorted(mux.native)) if mux is not None else ""
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r} (registered projections: {known})"
        )

    def _observe_event(self, event: ProtocolEvent) -> None:
        """Keep what `output` and `interrupts` answer."""
        if event["method"] == "values" and event["params"]["namespace"] == self._place:
            self._latest = event["params"]["data"]
            for interrupt in event["params"].get("interrupts", ()):
                if interrupt not in self._interrupts:
                    self._interrupts.append(interrupt)


class GraphRunStream(_RunStream):
    """A synchronous run: iterate it for its events, or read its projections.

    Made by `graph.stream_events(input, version="v3")`. Use it in a `with` block, or call `abort()`, if it may not be read to
    its end.

    Args:
        graph_iter: The run's stream parts (of version 2); None for a nested graph.
        mux: The transformers.
        wire_pump: Whether reading a projection makes this run go on.

    Attributes:
        values: States after each step.
        messages: A stream for each message.
        lifecycle: Beginnings and ends of nested graphs.
        subgraphs: A `SubgraphRunStream` for each graph that this one runs.
        extensions: All projections by name.

    Example:
        >>> from stepgraph import START, StateGraph
        >>> from typing import TypedDict
        >>> State = TypedDict("State", {"n": int})
        >>> graph = StateGraph(State).add_node("add", lambda state: {"n": state["n"] + 1}).add_edge(START, "add").compile()
        >>> run = graph.stream_events({"n": 1}, version="v3")
        >>> [state["n"] for state in run.values], run.output
        ([1, 2], {'n': 2})
    """

    def __init__(self, graph_iter: Iterator[Any] | None, mux: StreamMux, *, wire_pump: bool = True) -> None:
        super().__init__(mux)
        self._graph_iter = graph_iter
        if wire_pump and graph_iter is not None:
            mux.bind_pump(self._pump_next)

    def _pump_next(self) -> bool:
        """Let the run produce one event; False when it has ended or failed."""
        mux, parts = self._mux, self._graph_iter
        if mux.closed or parts is None:
            return False
        try:
            event = event_of(next(parts))
            if event is not None:
                self._observe_event(event)
                mux.push(event)
        except StopIteration:
            mux.close()
            return False
        except Exception as error:
            mux.fail(error)
            self._close_run()
            return False
        except BaseException as error:
            mux.fail(error)
            self._close_run()
            raise
        return True

    def _close_run(self) -> None:
        close = getattr(self._graph_iter, "close", None)
        if close is not None:
            close()

    def __iter__(self) -> Iterator[ProtocolEvent]:
        """The run's events, those of nested graphs among them.

        Raises:
            RuntimeError: The events are being read already.
            Exception: What the run failed with, after its last event.
        """
        return iter(self._mux._events)

    def interleave(self, *names: str) -> Iterator[tuple[str, Any]]:
        """Several projections as one stream of (name, item), in the order in which items come.

        Raises:
            KeyError: There is no such projection.
        """
        buffers = {name: self.extensions[name]._subscribe(False, 1, name)[0] for name in names}
        while buffers:
            for name, buffer in buffers.items():
                while buffer:
                    yield name, buffer.popleft()
            if not self._mux.request_more() and not any(buffers.values()):
                break
        if self._mux.error is not None:
            raise self._mux.error

    def _drain(self) -> None:
        while not self._mux.closed and self._mux.request_more():
            pass
        if self._mux.error is not None:
            raise self._mux.error

    @property
    def output(self) -> Any:
        """The final state, once the run has ended; None if there was none.

        Raises:
            Exception: What the run failed with.
        """
        self._drain()
        return self._latest

    @property
    def interrupted(self) -> bool:
        """Whether the run has paused with a question; waits for its end."""
        self._drain()
        return bool(self._interrupts)

    @property
    def interrupts(self) -> list[Any]:
        """The questions that wait for an answer; waits for the run's end."""
        self._drain()
        return list(self._interrupts)

    def abort(self) -> None:
        """Stop the run; what it finished is kept, readers find the end."""
        if not self._mux.closed:
            self._close_run()
            self._mux.close()

    def __enter__(self) -> GraphRunStream:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.abort()


class AsyncGraphRunStream(_RunStream):
    """An asynchronous run: as `GraphRunStream`, with `async for` and `await`.

    Made by `await graph.astream_events(input, version="v3")`.

    Args:
        graph_aiter: The run's stream parts (of version 2); None for a nested graph.
        mux: The transformers.
        wire_pump: Whether reading a projection makes this run go on.
    """

    def __init__(
        self, graph_aiter: AsyncIterator[Any] | None, mux: StreamMux, *, wire_pump: bool = True
    ) -> None:
        super().__init__(mux)
        self._graph_aiter = graph_aiter
        self._next: asyncio.Task[Any] | None = None
        self._turn: asyncio.Lock | None = None
        self._aborting = False
        if wire_pump and graph_aiter is not None:
            mux.bind_apump(self._apump_next)

    async def _apump_next(self, ready: Callable[[], bool]) -> bool:
        """Let the run produce one event, unless another reader has brought what is wanted meanwhile."""
        if self._turn is None:
            from asyncio import Lock

            self._turn = Lock()
        async with self._turn:
            if ready():
                return True
            return await self._produce()

    async def _produce(self) -> bool:
        from asyncio import CancelledError, ensure_future, shield

        mux, parts = self._mux, self._graph_aiter
        if mux.closed or parts is None:
            return False
        if self._next is None:
            self._next = ensure_future(_following(parts))
        try:
            found = await shield(self._next)
            self._next = None
            if found is None:
                await mux.aclose()
                return False
            event = event_of(found)
            if event is not None:
                self._observe_event(event)
                await mux.apush(event)
        except CancelledError:
            if self._aborting:
                return False
            raise
        except Exception as error:
            self._next = None
            await mux.afail(error)
            await self._close_run()
            return False
        return True

    async def _close_run(self) -> None:
        if self._next is not None:
            from asyncio import gather

            self._next.cancel()
            await gather(self._next, return_exceptions=True)
            self._next = None
        close = getattr(self._graph_aiter, "aclose", None)
        if close is not None:
            await close()

    def __aiter__(self) -> AsyncIterator[ProtocolEvent]:
        """The run's events, those of nested graphs among them."""
        return self._mux._events.__aiter__()

    async def _drain(self) -> None:
        more: Callable[[Callable[[], bool]], Awaitable[bool]] = self._mux.arequest_more
        while not self._mux.closed and await more(lambda: self._mux.closed):
            pass
        if self._mux.error is not None:
            raise self._mux.error

    async def output(self) -> Any:
        """The final state, once the run has ended; None if there was none.

        Raises:
            Exception: What the run failed with.
        """
        await self._drain()
        return self._latest

    async def interrupted(self) -> bool:
        """Whether the run has paused with a question; waits for its end."""
        await self._drain()
        return bool(self._interrupts)

    async def interrupts(self) -> list[Any]:
        """The questions that wait for an answer; waits for the run's end."""
        await self._drain()
        return list(self._interrupts)

    async def abort(self) -> None:
        """Stop the run; what it finished is kept, readers find the end."""
        if not self._mux.closed:
            self._aborting = True
            await self._close_run()
            await self._mux.aclose()

    async def __aenter__(self) -> AsyncGraphRunStream:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.abort()


async def _following(parts: AsyncIterator[Any]) -> Any:
    """The next part; None at the end."""
    async for part in parts:
        return part
    return None


class _SubgraphRunStreamMixin:
    """What is known of a nested graph beside its projections."""

    path: tuple[str, ...]
    graph_name: str | None
    trigger_call_id: str | None
    status: SubgraphStatus
    error: str | None

    def _describe(self, path: tuple[str, ...], graph_name: str | None, trigger_call_id: str | None) -> None:
        self.path, self.graph_name, self.trigger_call_id = path, graph_name, trigger_call_id
        self.status, self.error = "started", None


class SubgraphRunStream(GraphRunStream, _SubgraphRunStreamMixin):
    """A nested graph's run. Reading it makes the root run go on; `abort()` lets go of it, and does not stop it.

    Args:
        mux: The transformers of this level.
        path: Its namespace.
        graph_name: The node that runs it.
        trigger_call_id: The task that runs it.

    Attributes:
        status: `"started"`, or what became of it.
        error: What it failed with, as text.
    """

    def __init__(
        self,
        mux: StreamMux,
        *,
        path: tuple[str, ...],
        graph_name: str | None = None,
        trigger_call_id: str | None = None,
    ) -> None:
        super().__init__(None, mux)
        self._describe(path, graph_name, trigger_call_id)


class AsyncSubgraphRunStream(AsyncGraphRunStream, _SubgraphRunStreamMixin):
    """The same in an asynchronous run."""

    def __init__(
        self,
        mux: StreamMux,
        *,
        path: tuple[str, ...],
        graph_name: str | None = None,
        trigger_call_id: str | None = None,
    ) -> None:
        super().__init__(None, mux)
        self._describe(path, graph_name, trigger_call_id)
