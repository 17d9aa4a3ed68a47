"""Where handlers are called, and which are not called at all."""

from __future__ import annotations

import asyncio
import threading

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler

from langchain_bridge.recording import chain
from stepgraph.langchain import dispatch
from stepgraph.langchain.dispatch import LATE_SECONDS, QUICK_CALLS, QUICK_SECONDS, Hearers, Pace


class Silent(BaseCallbackHandler):
    pass


class Plain(BaseCallbackHandler):
    def __init__(self):
        self.threads = []

    def on_chain_start(self, serialized, inputs, **rest):
        self.threads.append(threading.current_thread())


class Inline(Plain):
    run_inline = True


class Awaited(AsyncCallbackHandler):
    def __init__(self):
        self.threads = []

    async def on_chain_start(self, serialized, inputs, **rest):
        self.threads.append(threading.current_thread())


async def node(state):
    return {}


def threads_of(handler, nodes=8):
    graph = chain(*[(f"n{number}", node) for number in range(nodes)])
    asyncio.run(graph.ainvoke({"log": []}, {"callbacks": [handler]}))
    return [thread is threading.main_thread() for thread in handler.threads]


@pytest.fixture
def pace(monkeypatch):
    """Lets a test say how long calls take: the clock goes on by this much at each look."""
    seconds = [0.0]

    def now():
        clock[0] += seconds[0]
        return clock[0]

    clock = [0.0]
    monkeypatch.setattr(dispatch, "perf_counter", now)
    return seconds


def test_handlers_are_sorted_by_what_they_do():
    handlers = [Silent(), Plain(), Inline(), Awaited()]
    hearers = Hearers(handlers, "on_chain_start")
    assert hearers.all == handlers[1:]
    assert hearers.awaited == handlers[3:]
    assert hearers.plain == handlers[1:3]
    assert hearers.direct == handlers[2:]
    assert [handler for handler, _ in hearers.threaded] == handlers[1:2]
    assert Hearers(handlers, "on_chain_end").all == []


def test_a_handler_may_get_a_method_of_its_own():
    silent = Silent()
    silent.on_chain_end = lambda *given, **rest: None
    assert Hearers([silent], "on_chain_end").all == [silent]


def test_a_plain_handler_does_not_hold_up_the_event_loop(pace):
    pace[0] = QUICK_SECONDS * 2
    assert not any(threads_of(Plain()))


def test_one_that_is_quick_is_called_at_once(pace):
    assert threads_of(Plain()) == [False] * QUICK_CALLS + [True] * (9 - QUICK_CALLS)


def test_what_is_known_of_a_handler_is_kept_over_runs(pace):
    handler = Plain()
    threads_of(handler)
    handler.threads.clear()
    assert all(threads_of(handler))


def test_inline_and_awaited_handlers_run_on_the_event_loop():
    assert all(threads_of(Inline()))
    assert all(threads_of(Awaited()))


def test_a_pace_is_quick_after_some_quick_calls():
    pace = Pace()
    for _ in range(QUICK_CALLS):
        assert not pace
        pace.took(QUICK_SECONDS / 2)
    assert pace
    pace.took(QUICK_SECONDS * 2)
    assert not pace


def test_a_pace_that_was_late_is_never_quick_again():
    pace = Pace()
    pace.took(LATE_SECONDS * 2)
    for _ in range(QUICK_CALLS * 2):
        pace.took(0)
    assert not pace


class Broken(BaseCallbackHandler):
    def on_chain_start(self, serialized, inputs, **rest):
        raise KeyError("lost")


def test_a_handler_that_fails_is_reported_in_its_name_and_the_others_hear(caplog):
    plain = Plain()
    assert chain(("n", lambda state: {})).invoke({"log": []}, {"callbacks": [Broken(), plain]}) == {"log": []}
    assert len(plain.threads) == 2
    assert [record.getMessage() for record in caplog.records] == [
        "Error in Broken.on_chain_start callback: KeyError('lost')"
    ] * 2


def test_a_handler_that_raises_on_purpose_raises_its_own_error():
    strict = Broken()
    strict.raise_error = True
    with pytest.raises(KeyError, match="lost"):
        chain(("n", lambda state: {})).invoke({"log": []}, {"callbacks": [strict]})


def test_a_plain_method_may_answer_a_coroutine():
    heard = []

    async def hear(name):
        heard.append(name)

    class Indirect(BaseCallbackHandler):
        def on_chain_start(self, serialized, inputs, *, name=None, **rest):
            return hear(name)

    chain(("n", lambda state: {})).invoke({"log": []}, {"callbacks": [Indirect()]})
    assert heard == ["LangGraph", "n"]


def test_a_handler_without_a_hash_is_served_too():
    class Unhashable(Plain):
        __hash__ = None

    assert threads_of(Unhashable(), nodes=1) == [False, False]
