"""LangChain's own code finds the config of the node that calls it, and nothing once the node is left."""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from copy import deepcopy

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.runnables import RunnableLambda, ensure_config
from langchain_core.runnables.config import var_child_runnable_config

from langchain_bridge.recording import chain, one
from stepgraph.langchain.ambient import TASK_CONFIG


def seen_in(graph, driver="sync", **config):
    if driver == "sync":
        graph.invoke({"log": []}, config)
    else:
        asyncio.run(graph.ainvoke({"log": []}, config))


def noting(found):
    def node(state):
        found.append(ensure_config())
        return {}

    return node


each_driver = pytest.mark.parametrize("driver", ["sync", "async"])


@each_driver
def test_a_node_finds_its_config(driver):
    found = []
    seen_in(chain(("node", noting(found))), driver, configurable={"thread_id": "1"}, metadata={"m": 1})
    (config,) = found
    assert config["configurable"]["thread_id"] == "1"
    assert config["metadata"]["langgraph_node"] == "node"
    assert config["metadata"]["m"] == 1


def test_an_async_node_finds_its_config():
    found = []

    async def node(state):
        found.append(ensure_config())
        await asyncio.sleep(0)
        found.append(await asyncio.create_task(here()))
        return {}

    async def here():
        return ensure_config()

    seen_in(chain(node), "async", configurable={"thread_id": "1"})
    assert [config["metadata"]["langgraph_node"] for config in found] == ["node", "node"]


def test_parallel_nodes_find_their_own():
    found = []
    child = chain(("inner", noting(found)))

    def call(state):
        found.append(ensure_config())
        child.invoke(state)
        found.append(ensure_config())
        return {}

    seen_in(chain(call))
    assert [config["metadata"]["langgraph_node"] for config in found] == ["call", "inner", "call"]


def test_a_thread_with_the_nodes_context_finds_it():
    found = []

    def node(state):
        worker = threading.Thread(target=copy_context().run, args=(lambda: found.append(ensure_config()),))
        worker.start()
        worker.join()
        return {}

    seen_in(chain(node), metadata={"m": 1})
    assert found[0]["metadata"]["langgraph_node"] == "node"


def test_a_streamed_node_finds_it_and_the_consumer_does_not():
    found, outside = [], []
    for _ in chain(("node", noting(found)), one).stream({"log": []}):
        outside.append(var_child_runnable_config.get())
    assert found[0]["metadata"]["langgraph_node"] == "node"
    assert outside == [None, None]


def test_a_consumer_inside_a_runnable_keeps_its_config():
    seen = []

    def consume(text):
        for _ in chain(one).stream({"log": []}):
            seen.append(ensure_config()["tags"])

    RunnableLambda(consume).invoke("x", {"tags": ["mine"]})
    assert seen == [["mine"]]


def test_an_async_consumer_keeps_its_config():
    found, outside = [], []

    async def run():
        async for _ in chain(("node", noting(found)), one).astream({"log": []}):
            outside.append(var_child_runnable_config.get())

    asyncio.run(run())
    assert found[0]["metadata"]["langgraph_node"] == "node"
    assert outside == [None, None]


@each_driver
def test_nothing_stays_behind(driver):
    async def run():
        await chain(one).ainvoke({"log": []})
        return var_child_runnable_config.get()

    if driver == "sync":
        chain(one).invoke({"log": []})
        assert var_child_runnable_config.get() is None
    else:
        assert asyncio.run(run()) is None


def test_nothing_stays_behind_after_a_failure():
    def bad(state):
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        chain(bad).invoke({"log": []})
    assert var_child_runnable_config.get() is None


def test_a_runnable_in_a_node_is_given_the_nodes_config():
    seen = []

    def node(state):
        RunnableLambda(lambda text, config: seen.append(config["configurable"]["user"])).invoke("x")
        return {}

    seen_in(chain(node), configurable={"user": "u1"})
    assert seen == ["u1"]


def test_outside_of_a_run_it_is_an_empty_dict():
    assert not TASK_CONFIG
    assert TASK_CONFIG == {}
    assert {**TASK_CONFIG} == {}
    assert list(TASK_CONFIG) == []
    assert TASK_CONFIG | {"a": 1} == {"a": 1}


def test_inside_of_one_it_is_the_tasks_dict():
    seen = []

    def node(state, config):
        ours = TASK_CONFIG
        seen.append((bool(ours), ours == config, {**ours} == config, ours.copy() == config))
        seen.append((set(ours) == set(config), "metadata" in ours, len(ours) == len(config), ours.get("no")))
        seen.append((ours["metadata"] is config["metadata"], ({"a": 1} | ours)["a"], type(deepcopy({}))))
        return {}

    chain(node).invoke({"log": []})
    assert seen == [(True, True, True, True), (True, True, True, None), (True, 1, dict)]
