"""The mux: every event of a run passes through it, to the transformers and then to who reads the stream itself.

Theory of operation. An event is given to all transformers in turn (those that want to be first, the built-in ones, the
person's). It is shown if all of them say so, and gets its number then. What a transformer pushes into a named channel
becomes an event of its own, shown before the one it was made of. A nested graph has a mux of its own, made by the same
factories, which is fed by the one above; whoever reads anything at any level turns the root run's crank.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from time import time
from typing import Any, TypeAlias

from stepgraph.stream._types import ProtocolEvent, StreamTransformer, transformer_requires_async
from stepgraph.stream.stream_channel import StreamChannel

__all__ = ("StreamMux", "TransformerFactory")

TransformerFactory: TypeAlias = Callable[[tuple[str, ...]], StreamTransformer]
"""Makes a transformer for a scope; a transformer class is one."""


class StreamMux:
    """The transformers of one graph at one level, their projections, and the events that are shown.

    Args:
        transformers: Transformers that are made already.
        is_async: Whether the run is asynchronous.
        factories: What makes the other transformers, here and in the muxes of nested graphs.
        scope: The namespace of the graph.

    Raises:
        RuntimeError: A transformer needs an asynchronous run, and this one is not.
        TypeError: `init()` of a transformer answers no dict.
        ValueError: Two transformers have a projection of the same name.
    """

    def __init__(
        self,
        transformers: list[StreamTransformer] | None = None,
        *,
        is_async: bool = False,
        factories: Sequence[TransformerFactory] | None = None,
        scope: tuple[str, ...] = (),
        _assign_seq: bool = True,
    ) -> None:
        self.scope = scope
        self.is_async = is_async
        self.extensions: dict[str, Any] = {}
        self.native: set[str] = set()
        self.closed = False
        self.error: BaseException | None = None
        self._factories = list(factories or ())
        self._numbers = count(1) if _assign_seq else None
        self._above: StreamMux | None = None
        self._pump: Callable[[], bool] | None = None
        self._apump: Callable[[Callable[[], bool]], Awaitable[bool]] | None = None
        self._channels: list[StreamChannel[Any]] = []
        self._owners: dict[str, str] = {}
        self._events: StreamChannel[ProtocolEvent] = StreamChannel()
        self._events._bind(self, is_async, None)
        made = [*(transformers or ()), *[factory(scope) for factory in self._factories]]
        for transformer in made:
            self._register(transformer)
        self._transformers = sorted(made, key=lambda transformer: not transformer.before_builtins)

    # ---- setting up

    def _register(self, transformer: StreamTransformer) -> None:
        name = type(transformer).__name__
        if not self.is_async and transformer_requires_async(transformer):
            raise RuntimeError(
                f"{name} requires an async run — it overrides aprocess/afinalize/afail or sets requires_async=True. Use "
                "astream_events(), not stream_events()."
            )
        projection = transformer.init()
        if not isinstance(projection, dict):
            raise TypeError(f"StreamTransformer.init() must return a dict, got {type(projection).__name__}")
        taken = [key for key in projection if key in self.extensions]
        if taken:
            owned = ", ".join(f"{key!r} (owned by {self._owners[key]})" for key in taken)
            raise ValueError(
                f"Transformer {name} returned projection keys that conflict with already-registered keys: {owned}"
            )
        for key, value in projection.items():
            self.extensions[key] = value
            self._owners[key] = name
            if transformer._native:
                self.native.add(key)
            if isinstance(value, StreamChannel):
                self._bind_channel(value, transformer._native)
        transformer._on_register(self)

    def _bind_channel(self, channel: StreamChannel[Any], native: bool) -> None:
        forward = None
        if channel.name is not None:
            method = channel.name if native else f"custom:{channel.name}"

            def forward(item: Any) -> None:
                self._show(made_event(method, self.scope, item))

        channel._bind(self, self.is_async, forward)
        self._channels.append(channel)

    def child(self, scope: tuple[str, ...]) -> StreamMux:
        """The mux of a nested graph."""
        child = StreamMux(is_async=self.is_async, factories=self._factories, scope=scope, _assign_seq=False)
        child._above = self
        return child

    def bind_pump(self, fn: Callable[[], bool]) -> None:
        """`fn` makes the run produce one more event; it answers False when there is none."""
        self._pump = fn

    def bind_apump(self, fn: Callable[[Callable[[], bool]], Awaitable[bool]]) -> None:
        """The same in an asynchronous run; its argument tells whether the event is still wanted."""
        self._apump = fn

    def request_more(self) -> bool:
        """Make the run produce one more event; False when there is none."""
        if self._above is not None:
            return self._above.request_more()
        return self._pump is not None and self._pump()

    async def arequest_more(self, ready: Callable[[], bool]) -> bool:
        """The same in an asynchronous run, unless `ready` says that it is not wanted any more."""
        if self._above is not None:
            return await self._above.arequest_more(ready)
        return self._apump is not None and await self._apump(ready)

    # ---- events

    def push(self, event: ProtocolEvent) -> None:
        """An event of the run."""
        shown = True
        for transformer in self._transformers:
            shown = bool(transformer.process(event)) and shown
        if shown:
            self._show(event)

    async def apush(self, event: ProtocolEvent) -> None:
        """The same in an asynchronous run."""
        shown = True
        for transformer in self._transformers:
            shown = bool(await transformer.aprocess(event)) and shown
        if shown:
            self._show(event)

    def _show(self, event: ProtocolEvent) -> None:
        if self._numbers is not None:
            event["seq"] = next(self._numbers)
        self._events.push(event)

    # ---- the end

    def close(self) -> None:
        """The run has ended."""
        if not self.closed:
            for transformer in self._transformers:
                transformer.finalize()
            self._close()

    async def aclose(self) -> None:
        """The same in an asynchronous run; waits for what transformers have scheduled."""
        if not self.closed:
            for transformer in self._transformers:
                await transformer.afinalize()
            for transformer in self._transformers:
                await transformer._settle_scheduled()
            self._close()

    def _close(self) -> None:
        self.closed = True
        for channel in (*self._channels, self._events):
            channel.close()

    def fail(self, err: BaseException) -> None:
        """The run has failed."""
        if not self.closed:
            for transformer in self._transformers:
                transformer.fail(err)
            self._fail(err)

    async def afail(self, err: BaseException) -> None:
        """The same in an asynchronous run."""
        if not self.closed:
            for transformer in self._transformers:
                transformer._drop_scheduled()
                await transformer.afail(err)
            self._fail(err)

    def _fail(self, err: BaseException) -> None:
        self.closed, self.error = True, err
        for channel in (*self._channels, self._events):
            channel.fail(err)


def made_event(
    method: str, namespace: Sequence[str], data: Any, interrupts: tuple[Any, ...] | None = None
) -> ProtocolEvent:
    """An event that happens now."""
    event: ProtocolEvent = {
        "type": "event",
        "method": method,
        "params": {"namespace": list(namespace), "timestamp": int(time() * 1000), "data": data},
    }
    if interrupts is not None:
        event["params"]["interrupts"] = interrupts
    return event
