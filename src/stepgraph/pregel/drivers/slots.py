"""How many tasks may run at once: one counter a root run (`max_concurrency` of the config), one a node that says so.

Theory of operation. A task takes a slot for each attempt and gives it back when the attempt ends, so a task that waits for
its next attempt holds none. A task that waits for a graph it runs holds none of the run's slots either: it lends its slot
when that graph begins, and takes one again when the last graph it runs has ended. Whoever holds a slot of the run is thus
at work and will give it back, so waiting cannot go on for ever. A node's own slots are kept while a graph inside runs; a
node that runs itself again inside, at any depth, does not take a second one.

Slots are given in the order in which they were asked for, to threads and event loops alike.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task

Wake = Callable[[], Any]


class Slots:
    """A counter with a queue."""

    __slots__ = ("_free", "_lock", "_waiting")

    def __init__(self, count: int) -> None:
        self._free = count
        self._lock = threading.Lock()
        self._waiting: deque[Wake] = deque()

    def take(self, wake: Wake) -> bool:
        """Take a slot if one is free; else `wake` is called, once, from any thread, when it was given one."""
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return True
            self._waiting.append(wake)
            return False

    def overdraw(self) -> None:
        """Take a slot whether one is free or not."""
        with self._lock:
            self._free -= 1

    def give_back(self) -> None:
        """Give a slot to whoever has waited longest."""
        with self._lock:
            if self._free < 0 or not self._waiting:
                self._free += 1
                return
            wake = self._waiting.popleft()
        wake()

    def leave(self, wake: Wake) -> None:
        """Wait no longer; a slot that was given meanwhile goes on to the next."""
        with self._lock:
            if wake in self._waiting:
                self._waiting.remove(wake)
                return
        self.give_back()

    def wait(self) -> None:
        """Take a slot, waiting for it in this thread."""
        lock = threading.Lock()
        lock.acquire()
        wake = lock.release
        if self.take(wake):
            return
        try:
            lock.acquire()
        except BaseException:
            self.leave(wake)
            raise


class RunSlot:
    """What one task holds of its run's slots: one, or none while graphs run that it waits for."""

    __slots__ = ("_children", "_ended", "_lock", "slots")

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self._children = 0
        self._ended = False
        self._lock = threading.Lock()

    def lend(self) -> None:
        """A graph begins that the task waits for."""
        with self._lock:
            self._children += 1
            first = self._children == 1
        if first:
            self.slots.give_back()

    def regain(self) -> None:
        """Such a graph has ended: take a slot again, waiting for it in this thread."""
        if self.needs_slot():
            self.slots.wait()
            self.regained()

    def regain_at_once(self) -> None:
        """The same where nobody may wait: the run's bound is passed for a moment."""
        if self.needs_slot():
            self.slots.overdraw()
            self.regained()

    def needs_slot(self) -> bool:
        """Such a graph has ended; answers whether it was the last, so that the task must take a slot again."""
        with self._lock:
            if self._children > 1:
                self._children -= 1
                return False
            return not self._ended

    def regained(self) -> None:
        """The slot was taken again."""
        with self._lock:
            self._children -= 1
            needed = self._children == 0 and not self._ended
        if not needed:
            self.slots.give_back()

    def end(self) -> None:
        """The attempt is over."""
        with self._lock:
            self._ended = True
            holds = self._children == 0
        if holds:
            self.slots.give_back()


def node_slots(task: Task) -> Slots | None:
    """The slots of a task's node; None where it has none, or where the node is at work above this task already."""
    policy = task.node.policy
    if policy is None or policy.max_concurrency is None:
        return None
    above = task.machine.parent
    while above is not None:
        if above.node is task.node:
            return None
        above = above.machine.parent
    if policy.slots is None:
        with _MAKING:
            if policy.slots is None:
                policy.slots = Slots(policy.max_concurrency)
    slots: Slots = policy.slots
    return slots


_MAKING = threading.Lock()
