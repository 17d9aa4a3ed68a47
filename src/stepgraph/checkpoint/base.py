"""The protocol that every saver follows, and the wire form of a checkpoint.

A saver keeps, for each thread and each level of nesting (the checkpoint namespace), a history of checkpoints, and for
each checkpoint the writes of tasks that finished against it but are not folded into a checkpoint yet. Where a
checkpoint is said in a config: `{"configurable": {"thread_id", "checkpoint_ns", "checkpoint_id"}}`.

Rules of this file: names here are the field's standard and never change. The wire form itself is defined in `forms`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from stepgraph.checkpoint.forms import (
    EXCLUDED_METADATA_KEYS,
    LATEST_VERSION,
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    OpenHistory,
    PendingWrite,
    RunnableConfig,
    copy_checkpoint,
    create_checkpoint,
    empty_checkpoint,
    get_checkpoint_id,
    get_checkpoint_metadata,
    get_serializable_checkpoint_metadata,
)
from stepgraph.checkpoint.ids import next_checkpoint_id
from stepgraph.errors import EmptyChannelError

if TYPE_CHECKING:
    from typing import Self

    from stepgraph.checkpoint.serde.base import SerializerProtocol

__all__ = (
    "EXCLUDED_METADATA_KEYS",
    "LATEST_VERSION",
    "WRITES_IDX_MAP",
    "BaseCheckpointSaver",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "DeltaChannelHistory",
    "EmptyChannelError",
    "PendingWrite",
    "copy_checkpoint",
    "create_checkpoint",
    "empty_checkpoint",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
    "get_serializable_checkpoint_metadata",
)

V = TypeVar("V", int, float, str)


class _DefaultSerializer:
    """The serializer of savers that never called `BaseCheckpointSaver.__init__`; made when it is first asked for."""

    _made: SerializerProtocol | None = None

    def __get__(self, saver: object, owner: type) -> SerializerProtocol:
        if self._made is None:
            from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

            _DefaultSerializer._made = JsonPlusSerializer()
        assert self._made is not None
        return self._made


class BaseCheckpointSaver(Generic[V]):
    """Base of all savers. A saver defines at least `get_tuple`, `list`, `put`, `put_writes` and `delete_thread`.

    The `a...` twins call the plain methods in a worker thread unless a saver defines them itself.

    Args:
        serde: Turns values into bytes and back; by default `JsonPlusSerializer()`.
    """

    serde: SerializerProtocol = _DefaultSerializer()  # type: ignore[assignment]

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        from stepgraph.checkpoint.serde.base import maybe_add_typed_methods
        from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

        self.serde = maybe_add_typed_methods(serde) if serde is not None else JsonPlusSerializer()

    @property
    def config_specs(self) -> Sequence[Any]:
        """What may be configured a run; nothing by default."""
        return []

    # ---- reading

    def get(self, config: RunnableConfig) -> Checkpoint | None:
        """The checkpoint that a config names, or the newest of its thread and namespace; `None` if there is none."""
        found = self.get_tuple(config)
        return found.checkpoint if found else None

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Like `get`, with all that belongs to the checkpoint."""
        raise self._not_defined("get_tuple")

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first.

        Args:
            config: Which thread; which namespace (all of them if it names none); which checkpoint. `None`: all threads.
            filter: Only checkpoints whose metadata has these keys with these values.
            before: Only checkpoints older than the one this config names.
            limit: At most so many.
        """
        raise self._not_defined("list")

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What channels were written on the way to a checkpoint, back to the last ancestor that holds their value.

        Args:
            config: Names the checkpoint, or the newest.
            channels: The channels.

        Returns:
            For each channel the writes, oldest first, and the value before them (`seed`), if it held one.
        """
        found = self.get_tuple(config)
        history = OpenHistory(channels)
        while history and found is not None and found.parent_config is not None:
            found = self.get_tuple(found.parent_config)
            if found is not None:
                history.take(found)
        return history.result()

    # ---- writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> dict[str, Any]:
        """Store a checkpoint.

        Args:
            config: Names thread and namespace; its `checkpoint_id`, if any, is the parent.
            checkpoint: The checkpoint, complete.
            metadata: Its metadata.
            new_versions: The channels whose version is new since the parent.

        Returns:
            The config that names the stored checkpoint.
        """
        raise self._not_defined("put")

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote against a checkpoint, before a later checkpoint folds it.

        A write that the task already has is kept as it is; those of `WRITES_IDX_MAP` are replaced.

        Args:
            config: Names the checkpoint.
            writes: Channel and value, in order.
            task_id: The task.
            task_path: Where the task stands among those of its superstep.
        """
        raise self._not_defined("put_writes")

    # ---- keeping house

    def delete_thread(self, thread_id: str) -> None:
        """Delete all that a thread stored, at every level."""
        raise self._not_defined("delete_thread")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made. Those that other runs made stay readable."""
        raise self._not_defined("delete_for_runs")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another one."""
        raise self._not_defined("copy_thread")

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete old checkpoints of threads.

        Args:
            thread_ids: The threads.
            strategy: `"keep_latest"` keeps the newest checkpoint of each namespace; `"delete"` keeps nothing.
        """
        raise self._not_defined("prune")

    # ---- versions and types

    def get_next_version(self, current: V | None, channel: None) -> V:
        """The version that follows another. Override it to number channels your own way.

        Args:
            current: The highest version in use; `None` if there is none.
            channel: Not used; always `None`.

        Returns:
            A greater version: one more than a number, a new time-ordered id after a text.
        """
        if isinstance(current, str):
            return next_checkpoint_id()
        return 1 if current is None else current + 1  # type: ignore[return-value]

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[V]:
        """The same saver over the same data, that also restores the classes named here.

        Args:
            extra_allowlist: Module and name of each class.
        """
        widen = getattr(self.serde, "with_msgpack_allowlist", None)
        return self if widen is None else self._with_serde(widen(extra_allowlist))

    def as_strict(self, extra_allowlist: Collection[tuple[str, ...]] = ()) -> BaseCheckpointSaver[V]:
        """The same saver over the same data, that restores no classes but those that its serializer allows and these.

        Args:
            extra_allowlist: Module and name of each class.

        Raises:
            TypeError: The serializer cannot be strict.
        """
        if not hasattr(self.serde, "as_strict"):
            raise TypeError(
                f"strict_serde=True needs a serializer that can be strict, and {type(self).__name__} has a "
                f"{type(self.serde).__name__}, which has no as_strict(). Use JsonPlusSerializer (also inside an "
                "EncryptedSerializer), or leave strict_serde out."
            )
        return self._with_serde(self.serde.as_strict(extra_allowlist))

    def _with_serde(self, serde: SerializerProtocol) -> Self:
        """The same saver over the same data, with another serializer."""
        twin = copy(self)
        twin.serde = serde
        return twin

    def _not_defined(self, method: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} does not define {method}(). Define it, or use a saver that has it"
            " (InMemorySaver, SqliteSaver, AsyncSqliteSaver)."
        )

    # ---- the same for async callers

    async def aget(self, config: RunnableConfig) -> Checkpoint | None:
        """Async twin of `get`."""
        found = await self.aget_tuple(config)
        return found.checkpoint if found else None

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async twin of `get_tuple`."""
        found: CheckpointTuple | None = await self._in_thread("get_tuple", config)
        return found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async twin of `list`. Fetches in pages, so an early end costs little."""

        def pages() -> Iterator[list_[CheckpointTuple]]:
            yield from _in_pages(self.list(config, filter=filter, before=before, limit=limit))

        if type(self).list is BaseCheckpointSaver.list:
            raise self._not_defined("alist")
        source = pages()
        while page := await _run_in_thread(next, source, ()):
            for found in page:
                yield found

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Async twin of `get_delta_channel_history`."""
        found = await self.aget_tuple(config)
        history = OpenHistory(channels)
        while history and found is not None and found.parent_config is not None:
            found = await self.aget_tuple(found.parent_config)
            if found is not None:
                history.take(found)
        return history.result()

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> dict[str, Any]:
        """Async twin of `put`."""
        stored: dict[str, Any] = await self._in_thread("put", config, checkpoint, metadata, new_versions)
        return stored

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Async twin of `put_writes`."""
        await self._in_thread("put_writes", config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Async twin of `delete_thread`."""
        await self._in_thread("delete_thread", thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async twin of `delete_for_runs`."""
        await self._in_thread("delete_for_runs", run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async twin of `copy_thread`."""
        await self._in_thread("copy_thread", source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Async twin of `prune`."""
        await self._in_thread("prune", thread_ids, strategy=strategy)

    async def _in_thread(self, method: str, *args: Any, **options: Any) -> Any:
        if getattr(type(self), method) is getattr(BaseCheckpointSaver, method):
            raise self._not_defined("a" + method)
        return await _run_in_thread(getattr(self, method), *args, **options)


list_ = list
"""The builtin, in a class whose own `list` hides it."""

_PAGE = 20


async def _run_in_thread(function: Any, *args: Any, **options: Any) -> Any:
    from asyncio import to_thread

    return await to_thread(function, *args, **options)


def _in_pages(found: Iterable[CheckpointTuple]) -> Iterator[list[CheckpointTuple]]:
    page: list[CheckpointTuple] = []
    for item in found:
        page.append(item)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page
