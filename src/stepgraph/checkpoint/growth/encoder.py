"""From what a superstep changed to the row that stores it.

Rules: CPU only; runs on the engine's thread, in order, under the saver's lock. What it remembers (`lanes`) moves on with
each row that it makes, so rows must be stored in the order in which they were made, or the lane be broken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ormsgpack import packb

from stepgraph.checkpoint.base import WRITES_IDX_MAP
from stepgraph.checkpoint.changes import StepChanges
from stepgraph.checkpoint.growth.codec import Codec, not_storable
from stepgraph.checkpoint.growth.frames import Frame, complete_record, difference_record
from stepgraph.checkpoint.growth.lanes import Lane, OpaqueValue
from stepgraph.checkpoint.growth.rows import Row, WritesRow
from stepgraph.checkpoint.growth.task_writes import encode_task_writes
from stepgraph.checkpoint.growth.tracker import SAME, WORTH_TRACKING, Entry, Tracker
from stepgraph.checkpoint.serde.errors import NotStorableError
from stepgraph.values.missing import MISSING

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import ChannelVersions, Checkpoint

__all__ = ("changes_between", "encode_row", "encode_writes_rows")

_GROWS = frozenset((list, dict, str, bytes))
_TINY = frozenset((int, float, bool, type(None)))
_NOTHING = b"\x80"
"""An empty dict, packed."""


def encode_row(lane: Lane, changes: StepChanges, metadata: Any, codec: Codec) -> Row:
    """The row that stores a superstep's changes.

    Args:
        lane: Of the thread and namespace.
        changes: What changed.
        metadata: In the form of the saver.
        codec: Makes bytes.

    Raises:
        NotStorableError: A value cannot be stored.
    """
    stored: dict[str, Any] | None = {} if changes.writes else None
    try:
        values, places = _encode_values(lane, changes, codec, stored)
        writes = (
            encode_task_writes(changes.writes, changes.values, stored, codec) if stored is not None else None
        )
    except BaseException:
        # Trackers that went on would refer to a row that is never stored.
        lane.broken = True
        raise
    record = _encode_record(lane, changes, places)
    return Row(changes.id, changes.parent_id, changes.run_id, metadata, record, values, writes)


def _encode_record(lane: Lane, changes: StepChanges, places: dict[str, str]) -> bytes:
    own, parent = changes.id, changes.parent_id
    frame = Frame() if parent is None else lane.frames.pop(parent, None)
    if frame is None:
        return difference_record(changes)
    frame.take(changes, places)
    lane.remember_frame(own, frame)
    if parent is None:
        frame.begin()
        return complete_record(own, changes.ts, changes.updated, frame)
    record = difference_record(changes)
    if frame.key_frame_due(len(record)):
        complete = complete_record(own, changes.ts, changes.updated, frame)
        if frame.accept_key_frame(len(complete)):
            return complete
    return record


def _encode_values(
    lane: Lane, changes: StepChanges, codec: Codec, stored: dict[str, Any] | None
) -> tuple[bytes, dict[str, str]]:
    """All values of a row, and where each of them is."""
    values = changes.values
    if not values:
        return _NOTHING, {}
    own, dirty, pack = changes.id, changes.returned, codec.pack
    entries: dict[str, Entry] = {}
    places: dict[str, str] = {}
    for channel, value in values.items():
        kind = type(value)
        places[channel] = own
        try:
            if kind in _TINY:
                entries[channel] = pack(value)
            elif kind in _GROWS:
                entry = entries[channel] = _encode_growing(lane, channel, value, own, dirty, codec, stored)
                if type(entry) is list and entry[0] == SAME:
                    places[channel] = entry[1]
            else:
                entry = entries[channel] = _encode_opaque(lane, channel, value, own, codec)
                if type(entry) is list:
                    places[channel] = entry[1]
        except NotStorableError as error:
            raise not_storable(error, channel) from error.__cause__
    return packb(entries), places


def _encode_growing(
    lane: Lane,
    channel: str,
    value: Any,
    own: str,
    dirty: set[int] | None,
    codec: Codec,
    stored: dict[str, Any] | None,
) -> Entry:
    """A list, dict or text: as a difference if it goes on from the one stored last."""
    tracker = lane.tracker_for(channel, value) if lane.trackers else None
    if tracker is not None:
        op = tracker.compare(value, dirty)
        if op is not None:
            if not op:
                return [SAME, tracker.place]
            entry = tracker.advance(op, value, own, codec)
            if entry is not None:
                if stored is not None and tracker.stored_op is not None:
                    _note_stored(stored, channel, tracker.stored_op)
                return entry
    whole, following = Tracker.whole(value, own, codec, tracker, dirty is None)
    if tracker is not None or following is not None:
        lane.replace_tracker(channel, tracker, following)
    if stored is not None and type(value) in (list, dict):
        stored[channel] = value
    return whole


def _note_stored(stored: dict[str, Any], channel: str, op: Any) -> None:
    payload = op.payload()
    if (type(payload) is list and op.shape() != 1) or type(payload) is dict:
        stored[channel] = payload


def _encode_opaque(lane: Lane, channel: str, value: Any, own: str, codec: Codec) -> Entry:
    """Any other value: stored again only if its bytes are others."""
    packed = codec.pack(value)
    if len(packed) < WORTH_TRACKING:
        return packed
    digest = hash(packed if codec.pack is codec.digest else codec.digest(value))
    last = lane.opaque.get(channel)
    if last is not None and last.digest == digest:
        return [SAME, last.place]
    lane.opaque[channel] = OpaqueValue(digest, own)
    return packed


def encode_writes_rows(
    lane: Lane | None,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    path: str,
    run_id: str | None,
    codec: Codec,
) -> list[WritesRow]:
    """The rows that store a task's writes before their step is folded: its ordinary ones together, others each by itself.

    Raises:
        NotStorableError: A value cannot be stored.
    """
    rows = []
    ordinary = []
    for index, (channel, value) in enumerate(writes):
        try:
            form = _encode_write(lane, channel, value, codec)
        except NotStorableError as error:
            raise not_storable(error, channel) from error.__cause__
        special = WRITES_IDX_MAP.get(channel)
        if special is None:
            ordinary.append([index, channel, form])
        else:
            rows.append(WritesRow(task_id, special, path, packb([[special, channel, form]]), run_id))
    if ordinary:
        rows.append(WritesRow(task_id, 0, path, packb(ordinary), run_id))
    return rows


def _encode_write(lane: Lane | None, channel: str, value: Any, codec: Codec) -> Entry:
    """One write; a list, dict or text that goes on from the channel's stored value, as a difference."""
    if lane is not None and type(value) in _GROWS and channel in lane.trackers and len(value) > 8:
        tracker = lane.tracker_for(channel, value)
        if tracker is not None and tracker.fits(value):
            op = tracker.compare(value, None)
            if op:
                return [op.kind, tracker.place, codec.pack(op.payload()), op.shape()]
            if op is not None:
                return [SAME, tracker.place]
    packed: bytes = codec.pack(value)
    return packed


def changes_between(
    lane: Lane, parent: str | None, checkpoint: Checkpoint, new_versions: ChannelVersions
) -> StepChanges:
    """What a complete checkpoint changes since its parent; everything, if what the parent holds is not remembered.

    Args:
        lane: Of the thread and namespace.
        parent: The id of the parent.
        checkpoint: The checkpoint.
        new_versions: The channels that are known to be new.
    """
    values: dict[str, Any] = checkpoint["channel_values"]
    seen = checkpoint["versions_seen"]
    versions: dict[str, Any] = {**dict.fromkeys(values), **checkpoint["channel_versions"]}
    frame = lane.frames.get(parent) if parent is not None and parent < checkpoint["id"] else None
    if frame is not None and versions.keys() >= frame.versions.keys() and seen.keys() >= frame.seen.keys():
        versions = {
            name: version
            for name, version in versions.items()
            if name in new_versions
            or version is None
            or frame.versions.get(name, MISSING) != version
            or (name in values) != (name in frame.places)
        }
        values = {name: value for name, value in values.items() if name in versions}
        seen = {node: known for node, known in seen.items() if frame.seen.get(node) != known}
    else:
        parent = None
    return StepChanges(
        id=checkpoint["id"],
        parent_id=parent,
        ts=checkpoint["ts"],
        values=values,
        versions=versions,
        seen={node: dict(known) for node, known in seen.items()},
        updated=checkpoint.get("updated_channels"),
    )
