"""Looking a value up so that it is computed once, by threads and by tasks."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from stepgraph.cache.lookup import look_up
from stepgraph.cache.lookup_aio import alook_up
from stepgraph.cache.memory import InMemoryCache
from stepgraph.cache.single_flight import State, flights_of

KEY = (("node",), "k")


class Work:
    """Counts computations; can be told to fail, and to hold until others wait."""

    def __init__(self, cache, fail=0, others=0, ttl=None):
        self.cache, self.fail, self.others, self.ttl, self.calls = cache, fail, others, ttl, 0

    def line(self):
        flight = flights_of(self.cache)._flights.get(KEY)
        return len(flight.waiting) if flight else 0

    def result(self):
        self.calls += 1
        if self.calls <= self.fail:
            raise OSError(self.calls)
        return [self.calls]

    def run(self, held=True):
        found = look_up(self.cache, KEY)
        if found.ticket is None:
            return found.value
        with found.ticket:
            while held and self.line() < self.others:
                time.sleep(0.001)
            value = self.result()
            self.cache.set({KEY: (value, self.ttl)})
            found.ticket.finish()
            return value

    async def arun(self):
        found = await alook_up(self.cache, KEY)
        if found.ticket is None:
            return found.value
        with found.ticket:
            while self.line() < self.others:
                await asyncio.sleep(0)
            value = self.result()
            await self.cache.aset({KEY: (value, self.ttl)})
            found.ticket.finish()
            return value


def outcomes(futures):
    return sorted(repr(future.exception(30) or future.result()) for future in futures)


def test_a_hit_needs_no_ticket():
    cache = InMemoryCache()
    cache.set({KEY: (None, None)})
    assert look_up(cache, KEY) == (None, None)


def test_threads_that_miss_compute_once():
    work = Work(InMemoryCache(), others=5)
    with ThreadPoolExecutor(6) as pool:
        assert outcomes([pool.submit(work.run) for _ in range(6)]) == ["[1]"] * 6
    assert work.calls == 1


def test_tasks_that_miss_compute_once():
    work = Work(InMemoryCache(), others=5)

    async def main():
        return await asyncio.gather(*(work.arun() for _ in range(6)))

    assert asyncio.run(main()) == [[1]] * 6
    assert work.calls == 1


def test_those_who_waited_share_nothing():
    work = Work(InMemoryCache(), others=1)

    async def main():
        one, two = await asyncio.gather(work.arun(), work.arun())
        one.append("changed")
        return two

    assert asyncio.run(main()) == [1]


def test_a_failure_is_the_failing_callers_own():
    work = Work(InMemoryCache(), fail=1)

    async def main():
        work.others = 2
        tasks = [asyncio.create_task(work.arun()) for _ in range(3)]
        await asyncio.wait(tasks[:1])
        work.others = 0
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, *others = asyncio.run(main())
    assert isinstance(first, OSError)
    assert others == [[2], [2]]


def test_a_cancelled_caller_is_replaced():
    work = Work(InMemoryCache(), others=9)

    async def main():
        tasks = [asyncio.create_task(work.arun()) for _ in range(3)]
        while work.line() < 2:
            await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[0].cancel()
        work.others = 0
        return await asyncio.gather(*tasks, return_exceptions=True)

    results = asyncio.run(main())
    assert [type(result) for result in results] == [asyncio.CancelledError] * 2 + [list]
    assert work.calls == 1


def test_a_value_that_lives_no_time_is_computed_by_each():
    work = Work(InMemoryCache(), ttl=0)
    with ThreadPoolExecutor(4) as pool:
        assert outcomes([pool.submit(work.run, False) for _ in range(4)]) == ["[1]", "[2]", "[3]", "[4]"]
    assert len(flights_of(work.cache)) == 0


def test_a_result_that_came_between_the_miss_and_the_turn_is_found():
    """1. we miss. 2. another computes, keeps and finishes. 3. it is our turn: we must look again."""

    class Late(InMemoryCache):
        other = None

        def get(self, keys):
            values = super().get(keys)
            if self.other is not None:
                other, self.other = self.other, None
                other()
            return values

    cache = Late()
    work = Work(cache)
    cache.other = work.run
    assert work.run() == [1]
    assert work.calls == 1
    assert len(flights_of(cache)) == 0


def test_a_cache_that_fails_while_we_lead_leaves_nobody_waiting():
    class Broken(InMemoryCache):
        gets = 0

        def get(self, keys):
            self.gets += 1
            if self.gets == 2:
                raise OSError("down")
            flights_of(self).finished += 1
            return super().get(keys)

    cache = Broken()
    with pytest.raises(OSError, match="down"):
        look_up(cache, KEY)
    assert len(flights_of(cache)) == 0


def test_a_computation_that_asks_for_itself_computes():
    cache = InMemoryCache()
    outer = look_up(cache, KEY)
    assert outer.ticket is not None
    inner = look_up(cache, KEY, within=outer.ticket)
    assert inner.ticket is not None
    assert inner.ticket.state is State.ALONE


def test_a_thread_and_a_task_wait_for_each_other():
    work = Work(InMemoryCache(), others=1)

    async def main():
        return await asyncio.gather(work.arun(), asyncio.to_thread(work.run))

    assert asyncio.run(main()) == [[1], [1]]
