"""From rows to checkpoints.

Theory: first the chain of records back to a complete one, which gives the places of all values; then the rows at these
places, and those that their differences refer to, in as few requests as the chains allow; then all is unpacked. The
first part waits (yields requests), the second is pure.

Rules: whatever is wrong with stored bytes becomes one `CorruptCheckpointError` that names the place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ormsgpack import unpackb

from stepgraph.checkpoint.base import PendingWrite
from stepgraph.checkpoint.growth.codec import Codec, CorruptCheckpointError, unreadable
from stepgraph.checkpoint.growth.frames import Frame, Record
from stepgraph.checkpoint.growth.lanes import OpaqueValue
from stepgraph.checkpoint.growth.operations import DICT, LIST, DictOp, ListOp, Op, restore_op
from stepgraph.checkpoint.growth.rows import (
    Children,
    Key,
    Program,
    Row,
    RowsBack,
    RowsById,
    WritesOf,
    WritesRow,
)
from stepgraph.checkpoint.growth.task_writes import PART, VALUE, read_task_writes, resolve
from stepgraph.checkpoint.growth.tracker import SAME, WHOLE, WORTH_TRACKING, Difference, Entry, Tracker

__all__ = ("Loaded", "Reader", "load", "load_frame", "load_many")

_RECORDS: Final = 33
"""So many records are asked for at once: as many as a chain has before the next complete one is due."""
_FAULTS: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError)
"""What unpacking damaged bytes may raise."""


class Loaded:
    """A checkpoint as it was read.

    Attributes:
        row: Its row.
        record: Its record.
        frame: Its versions, places and seen versions.
        values: Channel to value.
        writes: Its pending writes, in order.
        known: Channel to what a writer that goes on from here should remember.
    """

    __slots__ = ("frame", "known", "record", "row", "values", "writes")

    def __init__(self, row: Row, record: Record, frame: Frame) -> None:
        self.row = row
        self.record = record
        self.frame = frame
        self.values: dict[str, Any] = {}
        self.writes: list[PendingWrite] = []
        self.known: dict[str, Tracker | OpaqueValue] = {}


def load(key: Key, checkpoint_id: str | None, codec: Codec) -> Program[Loaded | None]:
    """Read one checkpoint, and what a writer needs to go on from it.

    Args:
        key: Thread and namespace.
        checkpoint_id: Which; `None` for the newest.
        codec: Makes values of bytes.

    Raises:
        CorruptCheckpointError: It cannot be read.
    """
    reader = Reader(key, codec)
    rows = yield RowsBack(key, checkpoint_id, _RECORDS, False)
    if not rows or (checkpoint_id is not None and rows[0].id != checkpoint_id):
        return None
    reader.keep(rows)
    found = yield from reader.checkpoint(rows[0].id)
    writes = yield from reader.pending([rows[0].id])
    yield from reader.gather([*found.frame.places.items(), *reader.targets(writes[rows[0].id])])
    for channel, place in found.frame.places.items():
        value, known = reader.value(found.row.id, channel, place)
        found.values[channel] = value
        if known is not None:
            found.known[channel] = known
    found.writes = reader.resolve_writes(found.row.id, writes[found.row.id])
    return found


def load_many(key: Key, ids: Sequence[str], codec: Codec) -> Program[list[Loaded | CorruptCheckpointError]]:
    """Read several checkpoints of one history at once. Elements of lists and dicts that grow are shared among them.

    Args:
        key: Thread and namespace.
        ids: Which.
        codec: Makes values of bytes.

    Returns:
        For each id the checkpoint, or why it cannot be read; ids that are not there are left out.
    """
    reader = Reader(key, codec)
    reader.keep((yield RowsById(key, ids)))
    writes = yield from reader.pending(ids)
    results: dict[str, Loaded | CorruptCheckpointError] = {}
    for checkpoint_id in sorted(ids):
        if checkpoint_id not in reader.rows:
            continue
        try:
            found = yield from reader.checkpoint(checkpoint_id)
            mine = writes[checkpoint_id]
            yield from reader.gather([*found.frame.places.items(), *reader.targets(mine)])
            for channel, place in found.frame.places.items():
                found.values[channel] = reader.shared_value(checkpoint_id, channel, place)
            found.writes = reader.resolve_writes(checkpoint_id, mine)
            results[checkpoint_id] = found
        except CorruptCheckpointError as error:
            results[checkpoint_id] = error
    return [results[i] for i in ids if i in results]


def load_frame(key: Key, checkpoint_id: str, codec: Codec) -> Program[Frame | None]:
    """The frame of a checkpoint; `None` if it is not there."""
    reader = Reader(key, codec)
    reader.keep((yield RowsBack(key, checkpoint_id, _RECORDS, False)))
    if checkpoint_id not in reader.rows:
        return None
    found = yield from reader.checkpoint(checkpoint_id)
    return found.frame


class _Writes:
    """Pending writes of one checkpoint as they are stored: rows of their own, and rows of checkpoints that fold them."""

    __slots__ = ("checkpoint_id", "children", "rows")

    def __init__(self, checkpoint_id: str) -> None:
        self.checkpoint_id = checkpoint_id
        self.rows: list[WritesRow] = []
        self.children: list[Row] = []


class Reader:
    """Rows of one thread and namespace that were fetched, and what was unpacked of them.

    Attributes:
        rows: Id to row.
    """

    __slots__ = ("_codec", "_entries", "_frames", "_key", "_shared", "_stored", "rows")

    def __init__(self, key: Key, codec: Codec) -> None:
        self._key = key
        self._codec = codec
        self.rows: dict[str, Row] = {}
        self._entries: dict[str, dict[str, Entry]] = {}
        self._frames: dict[str, Frame] = {}
        self._stored: dict[tuple[str, str], Any] = {}
        self._shared: dict[tuple[str, str], Any] = {}

    def keep(self, rows: Iterable[Row]) -> None:
        """Remember rows that were fetched."""
        for row in rows:
            if row.values is not None or row.id not in self.rows:
                self.rows[row.id] = row

    # ---- records

    def checkpoint(self, checkpoint_id: str) -> Program[Loaded]:
        """The record of a checkpoint whose row is at hand, and its frame."""
        chain: list[tuple[Row, Record]] = []
        place: str | None = checkpoint_id
        while True:
            row = yield from self._row(checkpoint_id, place)
            try:
                record = Record(row.record)
            except _FAULTS as error:
                raise unreadable(self._key, checkpoint_id, error) from error
            chain.append((row, record))
            if record.complete or row.parent in self._frames:
                break
            place = row.parent
        row, record = chain[-1]
        frame = Frame() if record.complete else self._frames[row.parent or ""].copy()
        try:
            for row, record in reversed(chain):
                record.apply(frame, row.id, row.parent)
        except _FAULTS as error:
            raise unreadable(self._key, checkpoint_id, error) from error
        self._frames[checkpoint_id] = frame
        return Loaded(self.rows[checkpoint_id], chain[0][1], frame)

    def _row(self, checkpoint_id: str, place: str | None) -> Program[Row]:
        if place is None:
            raise unreadable(self._key, checkpoint_id, ValueError("it differs from nothing"))
        if place not in self.rows:
            self.keep((yield RowsBack(self._key, place, _RECORDS, False)))
        if place not in self.rows:
            raise unreadable(self._key, checkpoint_id, ValueError(f"checkpoint {place!r} is missing"))
        return self.rows[place]

    # ---- values

    def gather(self, wanted: Iterable[tuple[str, str]]) -> Program[None]:
        """Fetch the rows that store these values (channel and place), and all rows that they refer to."""
        frontier = [(channel, place, 1) for channel, place in wanted]
        seen: set[tuple[str, str]] = set()
        first = True
        while frontier:
            missing = {p for _, p, _ in frontier if p not in self.rows or self.rows[p].values is None}
            if missing:
                near = [p for _, p, level in frontier if not level and p in missing]
                if near and not first:
                    self.keep((yield RowsBack(self._key, max(near), _RECORDS, True)))
                    missing = {p for p in missing if p not in self.rows or self.rows[p].values is None}
                if missing:
                    self.keep((yield RowsById(self._key, sorted(missing))))
            first = False
            following = []
            for channel, place, _ in frontier:
                if (channel, place) in seen:
                    continue
                seen.add((channel, place))
                entry = self._entry(channel, place)
                if type(entry) is list and entry[0] != WHOLE:
                    level = 1 if entry[0] == SAME else entry[4] if len(entry) > 4 else 0
                    following.append((channel, entry[1], level))
            frontier = following

    def _entry(self, channel: str, place: str) -> Entry:
        entries = self._entries.get(place)
        if entries is None:
            row = self.rows.get(place)
            if row is None or row.values is None:
                error = ValueError(f"checkpoint {place!r}, which stores it, is missing")
                raise unreadable(self._key, place, error, channel)
            try:
                entries = unpackb(row.values)
            except _FAULTS as error:
                raise unreadable(self._key, place, error) from error
            if type(entries) is not dict:
                raise unreadable(self._key, place, ValueError("its values are no dict"))
            self._entries[place] = entries
        if channel not in entries:
            raise unreadable(self._key, place, ValueError("it is not there"), channel)
        return entries[channel]

    def _chain(self, channel: str, place: str) -> tuple[str, Any, list[tuple[str, list[Any]]]]:
        """Where the whole value is, the value's entry, and the differences from there on."""
        differences: list[tuple[str, list[Any]]] = []
        while True:
            entry = self._entry(channel, place)
            if type(entry) is not list or entry[0] == WHOLE:
                differences.reverse()
                return place, entry, differences
            if entry[0] != SAME:
                differences.append((place, entry))
            place = entry[1]

    def value(self, checkpoint_id: str, channel: str, place: str) -> tuple[Any, Tracker | OpaqueValue | None]:
        """A value, and what to remember of it to go on from it."""
        codec = self._codec
        try:
            start, entry, differences = self._chain(channel, place)
            if type(entry) is list:
                data, flags = entry[1], entry[2]
            elif type(entry) is bytes:
                data, flags = entry, 0
            else:
                return entry, None
            value = codec.unpack(data)
            if not differences:
                if len(data) < WORTH_TRACKING:
                    return value, None
                if type(value) not in (list, dict, str, bytes):
                    digest = hash(data if codec.packs_digest else codec.digest(value))
                    return value, OpaqueValue(digest, start)
            chain = []
            for at, difference in differences:
                flags = difference[5] if len(difference) > 5 else flags
                level = difference[4] if len(difference) > 4 else 0
                chain.append(Difference(at, self._op(difference), level, len(difference[2])))
            tracker = Tracker.read(
                value, start, len(data), entry[2] if type(entry) is list else 0, chain, codec
            )
            return tracker.hand_out(flags), tracker
        except CorruptCheckpointError:
            raise
        except _FAULTS as error:
            raise unreadable(self._key, checkpoint_id, error, channel) from error

    def _whole(self, entry: Any) -> Any:
        """The value of an entry that is no difference."""
        if type(entry) is list:
            entry = entry[1]
        return self._codec.unpack(entry) if type(entry) is bytes else entry

    def _op(self, difference: list[Any]) -> Op:
        return restore_op(difference[0], difference[3], self._codec.unpack(difference[2]))

    def shared_value(self, checkpoint_id: str, channel: str, place: str) -> Any:
        """A value whose elements may be those of the same channel's values at other places."""
        try:
            value = self._shared_at(channel, place)
        except CorruptCheckpointError:
            raise
        except _FAULTS as error:
            raise unreadable(self._key, checkpoint_id, error, channel) from error
        return value.copy() if type(value) is list or type(value) is dict else value

    def _shared_at(self, channel: str, place: str) -> Any:
        todo: list[tuple[str, list[Any]]] = []
        while (channel, place) not in self._shared:
            entry = self._entry(channel, place)
            if type(entry) is not list or entry[0] == WHOLE:
                value = self._whole(entry)
                if type(value) in (list, dict):
                    self._shared[channel, place] = value
                break
            if entry[0] != SAME:
                todo.append((place, entry))
            place = entry[1]
        else:
            value = self._shared[channel, place]
        for at, difference in reversed(todo):
            value = self._shared[channel, at] = applied(value, self._op(difference))
        return value

    # ---- pending writes

    def pending(self, ids: Sequence[str]) -> Program[dict[str, _Writes]]:
        """The pending writes of checkpoints, as they are stored."""
        result = {checkpoint_id: _Writes(checkpoint_id) for checkpoint_id in ids}
        for checkpoint_id, row in (yield WritesOf(self._key, ids)):
            result[checkpoint_id].rows.append(row)
        children = yield Children(self._key, ids)
        self.keep(children)
        for child in children:
            result[child.parent].children.append(child)
        return result

    def targets(self, writes: _Writes) -> list[tuple[str, str]]:
        """The stored values that pending writes refer to as a whole."""
        wanted: list[tuple[str, str]] = []
        for child in writes.children:
            wanted += self.targets_in(child)
        for row in writes.rows:
            for _, channel, form in self._pairs_of(writes.checkpoint_id, row):
                if type(form) is list:
                    wanted.append((channel, form[1]))
        return wanted

    def targets_in(self, child: Row) -> list[tuple[str, str]]:
        """The stored values that the writes in a row refer to as a whole."""
        tasks = self._tasks_of(child)
        pairs = [pair for _, _, pairs in tasks for pair in pairs]
        return [
            (channel, child.id) for channel, form in pairs if type(form) is list and form[0] in (VALUE, PART)
        ]

    def _tasks_of(self, child: Row) -> list[tuple[str, str, list[tuple[str, Any]]]]:
        try:
            return read_task_writes(child, self._key[1])
        except _FAULTS as error:
            raise unreadable(self._key, child.id, error) from error

    def _pairs_of(self, checkpoint_id: str, row: WritesRow) -> list[tuple[int, str, Any]]:
        """Index, channel and stored form of each write of a task."""
        try:
            return [_pair(*pair) for pair in unpackb(row.data)]
        except _FAULTS as error:
            part = f"what task {row.task_id!r} wrote is"
            raise unreadable(self._key, checkpoint_id, error, part=part) from error

    def resolve_writes(self, checkpoint_id: str, writes: _Writes) -> list[PendingWrite]:
        """The pending writes of a checkpoint, by task path, task and index; of each only the one that counts."""
        found: dict[tuple[str, int], tuple[str, PendingWrite]] = {}
        channel = ""
        try:
            for row in writes.rows:
                for index, channel, form in self._pairs_of(checkpoint_id, row):
                    if (row.task_id, index) not in found:
                        write = (row.task_id, channel, self.write_value(channel, form))
                        found[row.task_id, index] = (row.path, write)
            for child in writes.children:
                for task_id, path, pairs in self._tasks_of(child):
                    for index, (channel, form) in enumerate(pairs):
                        if (task_id, index) not in found:
                            write = (task_id, channel, self.folded_value(child, channel, form))
                            found[task_id, index] = (path, write)
        except CorruptCheckpointError:
            raise
        except _FAULTS as error:
            raise unreadable(self._key, checkpoint_id, error, channel) from error
        order = sorted([(path, place) for place, (path, _) in found.items()])
        return [found[place][1] for _, place in order]

    def write_value(self, channel: str, form: Any) -> Any:
        """What was written, of a write stored by itself."""
        if type(form) is not list:
            return self._whole(form)
        base, _ = self.value(form[1], channel, form[1])
        return base if form[0] == SAME else applied(base, self._op(form))

    def folded_value(self, child: Row, channel: str, form: Any) -> Any:
        """What was written, of a write stored with the checkpoint that folds it."""
        if type(form) is not list:
            return self._whole(form)
        stored = None if form[0] in (VALUE, PART) else self._stored_part(channel, child.id)
        return resolve(form, stored, lambda: self.value(child.id, channel, child.id)[0], self._codec)

    def _stored_part(self, channel: str, place: str) -> Any:
        """What a row itself stores for a channel: the whole value, or what its difference puts in."""
        if (channel, place) not in self._stored:
            entry = self._entry(channel, place)
            if type(entry) is list and entry[0] != WHOLE:
                self._stored[channel, place] = self._codec.unpack(entry[2])
            else:
                self._stored[channel, place] = self._whole(entry)
        return self._stored[channel, place]


def applied(value: Any, op: Op) -> Any:
    """What an operation makes of a value, which stays as it is."""
    if op.kind == LIST:
        assert isinstance(op, ListOp)
        result = value.copy()
        end = len(op.fresh)
        for i in range(len(op.cuts) - 3, -1, -3):
            begin = end - op.cuts[i + 2]
            result[op.cuts[i] : op.cuts[i + 1]] = op.fresh[begin:end]
            end = begin
        return result
    if op.kind == DICT:
        assert isinstance(op, DictOp)
        result = value.copy()
        for key in op.gone:
            result.pop(key, None)
        result.update(op.changed)
        for key, inner in op.inner.items():
            result[key] = applied(result[key], inner)
        return result
    return value[: op.start] + op.fresh  # type: ignore[union-attr]


def _pair(index: int, channel: str, form: Any) -> tuple[int, str, Any]:
    """One write as it is stored, if it can be one."""
    if type(index) is not int or type(channel) is not str or (type(form) is list and len(form) < 2):
        raise ValueError("it is no write")
    return index, channel, form
