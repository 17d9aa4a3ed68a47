"""The record of a checkpoint: versions of channels, where their values are stored, what nodes have seen.

A record is a difference against that of the parent, or complete (a key frame). Key frames come so often that a chain of
records is as quick to read as the complete state is, and so seldom that they add at most as much as the differences do.

Stored form, packed as a list:

- difference: `[time, updated, set, cleared, seen]`; `set` and `cleared` are the names of channels whose version is the
  checkpoint's own id, or dicts of name to version. In `seen`, `None` stands for the parent's id, and the name of a channel
  for the map from it to the parent's id.
- complete: `[time, updated, channels, seen]`; `channels` maps a name to its version if the value is stored in this very
  checkpoint and the version is its id (written as `None`), to `[version, place]`, or to `[version]` if it holds nothing.

Rules: pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from ormsgpack import packb, unpackb

from stepgraph.checkpoint.ids import timestamp_of

if TYPE_CHECKING:
    from stepgraph.checkpoint.changes import StepChanges, Version

__all__ = ("Frame", "Record", "complete_record", "difference_record", "read_record")

KEY_EVERY: Final = 32
"""At the earliest after so many differences a record is complete."""


class Frame:
    """What a checkpoint knows beside its values.

    Attributes:
        versions: Channel to version.
        places: Channel to the checkpoint that stores its value; channels that hold nothing are missing.
        seen: Node to its map of seen versions.
    """

    __slots__ = ("_bytes", "_due", "_steps", "places", "seen", "versions")

    def __init__(self) -> None:
        self.versions: dict[str, Version] = {}
        self.places: dict[str, str] = {}
        self.seen: dict[str, Mapping[str, Version]] = {}
        self._steps = 0
        self._bytes = 0
        self._due = 0

    def copy(self) -> Frame:
        """A frame that can go on by itself."""
        twin = Frame()
        twin.versions = self.versions.copy()
        twin.places = self.places.copy()
        twin.seen = self.seen.copy()
        twin._steps, twin._bytes, twin._due = self._steps, self._bytes, self._due
        return twin

    def next_record(self, changes: StepChanges, places: Mapping[str, str]) -> bytes:
        """Become the frame of the next checkpoint; answers its record, complete if it is time for that.

        Args:
            changes: What changed.
            places: Where the changed values are.
        """
        if changes.parent_id is None:
            self.versions.update(changes.versions)
            self.places.update(places)
            self.seen.update(changes.seen)
            self.begin()
            return complete_record(changes.id, changes.ts, changes.updated, self)
        shape = changes.shape
        if shape is None or shape.record is None:
            record, cleared = _difference(changes)
        else:
            record, cleared = shape.record, shape.cleared
        self.versions.update(changes.versions)
        if cleared:
            for name in cleared:
                self.places.pop(name, None)
        self.places.update(places)
        if changes.seen:
            self.seen.update(changes.seen)
        self._steps += 1
        self._bytes += len(record)
        if self._steps >= KEY_EVERY and self._bytes >= self._due:
            complete = complete_record(changes.id, changes.ts, changes.updated, self)
            if self._bytes >= len(complete):
                self.begin()
                return complete
            self._due = len(complete)
        return record

    def count(self, size: int) -> None:
        """A record of that many bytes was stored as a difference."""
        self._steps += 1
        self._bytes += size

    def begin(self) -> None:
        """A complete record was stored."""
        self._steps = self._bytes = self._due = 0


def difference_record(changes: StepChanges) -> bytes:
    """The record of a checkpoint as a difference against its parent."""
    return _difference(changes)[0]


def _difference(changes: StepChanges) -> tuple[bytes, Collection[str]]:
    """The record as a difference, and the channels that hold nothing now."""
    parent, values = changes.parent_id, changes.values
    held: Collection[str] = list(values)
    cleared: Collection[str] | None = changes.cleared
    if cleared is None:
        own, versions = changes.id, changes.versions
        if all(version is own or version == own for version in versions.values()):
            cleared = [name for name in versions if name not in values]
        else:
            held = {name: version for name, version in versions.items() if name in values}
            cleared = {name: version for name, version in versions.items() if name not in values}
    seen: dict[str, Any] = {}
    for node, known in changes.seen.items():
        if len(known) == 1:
            for channel, version in known.items():
                seen[node] = channel if version is parent or version == parent else known
        else:
            seen[node] = {c: None if v is parent or v == parent else v for c, v in known.items()}
    record = packb((changes.ts, changes.updated, held, cleared, seen))
    if changes.shape is not None:
        changes.shape.record = record
    return record, cleared


def complete_record(own: str, ts: str | tuple[str, int], updated: list[str] | None, frame: Frame) -> bytes:
    """The record of a checkpoint, complete."""
    channels: dict[str, Any] = {}
    for name, version in frame.versions.items():
        place = frame.places.get(name)
        if place is None:
            channels[name] = [version]
        elif place == own == version:
            channels[name] = None
        else:
            channels[name] = [version, place]
    return packb([ts, updated, channels, frame.seen])


class Record:
    """A record that was read.

    Attributes:
        stamp: When the checkpoint was made, and the version of its form if that is not the usual one, as stored.
        ts: When the checkpoint was made.
        form: The version of its form; `None` for the usual one.
        updated: The channels its superstep wrote.
        complete: Whether it needs no parent.
    """

    __slots__ = ("_parts", "complete", "form", "size", "stamp", "ts", "updated")

    def __init__(self, data: bytes) -> None:
        parts = unpackb(data)
        if type(parts) is not list or len(parts) not in (4, 5):
            raise ValueError("it is no record of a checkpoint")
        self.stamp = parts[0]
        self.ts: str = self.stamp
        self.form: int | None = None
        if type(self.stamp) is list:
            self.ts, self.form = self.stamp
        self.updated: list[str] | None = parts[1]
        self.complete = len(parts) == 4
        self.size = len(data)
        self._parts = parts

    def made_at(self, own: str) -> str:
        """When the checkpoint was made: as recorded, else as its id says."""
        return self.ts or timestamp_of(own)

    def apply(self, frame: Frame, own: str, parent: str | None) -> None:
        """Bring the parent's frame (an empty one, for a complete record) to this checkpoint.

        Args:
            frame: Is changed.
            own: The id of the record's checkpoint.
            parent: The id of its parent.
        """
        if self.complete:
            for name, at in self._parts[2].items():
                frame.versions[name] = own if at is None else at[0]
                if at is None:
                    frame.places[name] = own
                elif len(at) > 1:
                    frame.places[name] = at[1]
            frame.seen.update(self._parts[3])
            frame.begin()
            return
        _, _, held, cleared, seen = self._parts
        for name in held:
            frame.versions[name] = held[name] if type(held) is dict else own
            frame.places[name] = own
        for name in cleared:
            frame.versions[name] = cleared[name] if type(cleared) is dict else own
            frame.places.pop(name, None)
        for node, known in seen.items():
            if type(known) is str:
                frame.seen[node] = {known: str(parent)}
            else:
                frame.seen[node] = {c: str(parent) if v is None else v for c, v in known.items()}
        frame.count(self.size)

    def places(self) -> list[str]:
        """The other checkpoints that it names as places of values."""
        if not self.complete:
            return []
        return [at[1] for at in self._parts[2].values() if at is not None and len(at) > 1]


def read_record(data: bytes) -> Record:
    """The record in these bytes.

    Raises:
        ValueError: There is none.
    """
    return Record(data)
