"""Laws of a channel: each reader gets every item once and in order, at whatever pace it reads."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepgraph.stream import StreamChannel
from stepgraph.stream._mux import StreamMux
from stepgraph.stream._types import StreamTransformer


class Holder(StreamTransformer):
    """Puts a channel into a mux."""

    def init(self):
        self.channel = StreamChannel()
        return {"channel": self.channel}

    def process(self, event):
        return True


def bound(items, is_async=False):
    """A channel whose run pushes these items, one at each request, and then ends."""
    holder = Holder()
    mux = StreamMux([holder], is_async=is_async)
    left = iter(items)

    def pump():
        for item in left:
            holder.channel.push(item)
            return True
        mux.close()
        return False

    async def apump(ready):
        await asyncio.sleep(0)
        return ready() or pump()

    mux.bind_pump(pump)
    mux.bind_apump(apump)
    return holder.channel


@given(st.lists(st.integers()), st.lists(st.integers(0, 2)))
def test_readers_at_any_pace(items, order):
    readers = bound(items).tee(3)
    found = [[], [], []]
    for number in order:
        found[number] += [item for _, item in zip(range(1), readers[number])]
    for number, reader in enumerate(readers):
        found[number] += reader
    assert found == [items] * 3


@given(st.lists(st.integers()), st.integers(1, 4))
def test_readers_at_once(items, count):
    async def run():
        async def read(reader):
            return [item async for item in reader]

        return await asyncio.gather(*[read(reader) for reader in bound(items, True).atee(count)])

    assert asyncio.run(run()) == [items] * count


def test_a_channel_that_belongs_to_no_run():
    channel = StreamChannel("name")
    channel.push(1)
    with pytest.raises(TypeError, match="has not been bound"):
        iter(channel)
    with pytest.raises(TypeError, match="has not been bound"):
        channel.tee()


@pytest.mark.parametrize("most", [0, -1])
def test_a_size_must_be_positive(most):
    with pytest.raises(ValueError, match="positive"):
        StreamChannel(maxlen=most)


def test_a_closed_channel_takes_nothing_more_from_who_reads():
    channel = bound([1])
    assert list(channel) == [1]
    with pytest.raises(RuntimeError, match="closed"):
        channel.push(2)


def test_a_failure_comes_after_the_items():
    channel = bound([])
    reader = iter(channel)
    channel.push(1)
    channel.fail(ValueError("boom"))
    assert next(reader) == 1
    with pytest.raises(ValueError, match="boom"):
        next(reader)
