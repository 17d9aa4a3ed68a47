"""Rows in memory: one history for each thread and namespace, which answers requests for rows, and views for people.

Rules: knows nothing of values; whoever calls holds the lock.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Mapping
from threading import RLock
from typing import Any, TypeVar

from stepgraph.checkpoint.growth.retention import Plan
from stepgraph.checkpoint.growth.rows import (
    Children,
    Key,
    Program,
    Request,
    Row,
    RowParts,
    RowsBack,
    RowsById,
    WritesParts,
    WritesRow,
    without_known,
)

__all__ = ("MemoryHistory", "View", "run_program")

R = TypeVar("R")


class MemoryHistory:
    """The checkpoints and pending writes of one thread and namespace.

    Attributes:
        rows: Id to row.
        writes: Checkpoint id to its pending writes, by task and index.
        lock: Held by whoever reads or changes it.
        gone: Whether all of it was deleted; then it is not to be used any more.
    """

    __slots__ = ("_children", "_order", "gone", "lock", "rows", "writes")

    def __init__(self) -> None:
        self.rows: dict[str, RowParts] = {}
        self.writes: dict[str, dict[tuple[str, int], WritesParts]] = {}
        self.lock = RLock()
        self.gone = False
        self._order: list[str] = []
        self._children: dict[str, tuple[str, ...]] = {}

    @property
    def newest(self) -> str | None:
        """The id of the newest checkpoint."""
        return self._order[-1] if self._order else None

    def newest_first(self) -> list[str]:
        """All ids."""
        return self._order[::-1]

    def add(self, row: RowParts) -> None:
        """Store a row, in the place of one with the same id."""
        checkpoint_id, parent, _, _, _, _, writes = row
        order = self._order
        if not order or checkpoint_id > order[-1]:
            order.append(checkpoint_id)
        elif checkpoint_id in self.rows:
            self._unlink(self.rows[checkpoint_id])
        else:
            insort(order, checkpoint_id)
        self.rows[checkpoint_id] = row
        if writes is not None and parent is not None:
            self._children[parent] = (*self._children.get(parent, ()), checkpoint_id)

    def _unlink(self, row: RowParts) -> None:
        checkpoint_id, parent = row[0], row[1]
        children = self._children.get(parent or "", ())
        if checkpoint_id in children:
            self._children[parent or ""] = tuple([child for child in children if child != checkpoint_id])

    def add_writes(self, checkpoint_id: str, row: WritesParts) -> None:
        """Store a task's writes; ordinary ones that are there stay as they are."""
        held = self.writes.get(checkpoint_id)
        if held is None:
            held = self.writes[checkpoint_id] = {}
        task_id, place = row[0], row[1]
        if place < 0 or (task_id, place) not in held:
            held[task_id, place] = row
            return
        known = [WritesRow(*held[at]) for at in held if at[0] == task_id and at[1] >= 0]
        rest = without_known(known, WritesRow(*row))
        if rest is not None:
            held[task_id, rest.place] = rest.parts()

    def apply(self, plan: Plan, *, replaced: bool = False) -> None:
        """Drop and replace what a plan says; with `replaced`, drop nothing."""
        for row in plan.rows:
            self.add(row.parts())
        for checkpoint_id, writes in plan.writes:
            self.writes[checkpoint_id][writes.task_id, writes.place] = writes.parts()
        if replaced:
            return
        for checkpoint_id in plan.doomed:
            gone = self.rows.pop(checkpoint_id, None)
            if gone is not None:
                self._unlink(gone)
            self.writes.pop(checkpoint_id, None)
            self._children.pop(checkpoint_id, None)
        self._order = [i for i in self._order if i in self.rows]

    def copy(self) -> MemoryHistory:
        """The same rows, in a history of their own."""
        twin = MemoryHistory()
        twin.rows = self.rows.copy()
        twin.writes = {checkpoint_id: held.copy() for checkpoint_id, held in self.writes.items()}
        twin._order = self._order.copy()
        twin._children = self._children.copy()
        return twin

    def answer(self, request: Request) -> Any:
        """What a reader asks for."""
        if isinstance(request, RowsBack):
            order = self._order
            end = len(order) if request.last is None else bisect_right(order, request.last)
            return [Row(*self.rows[order[i]]) for i in range(end - 1, max(end - request.limit, 0) - 1, -1)]
        if isinstance(request, RowsById):
            return [Row(*self.rows[i]) for i in request.ids if i in self.rows]
        if isinstance(request, Children):
            return [
                Row(*self.rows[child])
                for parent in request.parents
                for child in self._children.get(parent, ())
            ]
        return [
            (i, WritesRow(*row)) for i in request.ids if i in self.writes for row in self.writes[i].values()
        ]

    def stored_bytes(self) -> int:
        """How many bytes the rows hold, ids included."""
        total = 0
        for row in self.rows.values():
            total += sum([_size(part) for part in row])
        for checkpoint_id, held in self.writes.items():
            for writes in held.values():
                total += len(checkpoint_id) + sum([_size(part) for part in writes])
        return total


def _size(part: Any) -> int:
    """The bytes of a part of a row; a number counts as a word."""
    if part is None:
        return 0
    if isinstance(part, int):
        return 8
    return sum(map(_size, part)) if type(part) is tuple else len(part)


def run_program(history: MemoryHistory, program: Program[R]) -> R:
    """Run a reader to its end."""
    reply: Any = None
    try:
        while True:
            reply = history.answer(program.send(reply))
    except StopIteration as end:
        result: R = end.value
        return result


class View(Mapping[str, Any]):
    """A read-only mapping whose keys and values are looked up when asked for."""

    __slots__ = ("_get", "_keys")

    def __init__(self, keys: Callable[[], list[str]], get: Callable[[str], Any]) -> None:
        self._keys = keys
        self._get = get

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys():
            raise KeyError(key)
        return self._get(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys())

    def __len__(self) -> int:
        return len(self._keys())

    def __repr__(self) -> str:
        return repr(dict(self))


def nested_view(
    histories: Mapping[Key, MemoryHistory], get: Callable[[Key, str], Any], writes: bool = False
) -> View:
    """Thread to namespace to checkpoint id to what `get` gives."""

    def ids(key: Key) -> list[str]:
        history = histories.get(key)
        return [] if history is None else list(history.writes if writes else history.rows)

    def namespaces(thread: str) -> list[str]:
        return [ns for owner, ns in list(histories) if owner == thread and ids((owner, ns))]

    def of_namespace(thread: str, ns: str) -> View:
        return View(lambda: ids((thread, ns)), lambda checkpoint_id: get((thread, ns), checkpoint_id))

    def of_thread(thread: str) -> View:
        return View(lambda: namespaces(thread), lambda ns: of_namespace(thread, ns))

    return View(
        lambda: list(dict.fromkeys(thread for thread, ns in list(histories) if ids((thread, ns)))), of_thread
    )
