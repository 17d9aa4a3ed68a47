"""The events of `stream_events(version="v3")`, and the base of what turns them into projections.

A transformer belongs to one graph at one level (its `scope`): it sees every event of that graph and of those below it, keeps
what it wants in `StreamChannel`s of its own, and says of each event whether the stream shows it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NotRequired

from typing_extensions import TypedDict

if TYPE_CHECKING:
    import asyncio

__all__ = ("ProtocolEvent", "StreamTransformer", "transformer_requires_async")


class _ProtocolEventParams(TypedDict):
    """What happened, where and when."""

    namespace: list[str]
    timestamp: int
    data: Any
    interrupts: NotRequired[tuple[Any, ...]]


class ProtocolEvent(TypedDict):
    """One event.

    Attributes:
        type: Always `"event"`.
        event_id: An id, where whoever passes events on gives them one.
        seq: Its number in the stream, from 1; set when it is shown.
        method: The mode it belongs to, `lifecycle`, or `custom:<name>` for what a named channel was given.
        params: Namespace, time in milliseconds, data; `interrupts` too where the method is `values`.
    """

    type: Literal["event"]
    event_id: NotRequired[str]
    seq: NotRequired[int]
    method: str
    params: _ProtocolEventParams


class StreamTransformer(ABC):
    """Makes projections of a run's events.

    Derive from it and pass the class (or a function that takes the scope) as `transformers=` to `compile` or
    `stream_events`. What `init` returns appears in `run.extensions`; a `StreamChannel` among it that has a name also puts what
    it is given into the stream, as `custom:<name>`.

    Attributes:
        before_builtins: Process events before the built-in transformers do.
        required_stream_modes: Modes that the run must produce for this transformer.
        requires_async: Only asynchronous runs can use it.
        supports_sync: It overrides asynchronous methods, and works in synchronous runs nevertheless.

    Args:
        scope: The namespace of the graph it belongs to; `()` for the root.

    Example:
        >>> class CountUpdates(StreamTransformer):
        ...     required_stream_modes = ("updates",)
        ...     def init(self):
        ...         self.count, self.channel = 0, StreamChannel()
        ...         return {"update_count": self.channel}
        ...     def process(self, event):
        ...         if event["method"] == "updates":
        ...             self.count += 1
        ...             self.channel.push(self.count)
        ...         return True
    """

    before_builtins: ClassVar[bool] = False
    required_stream_modes: ClassVar[tuple[str, ...]] = ()
    requires_async: ClassVar[bool] = False
    supports_sync: ClassVar[bool] = False
    _native: ClassVar[bool] = False
    _scheduled: dict[asyncio.Task[Any], str] | None = None

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        self.scope = scope

    @abstractmethod
    def init(self) -> dict[str, Any]:
        """The projections, by name; called once, before the first event."""

    def process(self, event: ProtocolEvent) -> bool:
        """Take an event in; answers whether the stream shows it.

        Raises:
            NotImplementedError: Neither this nor `aprocess` is overridden.
        """
        raise NotImplementedError(f"{type(self).__name__} must override process() or aprocess()")

    async def aprocess(self, event: ProtocolEvent) -> bool:
        """The same in an asynchronous run."""
        return self.process(event)

    def finalize(self) -> None:  # noqa: B027 - what a transformer may leave out
        """The run has ended; channels still take items."""

    async def afinalize(self) -> None:
        """The same in an asynchronous run."""
        self.finalize()

    def fail(self, err: BaseException) -> None:  # noqa: B027
        """The run has failed."""

    async def afail(self, err: BaseException) -> None:
        """The same in an asynchronous run."""
        self.fail(err)

    def schedule(
        self, coro: Coroutine[Any, Any, Any], *, on_error: Literal["log", "raise"] = "log"
    ) -> asyncio.Task[Any]:
        """Run a coroutine beside the stream; the stream ends when it has ended.

        Args:
            coro: The coroutine.
            on_error: `"log"` writes its failure to the log, `"raise"` lets the stream fail with it.

        Raises:
            RuntimeError: No event loop is running here.
        """
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            coro.close()
            raise RuntimeError(
                f"{type(self).__name__}.schedule() needs an event loop. Set requires_async = True on the class, and use "
                "astream_events()."
            ) from None
        task = loop.create_task(coro)
        if self._scheduled is None:
            self._scheduled = {}
        self._scheduled[task] = on_error
        return task

    async def _settle_scheduled(self) -> None:
        """Wait for what was scheduled; raises the first failure that is to be raised."""
        failed: BaseException | None = None
        while self._scheduled:
            task, on_error = self._scheduled.popitem()
            try:
                await task
            except Exception as error:
                if on_error == "raise":
                    failed = failed or error
                else:
                    _log_failure(self, error)
        if failed is not None:
            raise failed

    def _drop_scheduled(self) -> None:
        """Cancel what was scheduled: the run has failed."""
        while self._scheduled:
            task, _ = self._scheduled.popitem()
            task.cancel()

    def _on_register(self, mux: Any) -> None:  # noqa: B027
        """The transformer was put into a mux."""


def _log_failure(transformer: StreamTransformer, error: Exception) -> None:
    import logging

    logging.getLogger("stepgraph.stream").error(
        "A coroutine that %s scheduled has failed", type(transformer).__name__, exc_info=error
    )


def transformer_requires_async(transformer: StreamTransformer) -> bool:
    """Whether a transformer works in asynchronous runs only."""
    kind = type(transformer)
    if kind.requires_async:
        return True
    if kind.supports_sync:
        return False
    return any(
        getattr(kind, name) is not getattr(StreamTransformer, name)
        for name in ("aprocess", "afinalize", "afail")
    )
