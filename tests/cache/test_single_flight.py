"""One computation at a time for each key."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from stepgraph.cache.memory import InMemoryCache
from stepgraph.cache.single_flight import SingleFlight, State, flights_of
from stepgraph.cache.single_flight_aio import wait


def test_the_first_leads_and_the_others_wait():
    flights = SingleFlight()
    first, second, other = flights.enter("k"), flights.enter("k"), flights.enter("other")
    assert (first.state, second.state, other.state) == (State.LEADING, State.WAITING, State.LEADING)
    first.finish("result")
    assert (second.state, second.result) == (State.DONE, "result")
    other.leave()
    assert len(flights) == 0


def test_when_the_leader_gives_up_the_longest_waiting_leads():
    flights = SingleFlight()
    tickets = [flights.enter("k") for _ in range(3)]
    tickets[0].leave()
    assert [ticket.state for ticket in tickets] == [State.LEFT, State.LEADING, State.WAITING]
    tickets[1].leave()
    assert tickets[2].state is State.LEADING
    tickets[2].finish()
    assert len(flights) == 0


def test_one_who_leaves_the_line_is_passed_over():
    flights = SingleFlight()
    tickets = [flights.enter("k") for _ in range(3)]
    tickets[1].leave()
    tickets[0].leave()
    assert tickets[2].state is State.LEADING


def test_leaving_twice_or_after_the_end_changes_nothing():
    flights = SingleFlight()
    with flights.enter("k") as first, flights.enter("k") as second:
        first.finish(1)
        first.finish(2)
        first.leave()
    assert (second.state, second.result) == (State.DONE, 1)
    assert flights.enter("k").state is State.LEADING


def test_an_error_in_the_block_gives_up():
    flights = SingleFlight()
    waiting = []
    with pytest.raises(KeyError), flights.enter("k"):
        waiting.append(flights.enter("k"))
        raise KeyError
    assert waiting[0].state is State.LEADING


def compute_once(flights, key, compute):
    with flights.enter(key) as ticket:
        if ticket.wait(30):
            return ticket.result
        result = compute()
        ticket.finish(result)
        return result


def test_threads_compute_once():
    flights, gate, calls = SingleFlight(), threading.Barrier(8), []

    def work():
        gate.wait(10)
        with flights.enter("k") as ticket:
            if ticket.wait(30):
                return ticket.result
            while len(flights._flights["k"].waiting) < 7:
                time.sleep(0.001)
            calls.append(1)
            ticket.finish("result")
            return "result"

    with ThreadPoolExecutor(8) as pool:
        results = [future.result(30) for future in [pool.submit(work) for _ in range(8)]]
    assert results == ["result"] * 8
    assert calls == [1]
    assert len(flights) == 0


def test_a_thread_takes_over_from_one_that_failed():
    flights, started, go_on = SingleFlight(), threading.Event(), threading.Event()

    def fail():
        started.set()
        go_on.wait(10)
        raise OSError

    with ThreadPoolExecutor(2) as pool:
        failing = pool.submit(compute_once, flights, "k", fail)
        started.wait(10)
        other = pool.submit(compute_once, flights, "k", lambda: "second")
        while not flights._flights["k"].waiting:
            time.sleep(0.001)
        go_on.set()
        assert other.result(30) == "second"
        assert isinstance(failing.exception(30), OSError)


def test_a_wait_can_end_before_the_result_is_there():
    flights = SingleFlight()
    first, second = flights.enter("k"), flights.enter("k")
    assert not second.wait(0.001)
    assert second.state is State.WAITING
    first.finish(1)
    assert second.wait()
    assert second.result == 1


def test_tasks_compute_once():
    async def main():
        flights, calls = SingleFlight(), []

        async def work():
            with flights.enter("k") as ticket:
                if await wait(ticket):
                    return ticket.result
                calls.append(1)
                await asyncio.sleep(0)
                ticket.finish("result")
                return "result"

        assert await asyncio.gather(*(work() for _ in range(20))) == ["result"] * 20
        assert calls == [1]

    asyncio.run(main())


def test_a_task_takes_over_from_one_that_is_cancelled():
    async def main():
        flights, never = SingleFlight(), asyncio.Event()

        async def work(hang):
            with flights.enter("k") as ticket:
                if await wait(ticket):
                    return ticket.result
                if hang:
                    await never.wait()
                ticket.finish("second")
                return "second"

        tasks = [asyncio.create_task(work(hang)) for hang in (True, True, False, False)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.sleep(0)
        tasks[0].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results[:2]] == [asyncio.CancelledError] * 2
        assert results[2:] == ["second", "second"]
        assert len(flights) == 0

    asyncio.run(main())


def test_a_thread_and_a_task_share_one_computation():
    async def main():
        flights = SingleFlight()
        with flights.enter("k") as leader:
            thread = asyncio.create_task(asyncio.to_thread(compute_once, flights, "k", lambda: "thread"))
            while not flights._flights["k"].waiting:
                await asyncio.sleep(0.001)
            leader.finish("loop")
        assert await thread == "loop"

    asyncio.run(main())


def test_one_whose_loop_is_gone_is_passed_over():
    flights = SingleFlight()
    leader = flights.enter("k")
    gone, last = flights.enter("k"), flights.enter("k")
    loop = asyncio.new_event_loop()
    gone.notify(lambda: loop.call_soon_threadsafe(print))
    loop.close()
    leader.leave()
    assert (gone.state, last.state) == (State.LEFT, State.LEADING)


def test_a_computation_does_not_wait_for_itself():
    flights = SingleFlight()
    outer = flights.enter("k")
    inner = flights.enter("other", within=outer)
    assert flights.enter("k", within=inner).state is State.ALONE


def test_two_computations_do_not_wait_for_each_other():
    """1. one leads a, two leads b. 2. one, within a, waits for b. 3. two, within b, must not wait for a."""
    flights = SingleFlight()
    one, two = flights.enter("a"), flights.enter("b")
    assert flights.enter("b", within=one).state is State.WAITING
    alone = flights.enter("a", within=two)
    assert alone.state is State.ALONE
    assert not alone.wait()
    alone.finish("not shared")
    assert one.state is State.LEADING


def test_a_part_of_a_computation_may_wait_for_another():
    flights = SingleFlight()
    one, two = flights.enter("a"), flights.enter("b")
    part = flights.enter("b", within=one)
    assert part.state is State.WAITING
    two.finish(1)
    assert part.state is State.DONE


def test_a_cache_has_one_register():
    one, two = InMemoryCache(), InMemoryCache()
    assert flights_of(one) is flights_of(one)
    assert flights_of(one) is not flights_of(two)


class Flights(RuleBasedStateMachine):
    """Whatever happens, each key has exactly one leader as long as anybody is there."""

    def __init__(self):
        super().__init__()
        self.flights = SingleFlight()
        self.tickets = []
        self.woken = []

    @rule(key=st.sampled_from("ab"), inside=st.integers(0, 9), nested=st.booleans())
    def enter(self, key, inside, nested):
        leading = [ticket for ticket in self.tickets if ticket.state is State.LEADING]
        within = leading[inside % len(leading)] if nested and leading else None
        ticket = self.flights.enter(key, within)
        ticket.notify(lambda: self.woken.append(ticket))
        self.tickets.append(ticket)

    @rule(which=st.integers(0, 99))
    def leave(self, which):
        if self.tickets:
            self.tickets[which % len(self.tickets)].leave()

    @rule(which=st.integers(0, 99))
    def finish(self, which):
        able = [ticket for ticket in self.tickets if ticket.state in (State.LEADING, State.ALONE)]
        if able:
            able[which % len(able)].finish(which)

    @invariant()
    def one_leader_a_key(self):
        for key in "ab":
            states = [ticket.state for ticket in self.tickets if ticket.key == key]
            leaders = states.count(State.LEADING)
            assert leaders <= 1
            assert leaders == 1 or State.WAITING not in states
            assert (key in self.flights._flights) == bool(leaders)

    @invariant()
    def each_is_woken_once(self):
        assert len(self.woken) == len(set(map(id, self.woken)))
        assert not any(ticket.state is State.WAITING for ticket in self.woken)


Flights.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
test_any_order_of_events = Flights.TestCase
