"""Asynchronous runs as events: several readers at once, cancellation, and the end."""

from __future__ import annotations

import asyncio

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.stream import AsyncGraphRunStream, AsyncSubgraphRunStream
from stepgraph.types import interrupt
from stream.graphs import bad, chain, one, two

GIVEN = {"log": ["in"]}
STATES = [{"log": ["in"]}, {"log": ["in", "one"]}, {"log": ["in", "one", "two"]}]


async def start(graph, **options):
    return await graph.astream_events(GIVEN, version="v3", **options)


async def gathered(items):
    return [item async for item in items]


def test_events_projections_and_output():
    async def run():
        stream = await start(chain(one, two))
        assert isinstance(stream, AsyncGraphRunStream)
        assert [event["params"]["data"] for event in await gathered(stream)] == STATES
        assert await stream.output() == STATES[-1]
        assert (await stream.interrupted(), await stream.interrupts()) == (False, [])
        assert await gathered((await start(chain(one, two))).values) == STATES
        return await (await start(chain(one, two))).output()

    assert asyncio.run(run()) == STATES[-1]


def test_several_readers():
    async def run():
        stream = await start(chain(("sub", chain(one, two))))

        async def nested():
            found = []
            async for handle in stream.subgraphs:
                assert isinstance(handle, AsyncSubgraphRunStream)
                found.append((await gathered(handle.values), await handle.output(), handle.status))
            return found

        first, second = stream.values.atee()
        return await asyncio.gather(gathered(first), gathered(second), nested(), stream.output())

    values, again, nested, output = asyncio.run(run())
    assert values == again == [{"log": ["in"]}, output]
    assert nested == [(STATES[1:], STATES[-1], "completed")]


def test_nothing_runs_before_it_is_asked_for():
    ran = []

    async def note(state):
        ran.append(True)
        return {}

    async def run():
        stream = await start(chain(note))
        await asyncio.sleep(0.01)
        assert ran == []
        await stream.output()

    asyncio.run(run())
    assert ran == [True]


def test_a_reader_that_is_cancelled_does_not_take_the_run_with_it():
    going = asyncio.Event()

    async def slow(state):
        await going.wait()
        return {"log": ["slow"]}

    async def run():
        stream = await start(chain(slow))
        values = stream.values.__aiter__()
        assert await anext(values) == STATES[0]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stream.output(), 0.02)
        going.set()
        return await stream.output()

    assert asyncio.run(run()) == {"log": ["in", "slow"]}


def test_a_failure_reaches_every_reader():
    async def run():
        stream = await start(chain(one, bad))
        first, second = stream.values.atee()
        results = await asyncio.gather(
            gathered(first), gathered(second), stream.output(), gathered(stream), return_exceptions=True
        )
        assert [str(result) for result in results] == ["boom"] * 4

    asyncio.run(run())


def test_a_node_that_cancels_itself_fails_the_run():
    async def cancels(state):
        raise asyncio.CancelledError

    async def run():
        await (await start(chain(cancels))).output()

    with pytest.raises(Exception, match="cancel"):
        asyncio.run(run())


def test_abort_cancels_what_runs():
    started, ended = asyncio.Event(), []

    async def slow(state):
        started.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(True)

    async def run():
        graph = chain(one, slow, checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "1"}}
        stream = await start(graph, config=thread)
        reading = asyncio.create_task(stream.output())
        while not (await graph.aget_state(thread)).values.get("log", [])[1:]:
            await asyncio.sleep(0.001)
        await started.wait()
        await stream.abort()
        await stream.abort()
        assert await stream.output() == STATES[1]
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(run()) == set()
    assert ended == [True]


def test_a_block_aborts():
    async def run():
        async with await start(chain(one, two)) as stream:
            async for value in stream.values:
                assert value == STATES[0]
                break
        return await stream.output()

    assert asyncio.run(run()) == STATES[0]


def test_a_pause():
    def ask(state):
        return {"log": [interrupt("q")]}

    async def run():
        stream = await start(chain(one, ask))
        return [question.value for question in await stream.interrupts()], await stream.interrupted()

    assert asyncio.run(run()) == (["q"], True)


def test_iterating_in_the_wrong_way():
    async def run():
        stream = await start(chain(one))
        with pytest.raises(TypeError, match="async for"):
            list(stream.values)
        with pytest.raises(TypeError, match="async for"):
            stream.values.tee()

    asyncio.run(run())
    with pytest.raises(TypeError, match="use 'for'"):
        chain(one).stream_events(GIVEN, version="v3").values.__aiter__()


def test_a_nested_failure_and_a_nested_pause():
    def ask(state):
        return {"log": [interrupt("q")]}

    async def ends(inner):
        stream = await start(chain(("sub", inner)))
        found = []
        try:
            async for handle in stream.subgraphs:
                found.append(handle)
        except ValueError:
            pass
        return [(handle.status, handle.error) for handle in found]

    assert asyncio.run(ends(chain(bad))) == [("failed", "boom")]
    assert asyncio.run(ends(chain(ask))) == [("interrupted", None)]
