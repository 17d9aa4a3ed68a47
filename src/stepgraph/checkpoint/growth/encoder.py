"""From what a superstep changed to the row that stores it.

Rules: CPU only; runs on the engine's thread, in order, under the saver's lock. What it remembers (`lanes`) moves on with
each row that it makes, so rows must be stored in the order in which they were made, or the lane be broken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ormsgpack import packb

from stepgraph.checkpoint.base import LATEST_VERSION, WRITES_IDX_MAP
from stepgraph.checkpoint.changes import StepChanges
from stepgraph.checkpoint.growth.codec import Codec, is_literal, not_storable
from stepgraph.checkpoint.growth.frames import Frame, difference_record
from stepgraph.checkpoint.growth.lanes import Lane, OpaqueValue
from stepgraph.checkpoint.growth.rows import RowParts, WritesParts
from stepgraph.checkpoint.growth.task_writes import encode_task_writes
from stepgraph.checkpoint.growth.tracker import SAME, WORTH_TRACKING, Entry, Tracker
from stepgraph.checkpoint.placed import PlacedWrites
from stepgraph.checkpoint.serde.errors import NotStorableError
from stepgraph.values.missing import MISSING, Missing
from stepgraph.values.names import GRAPH_SHAPE

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import ChannelVersions, Checkpoint

__all__ = ("changes_between", "encode_row", "encode_writes_rows")

_GROWS = frozenset((list, dict, str, bytes))
_NOTHING = b"\x80"
"""An empty dict, packed."""


def encode_row(
    lane: Lane, changes: StepChanges, metadata: Any, codec: Codec, parent: str | Missing | None = MISSING
) -> RowParts:
    """The row that stores a superstep's changes.

    Args:
        lane: Of the thread and namespace.
        changes: What changed.
        metadata: In the form of the saver.
        codec: Makes bytes.
        parent: The parent, if it is another than the checkpoint that the changes are a difference against.

    Raises:
        NotStorableError: A value cannot be stored.
    """
    own, values, placed = changes.id, changes.values, changes.placed
    places = dict.fromkeys(values, own)
    writes: bytes | None
    stored: dict[str, Any] | None = {} if changes.writes or placed else None
    known: bytes | None = None
    if len(placed) == 1 and placed[0].__class__ is PlacedWrites and placed[0].pairs is None:
        known, stored = packb(((placed[0].step, placed[0].name),)), None
    if codec.keeps_literals and _are_literals(values):
        # What is stored of plain values is the values themselves.
        packed = packb(values)
        writes = known if stored is None else encode_task_writes(changes, stored, codec)
    else:
        try:
            packed = _encode_values(lane, changes, codec, places, stored) if values else _NOTHING
            writes = known if stored is None else encode_task_writes(changes, stored, codec)
        except BaseException:
            # Trackers that went on would refer to a row that is never stored.
            lane.broken = True
            raise
    base, frames = changes.parent_id, lane.frames
    if base is None:
        frame = Frame()
        record = frame.next_record(changes, places)
        lane.remember_frame(own, frame)
    elif base in frames:
        frame = frames[own] = frames.pop(base)
        record = frame.next_record(changes, places)
    else:
        record = difference_record(changes)
    logical = base if parent is MISSING else parent
    return own, logical, changes.run_id, metadata, record, packed, writes  # type: ignore[return-value]


def _are_literals(values: dict[str, Any]) -> bool:
    """Whether all values are stored as they are."""
    for value in values.values():  # noqa: SIM110 (a generator costs more than it compares)
        if value is not None and not is_literal(value):
            return False
    return True


def _encode_values(
    lane: Lane, changes: StepChanges, codec: Codec, places: dict[str, str], stored: dict[str, Any] | None
) -> bytes:
    """All values of a row; corrects in `places` where those are that were stored before."""
    own, dirty, literals = changes.id, changes.returned, codec.keeps_literals
    if len(changes.values) > 1:
        codec = codec.for_row()
    entries: dict[str, Any] = {}
    for channel, value in changes.values.items():
        if value is None or (literals and is_literal(value)):
            entries[channel] = value
            continue
        try:
            if type(value) in _GROWS:
                entry = _encode_growing(lane, channel, value, own, dirty, codec, stored)
            else:
                entry = _encode_opaque(lane, channel, value, own, codec)
        except NotStorableError as error:
            raise not_storable(error, channel) from error.__cause__
        entries[channel] = entry
        if type(entry) is list and entry[0] == SAME:
            places[channel] = entry[1]
    return packb(entries)


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
    digest = hash(packed if codec.packs_digest else codec.digest(value))
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
) -> list[WritesParts]:
    """The rows that store a task's writes before their step is folded: its ordinary ones together, others each by itself.

    Raises:
        NotStorableError: A value cannot be stored.
    """
    rows: list[WritesParts] = []
    ordinary = []
    for index, (channel, value) in enumerate(writes):
        form = value
        if value is not None and not (codec.keeps_literals and is_literal(value)):
            try:
                form = _encode_write(lane, channel, value, codec)
            except NotStorableError as error:
                raise not_storable(error, channel) from error.__cause__
        if channel in WRITES_IDX_MAP:
            place = WRITES_IDX_MAP[channel]
            rows.append((task_id, place, path, packb([[place, channel, form]]), run_id))
        else:
            ordinary.append((index, channel, form))
    if ordinary:
        rows.append((task_id, 0, path, packb(ordinary), run_id))
    return rows


def _encode_write(lane: Lane | None, channel: str, value: Any, codec: Codec) -> Entry:
    """One write; a list, dict or text that goes on from the channel's stored value, as a difference."""
    if lane is not None and channel in lane.trackers and type(value) in _GROWS and len(value) > 8:
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
    form = checkpoint.get("v", LATEST_VERSION)
    versions: dict[str, Any] = {**dict.fromkeys(values), **checkpoint["channel_versions"]}
    frame = lane.frames.get(parent) if parent is not None and parent < checkpoint["id"] else None
    if (
        frame is not None
        and versions.keys() | {GRAPH_SHAPE} >= frame.versions.keys()
        and seen.keys() >= frame.seen.keys()
    ):
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
        ts=checkpoint["ts"] if form == LATEST_VERSION else (checkpoint["ts"], form),
        values=values,
        versions=versions,
        seen={node: dict(known) for node, known in seen.items()},
        updated=checkpoint.get("updated_channels"),
    )
