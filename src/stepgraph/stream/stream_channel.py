"""A channel from a transformer to whoever reads a projection: items in, an iterator out.

Theory of operation. A run goes on only when somebody asks for more. An iterator whose buffer is empty asks the run for its
next event, and looks again. What is pushed while nobody has subscribed is dropped, so a projection that nobody reads costs
nothing. A channel has one subscriber; `tee` and `atee` give several, each with a buffer of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ("StreamChannel",)

T = TypeVar("T")


class StreamChannel(Generic[T]):
    """Items of one projection.

    Args:
        name: Items also go into the stream itself, under this name.
        maxlen: How many items should at most wait to be read. A reader is never robbed of one: the run produces only when
            it is asked.

    Raises:
        ValueError: `maxlen` is not positive.
    """

    def __init__(self, name: str | None = None, *, maxlen: int | None = None) -> None:
        if maxlen is not None and maxlen < 1:
            raise ValueError("StreamChannel maxlen must be a positive int or None")
        self.name = name
        self.maxlen = maxlen
        self._buffers: list[deque[T]] = []
        self._closed = False
        self._error: BaseException | None = None
        self._is_async: bool | None = None
        self._mux: Any = None
        self._forward: Callable[[T], None] | None = None

    def _bind(self, mux: Any, is_async: bool, forward: Callable[[T], None] | None) -> None:
        """Connect it to the run."""
        self._mux, self._is_async, self._forward = mux, is_async, forward

    # ---- writing

    def push(self, item: T) -> None:
        """Give an item to who reads.

        Raises:
            RuntimeError: The stream has ended, and somebody reads it.
        """
        if self._forward is not None:
            self._forward(item)
        if self._buffers and self._closed:
            raise RuntimeError("Cannot push to a closed StreamChannel")
        for buffer in self._buffers:
            buffer.append(item)

    def close(self) -> None:
        """Nothing more will come."""
        self._closed = True

    def fail(self, err: BaseException) -> None:
        """Nothing more will come, because of an error; readers get it after the last item."""
        if not self._closed:
            self._error, self._closed = err, True

    # ---- reading

    def __iter__(self) -> Iterator[T]:
        return self._read(self._subscribe(False, 1)[0])

    def __aiter__(self) -> AsyncIterator[T]:
        return self._aread(self._subscribe(True, 1)[0])

    def tee(self, n: int = 2) -> tuple[Iterator[T], ...]:
        """Several iterators over the same items; each may read at its own pace."""
        return tuple(self._read(buffer) for buffer in self._subscribe(False, n))

    def atee(self, n: int = 2) -> tuple[AsyncIterator[T], ...]:
        """The same in an asynchronous run."""
        return tuple(self._aread(buffer) for buffer in self._subscribe(True, n))

    def _subscribe(self, asynchronously: bool, count: int, label: str | None = None) -> list[deque[T]]:
        if self._is_async is None:
            raise TypeError(
                "StreamChannel has not been bound yet. Register the transformer with a StreamMux first."
            )
        if self._is_async and not asynchronously:
            raise TypeError("This StreamChannel is bound to async mode — use 'async for' instead.")
        if asynchronously and not self._is_async:
            raise TypeError("This StreamChannel is bound to sync mode — use 'for' instead.")
        if self._buffers:
            known = label or self.name
            name = f" {known!r}" if known else ""
            raise RuntimeError(
                f"StreamChannel{name} already has a subscriber; use .{'atee' if asynchronously else 'tee'}(n) for fan-out."
            )
        self._buffers = [deque() for _ in range(count)]
        return self._buffers

    def _read(self, buffer: deque[T]) -> Iterator[T]:
        while True:
            while buffer:
                yield buffer.popleft()
            if self._closed or not self._mux.request_more():
                if buffer:
                    continue
                break
        if self._error is not None:
            raise self._error

    async def _aread(self, buffer: deque[T]) -> AsyncIterator[T]:
        more: Callable[[Callable[[], bool]], Awaitable[bool]] = self._mux.arequest_more
        while True:
            while buffer:
                yield buffer.popleft()
            if self._closed or not await more(lambda: bool(buffer) or self._closed):
                if buffer:
                    continue
                break
        if self._error is not None:
            raise self._error
