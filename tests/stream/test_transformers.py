"""Transformers: their projections, what they keep from the stream, and how they end."""

from __future__ import annotations

import asyncio

import pytest

from stepgraph.graph import START, StateGraph
from stepgraph.stream import StreamChannel, StreamTransformer
from stepgraph.stream.transformers import (
    CheckpointsTransformer,
    CustomTransformer,
    DebugTransformer,
    TasksTransformer,
    UpdatesTransformer,
)
from stream.graphs import Log, bad, chain, one, two

GIVEN = {"log": ["in"]}


def run(graph, *transformers, **options):
    return graph.stream_events(GIVEN, version="v3", transformers=transformers, **options)


class Count(StreamTransformer):
    required_stream_modes = ("updates",)
    name = None

    def init(self):
        self.count, self.channel, self.ends = 0, StreamChannel(self.name), []
        return {"counts": self.channel, "ends": self.ends}

    def process(self, event):
        if event["method"] != "updates":
            return True
        self.count += 1
        self.channel.push(self.count)
        return False

    def finalize(self):
        self.ends.append("end")

    def fail(self, err):
        self.ends.append(err)


class Named(Count):
    name = "count"


def test_modes_that_a_transformer_needs():
    stream = run(chain(one, two), UpdatesTransformer)
    assert list(stream.updates) == [{"one": {"log": ["one"]}}, {"two": {"log": ["two"]}}]


def test_all_modes_have_one():
    def node(state, writer):
        writer("sent")
        return {}

    stream = run(chain(node), CustomTransformer, TasksTransformer, DebugTransformer, CheckpointsTransformer)
    found = list(stream.interleave("custom", "tasks", "debug", "checkpoints"))
    assert sorted(name for name, _ in found) == ["custom", "debug", "debug", "tasks", "tasks"]
    assert ("custom", "sent") in found


def test_tasks_are_not_shown_in_the_stream_itself():
    assert {event["method"] for event in run(chain(one), TasksTransformer)} == {"values"}


def test_a_projection_of_ones_own():
    stream = run(chain(one, two), Count)
    assert list(stream.extensions["counts"]) == [1, 2]
    assert stream.extensions["ends"] == ["end"]
    with pytest.raises(AttributeError, match="counts"):
        stream.counts  # noqa: B018


def test_what_it_keeps_back_is_not_shown():
    assert {event["method"] for event in run(chain(one), Count)} == {"values"}


def test_a_named_channel_is_shown_as_events_of_its_own():
    events = list(run(chain(one), Named))
    assert [(event["method"], event["seq"]) for event in events] == [
        ("values", 1),
        ("custom:count", 2),
        ("values", 3),
    ]


def test_it_learns_of_a_failure():
    stream = run(chain(bad), Count)
    with pytest.raises(ValueError, match="boom"):
        list(stream)
    assert [str(end) for end in stream.extensions["ends"]] == ["boom"]


def test_transformers_of_a_compiled_graph():
    graph = StateGraph(Log).add_node("one", one).add_edge(START, "one").compile(transformers=[Count])
    assert list(run(graph).extensions["counts"]) == [1]


def test_a_nested_graph_has_transformers_of_its_own():
    scopes = []

    class Scopes(Count):
        def init(self):
            scopes.append([part.partition(":")[0] for part in self.scope])
            return super().init()

    for nested in run(chain(("sub", chain(one, two))), Scopes).subgraphs:
        assert list(nested.extensions["counts"]) == [1, 2]
    assert scopes == [[], ["sub"]]


def test_one_that_wants_to_be_first():
    order = []

    class Note(StreamTransformer):
        def init(self):
            return {}

        def process(self, event):
            order.append(type(self).__name__)
            return True

    class First(Note):
        before_builtins = True

    list(run(chain(one), Note, First))
    assert order[:2] == ["First", "Note"]


def test_it_cannot_hide_the_output():
    class Hide(StreamTransformer):
        before_builtins = True

        def init(self):
            return {}

        def process(self, event):
            return False

    stream = run(chain(one), Hide)
    assert list(stream) == []
    assert stream.output == {"log": ["in", "one"]}


def test_one_that_raises_fails_the_run():
    class Raises(StreamTransformer):
        def init(self):
            return {}

        def process(self, event):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        list(run(chain(one), Raises))


def test_wrong_ones_are_refused():
    class NoDict(Count):
        def init(self):
            return 5

    class Taken(Count):
        def init(self):
            return {"values": 1}

    class Idle(StreamTransformer):
        def init(self):
            return {}

    class Awaiting(StreamTransformer):
        def init(self):
            return {}

        async def aprocess(self, event):
            return True

    with pytest.raises(TypeError, match="must return a dict, got int"):
        run(chain(one), NoDict)
    with pytest.raises(ValueError, match="'values' \\(owned by ValuesTransformer\\)"):
        run(chain(one), Taken)
    with pytest.raises(ValueError, match="'counts' \\(owned by Count\\)"):
        run(chain(one), Count, Count)
    with pytest.raises(NotImplementedError, match="Idle must override"):
        list(run(chain(one), Idle))
    with pytest.raises(TypeError, match="pre-built instance Count"):
        run(chain(one), Count())
    with pytest.raises(RuntimeError, match="Awaiting requires an async run"):
        run(chain(one), Awaiting)


# ---- asynchronous runs


def arun(graph, *transformers, read=None):
    async def go():
        stream = await graph.astream_events(GIVEN, version="v3", transformers=transformers)
        if read is not None:
            return [item async for item in stream.extensions[read]]
        return await stream.output()

    return asyncio.run(go())


def test_awaiting_transformers():
    told = []

    class Awaiting(StreamTransformer):
        def init(self):
            return {}

        async def aprocess(self, event):
            await asyncio.sleep(0)
            told.append(event["method"])
            return True

        async def afinalize(self):
            told.append("end")

    assert arun(chain(one), Awaiting) == {"log": ["in", "one"]}
    assert told == ["values", "tasks", "tasks", "values", "end"]


def scheduling(work, **options):
    class Schedules(Count):
        def process(self, event):
            if event["method"] == "updates":
                self.schedule(work(self), **options)
            return True

    return Schedules


def test_what_is_scheduled_ends_before_the_stream_does():
    async def push(transformer):
        await asyncio.sleep(0.01)
        transformer.channel.push("late")

    assert arun(chain(one, two), scheduling(push), read="counts") == ["late", "late"]


async def fail(transformer):
    raise KeyError("scheduled")


def test_what_is_scheduled_and_fails_is_logged(caplog):
    assert arun(chain(one), scheduling(fail)) == {"log": ["in", "one"]}
    assert "has failed" in caplog.text


def test_what_is_scheduled_and_fails_may_fail_the_run():
    with pytest.raises(KeyError, match="scheduled"):
        arun(chain(one), scheduling(fail, on_error="raise"))


def test_what_is_scheduled_is_cancelled_when_the_run_fails():
    waits, cancelled = asyncio.Event(), []

    async def wait(transformer):
        waits.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def later(state):
        await waits.wait()
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        arun(chain(one, later), scheduling(wait))
    assert cancelled == [True]


def test_scheduling_needs_a_loop():
    with pytest.raises(RuntimeError, match="needs an event loop"):
        list(run(chain(one), scheduling(fail)))
