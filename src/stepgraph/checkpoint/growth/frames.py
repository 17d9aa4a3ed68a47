"""The record of a checkpoint: versions of channels, where their values are stored, what nodes have seen.

A record is a difference against that of the parent, or complete (a key frame). Key frames come so often that a chain of
records is as quick to read as the complete state is, and so seldom that they add at most as much as the differences do.

Stored form, packed as a list:

- difference: `[time, updated, set, cleared, seen]`; `set` and `cleared` are the names of channels whose version is the
  checkpoint's own id, or dicts of name to version. In `seen`, `None` stands for the parent's id.
- complete: `[time, updated, channels, seen]`; `channels` maps a name to its version if the value is stored in this very
  checkpoint and the version is its id (written as `None`), to `[version, place]`, or to `[version]` if it holds nothing.

Rules: pure.
"""

from __future__ import annotations

from collections.abc import Mapping
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

    def take(self, changes: StepChanges, places: Mapping[str, str]) -> None:
        """Become the frame of the next checkpoint.

        Args:
            changes: What changed.
            places: Where the changed values are.
        """
        self.versions.update(changes.versions)
        if len(places) < len(changes.versions):
            for name in changes.cleared if changes.cleared is not None else changes.versions:
                if name not in places:
                    self.places.pop(name, None)
        self.places.update(places)
        if changes.seen:
            self.seen.update(changes.seen)

    def key_frame_due(self, size: int) -> bool:
        """Whether the record should be complete, when as a difference it would have `size` bytes."""
        self._steps += 1
        self._bytes += size
        return self._steps >= KEY_EVERY and self._bytes >= self._due

    def accept_key_frame(self, size: int) -> bool:
        """Whether a complete record of that many bytes is worth it now."""
        if self._bytes < size:
            self._due = size
            return False
        self.begin()
        return True

    def begin(self) -> None:
        """A complete record was stored."""
        self._steps = self._bytes = self._due = 0


def difference_record(changes: StepChanges) -> bytes:
    """The record of a checkpoint as a difference against its parent."""
    parent = changes.parent_id
    held, cleared = _held_and_cleared(changes)
    seen = {
        node: {
            channel: None if version is parent or version == parent else version
            for channel, version in known.items()
        }
        for node, known in changes.seen.items()
    }
    return packb((changes.ts, changes.updated, held, cleared, seen))


def _held_and_cleared(changes: StepChanges) -> tuple[Any, Any]:
    """The changed channels with and without a value: names where every version is the checkpoint's id, else a map."""
    own, values, versions = changes.id, changes.values, changes.versions
    if changes.cleared is not None:
        return list(values), changes.cleared
    if all(version is own or version == own for version in versions.values()):
        return [name for name in versions if name in values], [
            name for name in versions if name not in values
        ]
    return (
        {name: version for name, version in versions.items() if name in values},
        {name: version for name, version in versions.items() if name not in values},
    )


def complete_record(own: str, ts: str, updated: list[str] | None, frame: Frame) -> bytes:
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
        ts: When the checkpoint was made.
        updated: The channels its superstep wrote.
        complete: Whether it needs no parent.
    """

    __slots__ = ("_parts", "complete", "size", "ts", "updated")

    def __init__(self, data: bytes) -> None:
        parts = unpackb(data)
        if type(parts) is not list or len(parts) not in (4, 5):
            raise ValueError("it is no record of a checkpoint")
        self.ts: str = parts[0]
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
            frame.seen[node] = {c: str(parent) if v is None else v for c, v in known.items()}
        frame.key_frame_due(self.size)

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
