"""The counter behind bounded concurrency, alone."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from stepgraph.pregel.drivers.slots import RunSlot, Slots


def test_slots_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    slots = Slots(1)
    order: list[str] = []
    assert slots.take(lambda: order.append("first"))
    assert not slots.take(lambda: order.append("second"))
    assert not slots.take(lambda: order.append("third"))
    slots.give_back()
    slots.give_back()
    assert order == ["second", "third"]


def test_who_leaves_the_queue_is_not_given_a_slot() -> None:
    slots = Slots(1)
    order: list[str] = []

    def second() -> None:
        order.append("second")

    slots.take(second)
    slots.take(second)
    slots.take(lambda: order.append("third"))
    slots.leave(second)
    slots.give_back()
    assert order == ["third"]


def test_who_leaves_after_it_was_given_a_slot_passes_it_on() -> None:
    slots = Slots(1)
    order: list[str] = []

    def second() -> None:
        order.append("second")

    slots.take(lambda: None)
    slots.take(second)
    slots.give_back()
    slots.take(lambda: order.append("third"))
    slots.leave(second)
    assert order == ["second", "third"]


def test_a_task_lends_its_slot_while_any_graph_runs() -> None:
    slots = Slots(1)
    slots.wait()
    held = RunSlot(slots)
    held.lend()
    held.lend()
    slots.wait()
    slots.give_back()
    held.regain()
    slots.wait()
    slots.give_back()
    held.regain()
    assert not slots.take(lambda: None)


def test_an_attempt_that_ends_while_a_graph_runs_gives_nothing_back_twice() -> None:
    slots = Slots(1)
    slots.wait()
    held = RunSlot(slots)
    held.lend()
    held.end()
    held.regain()
    assert slots.take(lambda: None)
    assert not slots.take(lambda: None)


def test_overdrawn_slots_are_paid_back_first() -> None:
    slots = Slots(1)
    slots.wait()
    slots.overdraw()
    woken: list[int] = []
    slots.take(lambda: woken.append(1))
    slots.give_back()
    assert woken == []
    slots.give_back()
    assert woken == [1]


class Taker:
    """Somebody who asks for a slot, is given one now or later, and gives it back or stops waiting."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.holds = False
        self.holds = slots.take(self.wake)

    def wake(self) -> None:
        self.holds = True

    def leave(self) -> None:
        if self.holds:
            self.slots.give_back()
        else:
            self.slots.leave(self.wake)


@given(st.integers(1, 3), st.lists(st.integers(-1, 5), max_size=60))
def test_no_slot_is_lost_or_made(count: int, actions: list[int]) -> None:
    """A negative action asks for a slot; any other makes somebody leave. Slots are never idle while somebody waits."""
    slots = Slots(count)
    takers: list[Taker] = []
    for action in actions:
        if action < 0:
            takers.append(Taker(slots))
        elif takers:
            takers.pop(action % len(takers)).leave()
        assert sum(taker.holds for taker in takers) == min(count, len(takers))


def test_threads_wait_for_each_other() -> None:
    slots = Slots(2)
    most = [0, 0]
    lock = threading.Lock()

    def work() -> None:
        slots.wait()
        with lock:
            most[0] += 1
            most[1] = max(most)
        threading.Event().wait(0.001)
        with lock:
            most[0] -= 1
        slots.give_back()

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [0, 2]
