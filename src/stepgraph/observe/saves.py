"""Spans for what is stored: a recorder's saver, with a span around each of its calls that store something.

A saver that never waits is called step by step: its spans are children of the superstep. One that does I/O gets batches,
later and on another thread: those spans are children of the run, and say how much was in the batch.

Rules of this file: only a recorder sees these savers; whatever they do not time passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from stepgraph.checkpoint.changes import StepChanges

Begin = Callable[[str | None, dict[str, Any]], "Span"]
End = Callable[[str | None, "Span", BaseException | None], None]


class TimedSaver:
    """A saver with spans.

    Args:
        saver: The saver itself.
        begin: Starts a span for a namespace, or for the whole run where that is None.
        end: Ends it.
    """

    def __init__(self, saver: Any, begin: Begin, end: End) -> None:
        self._saver = saver
        self._begin = begin
        self._end = end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._saver, name)

    @contextmanager
    def _span(self, namespace: str | None, attributes: dict[str, Any]) -> Iterator[None]:
        span = self._begin(namespace, {"stepgraph.saver": type(self._saver).__name__, **attributes})
        try:
            yield
        except BaseException as error:
            self._end(namespace, span, error)
            raise
        self._end(namespace, span, None)

    def put_step(self, config: Mapping[str, Any], changes: StepChanges, metadata: Mapping[str, Any]) -> None:
        with self._span(_namespace(config), _checkpoint(changes.id)):
            self._saver.put_step(config, changes, metadata)

    def put_writes(self, config: Mapping[str, Any], writes: Any, task_id: str, task_path: str = "") -> None:
        with self._span(_namespace(config), _writes(task_id)):
            self._saver.put_writes(config, writes, task_id, task_path)

    def put(self, config: Mapping[str, Any], checkpoint: Any, *more: Any) -> Any:
        with self._span(_namespace(config), _checkpoint(checkpoint["id"])):
            return self._saver.put(config, checkpoint, *more)

    def store(self, batch: Sequence[Any], *, durable: bool) -> None:
        with self._span(None, _batch(batch)):
            self._saver.store(batch, durable=durable)

    async def aput_writes(
        self, config: Mapping[str, Any], writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        with self._span(_namespace(config), _writes(task_id)):
            await self._saver.aput_writes(config, writes, task_id, task_path)

    async def aput(self, config: Mapping[str, Any], checkpoint: Any, *more: Any) -> Any:
        with self._span(_namespace(config), _checkpoint(checkpoint["id"])):
            return await self._saver.aput(config, checkpoint, *more)

    async def astore(self, batch: Sequence[Any], *, durable: bool) -> None:
        with self._span(None, _batch(batch)):
            await self._saver.astore(batch, durable=durable)


def _namespace(config: Mapping[str, Any]) -> str:
    return str(config["configurable"].get("checkpoint_ns") or "")


def _checkpoint(checkpoint_id: str) -> dict[str, Any]:
    return {"stepgraph.saved": "checkpoint", "stepgraph.checkpoint_id": checkpoint_id}


def _writes(task_id: str) -> dict[str, Any]:
    return {"stepgraph.saved": "writes", "stepgraph.task_id": task_id}


def _batch(batch: Sequence[Any]) -> dict[str, Any]:
    size = sum(getattr(encoded, "size", 0) for encoded in batch)
    return {"stepgraph.saved": "batch", "stepgraph.batch.size": len(batch), "stepgraph.batch.bytes": size}
