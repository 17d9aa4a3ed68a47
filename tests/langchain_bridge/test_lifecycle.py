"""Handlers that are told of pauses and of going on."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_bridge.recording import chain, one
from stepgraph.callbacks import (
    GraphCallbackHandler,
    GraphInterruptEvent,
    GraphResumeEvent,
    get_async_graph_callback_manager_for_config,
    get_sync_graph_callback_manager_for_config,
)
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.types import Command, interrupt


class Pauses(GraphCallbackHandler):
    def __init__(self):
        self.events = []

    def on_interrupt(self, event):
        self.events.append(event)

    def on_resume(self, event):
        self.events.append(event)

    def brief(self):
        return [
            ("pause", event.status, [i.value for i in event.interrupts])
            if isinstance(event, GraphInterruptEvent)
            else ("resume", event.status, [part.partition(":")[0] for part in event.checkpoint_ns])
            for event in self.events
        ]


def ask(state):
    return {"log": [interrupt("q")]}


def told(graph, *inputs, driver="sync"):
    handler = Pauses()
    config = {"configurable": {"thread_id": "1"}, "callbacks": [handler]}
    for given in inputs:
        if driver == "sync":
            graph.invoke(given, config)
        else:
            asyncio.run(graph.ainvoke(given, config))
    return handler


START = {"log": ["in"]}
each_driver = pytest.mark.parametrize("driver", ["sync", "async"])


@each_driver
def test_a_pause_and_its_end(driver):
    handler = told(chain(ask, checkpointer=InMemorySaver()), START, Command(resume="yes"), driver=driver)
    assert handler.brief() == [("pause", "pending", ["q"]), ("resume", "pending", [])]
    paused, resumed = handler.events
    assert isinstance(resumed, GraphResumeEvent)
    assert paused.checkpoint_id == resumed.checkpoint_id
    assert paused.run_id != resumed.run_id


@pytest.mark.parametrize("kind", ["interrupt_before", "interrupt_after"])
def test_a_breakpoint(kind):
    stop = {"interrupt_before": ["two"], "interrupt_after": ["one"]}[kind]
    graph = chain(one, ("two", one), checkpointer=InMemorySaver(), **{kind: stop})
    assert told(graph, START, None).brief() == [("pause", kind, []), ("resume", "pending", [])]


def test_a_pause_in_a_nested_graph_is_told_once_and_each_level_goes_on():
    graph = chain(("sub", chain(ask)), checkpointer=InMemorySaver())
    assert told(graph, START, Command(resume="yes")).brief() == [
        ("pause", "pending", ["q"]),
        ("resume", "pending", []),
        ("resume", "pending", ["sub"]),
    ]


def test_a_run_that_just_runs_is_not_told():
    assert told(chain(one, checkpointer=InMemorySaver()), START, START).events == []


def test_coroutine_functions_are_awaited():
    class Awaited(Pauses):
        async def on_interrupt(self, event):
            await asyncio.sleep(0)
            self.events.append(event)

    handler = Awaited()
    asyncio.run(chain(ask).ainvoke(START, {"callbacks": [handler]}))
    assert handler.brief() == [("pause", "pending", ["q"])]


def test_a_handler_that_raises_is_reported_or_fails_the_run(caplog):
    class Bad(GraphCallbackHandler):
        def on_interrupt(self, event):
            raise ValueError("in handler")

    assert "__interrupt__" in chain(ask).invoke(START, {"callbacks": [Bad()]})
    assert "in handler" in caplog.text
    Bad.raise_error = True
    with pytest.raises(ValueError, match="in handler"):
        chain(ask).invoke(START, {"callbacks": [Bad()]})


def test_managers_tell_the_handlers_of_a_config():
    handler = Pauses()
    event = GraphResumeEvent(None, "pending", "c", ())
    get_sync_graph_callback_manager_for_config({"callbacks": [handler]}).on_resume(event)
    manager = get_async_graph_callback_manager_for_config({"callbacks": [handler]})
    assert manager.is_async
    asyncio.run(manager.on_resume(event))
    assert handler.events == [event, event]
