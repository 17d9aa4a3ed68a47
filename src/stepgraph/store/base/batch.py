"""`AsyncBatchedBaseStore`: groups the async calls that are made at the same time into one batch.

Rules of this file: grouping and waiting only; what operations mean is the subclass's `abatch`.

Theory of operation. An async method puts its operation on a list and waits. The first one starts a task, which at its
first turn takes all operations that were put on the list until then, removes repetitions, and calls `abatch` once; it goes
on while there are more, and ends when there are none. Batches follow each other, so a write that was asked for earlier is
seen by a read that was asked for later. If a batch fails, its operations are tried one by one, so that a bad one fails its
own caller only.

Sync methods hand the operation to the store's event loop and wait, so they work from any thread but the loop's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Literal, TypeVar, cast

from stepgraph.store.base.items import Item, SearchItem, copy_value
from stepgraph.store.base.namespaces import Namespace, as_namespace, conditions_of
from stepgraph.store.base.ops import (
    NOT_PROVIDED,
    GetOp,
    ListNamespacesOp,
    NamespacePath,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchOp,
)
from stepgraph.store.base.plan import as_key
from stepgraph.store.base.protocol import BaseStore

T = TypeVar("T")
Waiting = tuple[Op, "asyncio.Future[Result]"]


class AsyncBatchedBaseStore(BaseStore):
    """A store whose async methods are carried out in batches. A subclass implements `abatch`."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[Waiting] = []
        self._worker: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    async def aget(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """As `BaseStore.get`, asynchronously."""
        return cast("Item | None", await self._submit(self._get_op(namespace, key, refresh_ttl)))

    async def asearch(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """As `BaseStore.search`, asynchronously."""
        op = self._search_op(namespace_prefix, filter, limit, offset, query, refresh_ttl)
        return cast("list[SearchItem]", await self._submit(op))

    async def aput(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """As `BaseStore.put`, asynchronously."""
        await self._submit(self._put_op(namespace, key, value, index, ttl))

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """As `BaseStore.delete`, asynchronously."""
        await self._submit(PutOp(as_namespace(namespace), as_key(key), None))

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """As `BaseStore.list_namespaces`, asynchronously."""
        op = ListNamespacesOp(conditions_of(prefix, suffix), max_depth, limit, offset)
        return cast("list[Namespace]", await self._submit(op))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """As `BaseStore.batch`, from a thread that does not run the store's event loop."""
        return self._from_thread("batch", self.abatch(list(ops)))

    def get(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """As `BaseStore.get`, from a thread that does not run the store's event loop."""
        return self._from_thread("get", self.aget(namespace, key, refresh_ttl=refresh_ttl))

    def search(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """As `BaseStore.search`, from a thread that does not run the store's event loop."""
        work = self.asearch(
            namespace_prefix,
            query=query,
            filter=filter,
            limit=limit,
            offset=offset,
            refresh_ttl=refresh_ttl,
        )
        return self._from_thread("search", work)

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """As `BaseStore.put`, from a thread that does not run the store's event loop."""
        self._from_thread("put", self.aput(namespace, key, value, index, ttl=ttl))

    def delete(self, namespace: Namespace, key: str) -> None:
        """As `BaseStore.delete`, from a thread that does not run the store's event loop."""
        self._from_thread("delete", self.adelete(namespace, key))

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """As `BaseStore.list_namespaces`, from a thread that does not run the store's event loop."""
        work = self.alist_namespaces(
            prefix=prefix, suffix=suffix, max_depth=max_depth, limit=limit, offset=offset
        )
        return self._from_thread("list_namespaces", work)

    def _from_thread(self, method: str, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the store's loop and wait for it."""
        try:
            running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        name, loop = type(self).__name__, self._loop
        if running is not None and running is loop:
            work.close()
            raise asyncio.InvalidStateError(
                f"Synchronous call of {name}.{method} in the store's own event loop: it would wait for itself."
                f" Use `await store.a{method}(...)`."
            )
        if loop is None or not loop.is_running():
            work.close()
            raise RuntimeError(
                f"Synchronous call of {name}.{method}, but the store's event loop does not run. Create and use the store"
                " inside a running event loop, or take a sync store."
            )
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    async def _submit(self, op: Op) -> Result:
        """Put an operation on the list and wait for its result."""
        running = asyncio.get_running_loop()
        loop = self._loop
        if loop is not running:
            if loop is not None and loop.is_running():
                return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._submit(op), loop))
            self._loop, self._waiting, self._worker = running, [], None
        future: asyncio.Future[Result] = running.create_future()
        self._waiting.append((op, future))
        if self._worker is None or self._worker.done():
            self._worker = running.create_task(self._work())
        return await future

    async def _work(self) -> None:
        while self._waiting:
            taken, self._waiting = self._waiting, []
            taken = [waiting for waiting in taken if not waiting[1].done()]
            try:
                await self._carry_out(taken)
            except Exception as error:  # nobody may wait for ever
                for _, future in taken:
                    if not future.done():
                        future.set_exception(error)

    async def _carry_out(self, taken: list[Waiting]) -> None:
        ops, slots = merge_repeated(op for op, _ in taken)
        outcomes: list[Result | BaseException]
        try:
            outcomes = list(await self.abatch(ops)) if ops else []
        except Exception as error:
            outcomes = [error] if len(ops) == 1 else [await self._alone(op) for op in ops]
        except BaseException:
            for _, future in taken:
                future.cancel()
            raise
        handed_out: set[int] = set()
        if len(outcomes) != len(ops):
            raise RuntimeError(
                f"{type(self).__name__}.abatch was given {len(ops)} operations and returned {len(outcomes)} results."
                " It must return one result for each operation, in the same order."
            )
        for (_, future), slot in zip(taken, slots):
            outcome = outcomes[slot]
            if future.done():
                continue
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(_copy_result(outcome) if slot in handed_out else outcome)
            handed_out.add(slot)

    async def _alone(self, op: Op) -> Result | BaseException:
        """The result of one operation of a batch that failed, or its own error."""
        try:
            return (await self.abatch([op]))[0]
        except Exception as error:
            return error


def merge_repeated(ops: Iterable[Op]) -> tuple[list[Op], list[int]]:
    """Remove repetitions: equal reads are made once, and of several writes to one address the last is made.

    Args:
        ops: The operations of one batch.

    Returns:
        What remains, and for each operation the position of its result.
    """
    unique: list[Op] = []
    slots: list[int] = []
    known: dict[Any, int] = {}
    for op in ops:
        try:
            identity = _identity(op)
            slot = known.get(identity)
        except Exception:  # it has no hash or no text: `abatch` says what is wrong with it
            identity, slot = object(), None
        if slot is None:
            slot = known[identity] = len(unique)
            unique.append(op)
        elif isinstance(op, PutOp):
            unique[slot] = op
        slots.append(slot)
    return unique, slots


def _identity(op: Op) -> Any:
    if isinstance(op, PutOp):
        return ("put", op.namespace, op.key)
    if isinstance(op, SearchOp):
        return ("search", *op._replace(filter=None), repr(op.filter))
    return (type(op).__name__, op) if isinstance(op, (GetOp, ListNamespacesOp)) else id(op)


def _copy_result(result: Result) -> Result:
    """A result for a second caller who asked the same: callers do not share what they may change."""
    if isinstance(result, list):
        return cast("Result", [_copy_item(entry) for entry in result])
    return cast("Result", _copy_item(result))


def _copy_item(entry: Any) -> Any:
    if isinstance(entry, SearchItem):
        value = copy_value(entry.value)
        return SearchItem(entry.namespace, entry.key, value, entry.created_at, entry.updated_at, entry.score)
    if isinstance(entry, Item):
        return Item(
            value=copy_value(entry.value),
            key=entry.key,
            namespace=entry.namespace,
            created_at=entry.created_at,
            updated_at=entry.updated_at,
        )
    return entry
