"""What is remembered of threads and namespaces: frames of their newest checkpoints, trackers of their channels.

A lane is one (thread, namespace). All here is a cache: without it steps are stored whole, never wrongly. It is bounded by
the bytes that the remembered values are stored with, least recently used lanes go first.

A channel has more than one tracker if its value was loaded more than once: who goes on writing holds the objects of one
of the loads, and only those are found identical.

Rules: whoever works with a lane holds its lock; runs in other namespaces do not wait for that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, Final

from stepgraph.checkpoint.growth.frames import Frame
from stepgraph.checkpoint.growth.rows import Key
from stepgraph.checkpoint.growth.tracker import Tracker
from stepgraph.values.missing import MISSING

__all__ = ("Lane", "Lanes", "OpaqueValue", "common_part")

LANE_WEIGHT: Final = 4096
"""What a lane counts without any value."""
_FRAMES: Final = 4
"""Checkpoints of a lane whose frames are remembered."""
_TRACKERS: Final = 3
"""Trackers of a channel that are remembered."""


class OpaqueValue:
    """A value that is no container: stored again only if its bytes changed."""

    __slots__ = ("digest", "place")

    def __init__(self, digest: int, place: str) -> None:
        self.digest = digest
        self.place = place


class Lane:
    """What is remembered of one thread and namespace.

    Attributes:
        key: Thread and namespace.
        trackers: Channel to its trackers, the one that was used last in front.
        opaque: Channel to its value, if it is no container.
        common: The part of its metadata that stays the same from step to step, and that part in the saver's form.
        offered: Where a run says so: an object that stands for that part, while it is encoded.
        accepted: The object that stood for the part in `common`.
        lock: Held by whoever works with the lane.
        broken: A store failed: nothing that was encoded in this lane may be stored any more.
        grown: Whether what is remembered grew since it was weighed.
        generation: The count of deletions in the storage when the lane was last known to be sound.
        last: The checkpoint that was encoded last.
        waiting: How many steps were encoded in this lane and are not stored yet.
        contested: Whether something was encoded that does not go on from the last step while that one waited: it is another
            run's, and may refer to what is never stored.
    """

    __slots__ = (
        "accepted",
        "broken",
        "common",
        "contested",
        "frames",
        "generation",
        "grown",
        "key",
        "last",
        "lock",
        "offered",
        "opaque",
        "trackers",
        "waiting",
    )

    def __init__(self, key: Key, generation: int = 0) -> None:
        self.key = key
        self.lock = RLock()
        self.frames: dict[str, Frame] = {}
        self.trackers: dict[str, list[Tracker]] = {}
        self.opaque: dict[str, OpaqueValue] = {}
        self.common: tuple[dict[str, Any], Any] | None = None
        self.offered: dict[str, Any] | None = None
        self.accepted: dict[str, Any] | None = None
        self.broken = False
        self.grown = False
        self.generation = generation
        self.last: str | None = None
        self.waiting = 0
        self.contested = False

    def note_encoded(self, checkpoint_id: str, parent_id: str | None) -> None:
        """A step was encoded; the lane's lock is held."""
        if self.waiting and parent_id != self.last:
            self.contested = True
        self.last = checkpoint_id
        self.waiting += 1

    def note_stored(self) -> None:
        """A step that was encoded in this lane is stored."""
        with self.lock:
            self.waiting -= 1
            if self.waiting <= 0:
                self.contested = False

    def remember_frame(self, checkpoint_id: str, frame: Frame) -> None:
        """Remember the frame of a checkpoint, and forget the one remembered longest."""
        frames = self.frames
        if checkpoint_id in frames:
            del frames[checkpoint_id]
        frames[checkpoint_id] = frame
        if len(frames) > _FRAMES:
            del frames[next(iter(frames))]

    def tracker_for(self, channel: str, value: Any) -> Tracker | None:
        """The tracker that a value seems to go on from."""
        trackers = self.trackers.get(channel)
        if trackers is None:
            return None
        if len(trackers) > 1:
            best = max(range(len(trackers)), key=lambda i: (trackers[i].fits(value), -i))
            if best:
                trackers.insert(0, trackers.pop(best))
        return trackers[0]

    def replace_tracker(self, channel: str, earlier: Tracker | None, tracker: Tracker | None) -> None:
        """Put a tracker in the place of the one that could not go on."""
        self.grown = True
        trackers = self.trackers.get(channel)
        if trackers is None:
            if tracker is not None:
                self.trackers[channel] = [tracker]
            return
        if earlier is not None and earlier in trackers:
            trackers.remove(earlier)
        if tracker is not None:
            trackers.insert(0, tracker)
            del trackers[_TRACKERS:]
        if not trackers:
            del self.trackers[channel]

    def seed(self, checkpoint_id: str, frame: Frame, loaded: Mapping[str, Tracker | OpaqueValue]) -> None:
        """Go on from what was just read. What a writer uses stays: it is in front, and only loads push each other out."""
        self.remember_frame(checkpoint_id, frame)
        self.grown = True
        for channel, known in loaded.items():
            if isinstance(known, OpaqueValue):
                self.opaque[channel] = known
                continue
            trackers = self.trackers.setdefault(channel, [])
            trackers.insert(1, known)
            del trackers[_TRACKERS:]

    def weight(self) -> float:
        """About how many bytes the remembered values are stored with."""
        return LANE_WEIGHT + sum([t.live for trackers in self.trackers.values() for t in trackers])


_UNCHANGING: Final = frozenset((str, int, float, bool, type(None)))


def common_part(lane: Lane, metadata: Mapping[str, Any], form: Callable[[dict[str, Any]], Any]) -> Any:
    """The saver's form of metadata without its `source` and `step`, made anew only if it changed since the last step.

    Args:
        lane: Remembers it.
        metadata: All of it, with both of them.
        form: Makes the form.
    """
    known = lane.common
    if known is not None and lane.offered is not None and lane.offered is lane.accepted:
        return known[1]
    lane.accepted = lane.offered
    if known is not None and len(known[0]) == len(metadata) - 2:
        for name, value in metadata.items():
            last = known[0].get(name, MISSING)
            if last is MISSING:
                if name != "step" and name != "source":
                    break
            elif last is not value and (type(value) is not type(last) or value != last):
                break
        else:
            return known[1]
    rest = {name: value for name, value in metadata.items() if name != "source" and name != "step"}
    result = form(rest)
    lane.common = None
    if all(type(v) in _UNCHANGING or (type(v) is dict and _is_flat(v)) for v in rest.values()):
        lane.common = ({name: v.copy() if type(v) is dict else v for name, v in rest.items()}, result)
    return result


def _is_flat(value: dict[Any, Any]) -> bool:
    return all(type(k) is str and type(v) is str for k, v in value.items())


class Lanes:
    """The lanes that are remembered.

    Args:
        budget: About how many bytes the remembered values of all lanes may be stored with.
    """

    def __init__(self, budget: float = 32 * 1024 * 1024) -> None:
        self.budget = budget
        self._lanes: OrderedDict[Key, Lane] = OrderedDict()
        self._weights: dict[Key, float] = {}
        self._total = 0.0
        self._recent: Lane | None = None
        self._guard = RLock()

    def get(self, key: Key) -> Lane | None:
        """A lane that is remembered."""
        lane = self._lanes.get(key)
        if lane is not None and lane is not self._recent:
            try:
                self._lanes.move_to_end(key)
            except KeyError:
                return None
            self._recent = lane
        return lane

    def open(self, key: Key, generation: int = 0) -> Lane:
        """A lane, remembered from now on."""
        with self._guard:
            lane = self._lanes.get(key)
            if lane is None:
                lane = self._lanes[key] = Lane(key, generation)
                self._weigh(key, LANE_WEIGHT)
            return lane

    def weigh(self, lane: Lane) -> None:
        """Take note that what is remembered of a lane grew; forget others if it is too much."""
        lane.grown = False
        weight = lane.weight()
        with self._guard:
            if self._lanes.get(lane.key) is lane:
                self._weigh(lane.key, weight)

    def _weigh(self, key: Key, weight: float) -> None:
        self._total += weight - self._weights.get(key, 0)
        self._weights[key] = weight
        while self._total > self.budget and len(self._lanes) > 1:
            oldest = next(iter(self._lanes))
            if oldest == key:
                break
            self._forget(oldest)

    def _forget(self, key: Key) -> None:
        if self._lanes.pop(key, None) is not None:
            self._total -= self._weights.pop(key, 0)
            self._recent = None

    def forget(self, key: Key) -> None:
        """Forget a lane."""
        with self._guard:
            self._forget(key)

    def forget_thread(self, thread_id: str) -> None:
        """Forget all lanes of a thread."""
        with self._guard:
            for key in list(self._lanes):
                if key[0] == thread_id:
                    self._forget(key)

    def break_off(self, lane: Lane) -> None:
        """A store failed: let nothing refer to what was not stored."""
        lane.broken = True
        with self._guard:
            if self._lanes.get(lane.key) is lane:
                self._forget(lane.key)
