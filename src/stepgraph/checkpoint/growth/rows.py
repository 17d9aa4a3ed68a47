"""The form of what is stored: rows of checkpoints, rows of pending writes; and the requests that ask for them.

A reader yields a request and is sent the answer; whoever runs it knows the storage.

Rules: data only.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ormsgpack import packb, unpackb

__all__ = (
    "Children",
    "Key",
    "Program",
    "Request",
    "Row",
    "RowParts",
    "RowsBack",
    "RowsById",
    "WritesOf",
    "WritesParts",
    "WritesRow",
    "without_known",
)

Key: TypeAlias = tuple[str, str]
"""Thread id and checkpoint namespace."""


class Row(NamedTuple):
    """One checkpoint.

    Attributes:
        id: Its id.
        parent: The checkpoint before it.
        run_id: The run that stored it.
        metadata: Its metadata, in the form of the saver.
        record: Its versions and where its values are, packed (see `frames`).
        values: Channel to entry, packed: the values that it stores.
        writes: What tasks wrote against `parent`, packed (see `task_writes`).
    """

    id: str
    parent: str | None
    run_id: str | None
    metadata: Any
    record: bytes
    values: bytes | None
    writes: bytes | None

    def parts(self) -> RowParts:
        """The same as a plain tuple."""
        return tuple(self)


RowParts: TypeAlias = tuple[str, str | None, str | None, Any, bytes, bytes | None, bytes | None]
"""The parts of a `Row` as a plain tuple: quicker to make, and no burden on garbage collection while it is kept."""


class WritesRow(NamedTuple):
    """What one task wrote against a checkpoint, by one call of `put_writes`, or one of its special writes.

    Attributes:
        task_id: The task.
        place: 0 for the ordinary writes of a task; negative for a write that is no write to a channel (it can be
            replaced); positive for ordinary writes that came by a later call.
        path: Where the task stands among those of its superstep.
        data: `[[index, channel, entry], ...]`, packed.
        run_id: The run that stored it.
    """

    task_id: str
    place: int
    path: str
    data: bytes
    run_id: str | None

    def parts(self) -> WritesParts:
        """The same as a plain tuple."""
        return tuple(self)  # type: ignore[return-value]


WritesParts: TypeAlias = tuple[str, int, str, bytes, str | None]
"""The parts of a `WritesRow` as a plain tuple."""


class RowsBack(NamedTuple):
    """Ask for rows of a thread and namespace, newest first, from `last` on backwards (from the newest if `None`).

    With `values` false, the rows may come without their values and writes (`None`).
    """

    key: Key
    last: str | None
    limit: int
    values: bool


class RowsById(NamedTuple):
    """Ask for these rows; those that are not there are left out."""

    key: Key
    ids: Sequence[str]


class Children(NamedTuple):
    """Ask for the rows that store writes against these checkpoints."""

    key: Key
    parents: Sequence[str]


class WritesOf(NamedTuple):
    """Ask for the pending writes of these checkpoints: a list of (checkpoint id, `WritesRow`)."""

    key: Key
    ids: Sequence[str]


def without_known(rows: Sequence[WritesRow], row: WritesRow) -> WritesRow | None:
    """The part of a task's ordinary writes that is not stored yet; `None` if all of it is.

    Args:
        rows: What is stored of the task.
        row: What came.
    """
    known = {pair[0] for stored in rows for pair in unpackb(stored.data)}
    pairs = [pair for pair in unpackb(row.data) if pair[0] not in known]
    place = max([0, *[stored.place + 1 for stored in rows]])
    return row._replace(place=place, data=packb(pairs)) if pairs else None


Request: TypeAlias = RowsBack | RowsById | Children | WritesOf

R = TypeVar("R")
Program: TypeAlias = Generator[Request, Any, R]
