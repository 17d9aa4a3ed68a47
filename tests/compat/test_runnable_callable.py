"""The runnable that packages make their nodes and paths of."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from typing_extensions import TypedDict

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableLambda

from stepgraph.config import get_config
from stepgraph.graph import START, StateGraph
from stepgraph.runtime import Runtime
from stepgraph.store.memory import InMemoryStore
from stepgraph.utils.runnable import RunnableCallable


class State(TypedDict, total=False):
    seen: Any


async def twice(value: int) -> int:
    return value * 2


def call(runnable: Any, value: Any, way: str, config: Any = None, **kwargs: Any) -> Any:
    if way == "sync":
        return runnable.invoke(value, config, **kwargs)
    return asyncio.run(runnable.ainvoke(value, config, **kwargs))


way = pytest.mark.parametrize("way", ["sync", "async"])


@way
@pytest.mark.parametrize("trace", [True, False])
def test_it_calls_the_function_of_its_form(way: str, trace: bool) -> None:
    async def asynchronous(value: int) -> str:
        return f"async {value}"

    both = RunnableCallable(lambda value: f"sync {value}", asynchronous, trace=trace)
    assert call(both, 1, way) == f"{way} 1"
    assert call(RunnableCallable(lambda value: value, trace=trace), 1, way) == 1


def test_a_form_that_is_missing_says_so() -> None:
    with pytest.raises(TypeError, match='No synchronous function provided to "twice"'):
        RunnableCallable(None, twice).invoke(1)
    with pytest.raises(ValueError, match="func, afunc, or both"):
        RunnableCallable(None)


@way
def test_as_a_node_it_gets_what_a_function_would(way: str) -> None:
    store = InMemoryStore()

    def node(state: State, config: Any, runtime: Runtime, store: Any, writer: Any) -> State:
        return {"seen": (type(runtime).__name__, store, callable(writer), config["configurable"]["mine"])}

    graph = StateGraph(State).add_node("node", RunnableCallable(node, trace=False)).add_edge(START, "node")
    found = call(graph.compile(store=store), {}, way, {"configurable": {"mine": 7}})
    assert found == {"seen": ("Runtime", store, True, 7)}


@way
def test_an_asynchronous_one_is_a_node_of_either_kind_of_run(way: str) -> None:
    async def node(state: State) -> State:
        return {"seen": "async"}

    graph = StateGraph(State).add_node("node", RunnableCallable(None, node)).add_edge(START, "node").compile()
    assert call(graph, {}, way) == {"seen": "async"}
    lone = StateGraph(State).add_node("node", RunnableLambda(node)).add_edge(START, "node").compile()
    assert call(lone, {}, way) == {"seen": "async"}


@way
def test_it_is_a_path(way: str) -> None:
    def path(state: State, config: Any) -> str:
        return str(config["configurable"]["to"])

    graph = StateGraph(State).add_node("a", lambda s: {"seen": "a"}).add_node("b", lambda s: {"seen": "b"})
    graph.add_conditional_edges(START, RunnableCallable(path, trace=False), ["a", "b"])
    assert call(graph.compile(), {}, way, {"configurable": {"to": "b"}}) == {"seen": "b"}


@way
def test_what_a_running_graph_gives_is_asked_for_only_where_there_is_one(way: str) -> None:
    with pytest.raises(ValueError, match=r"asks for 'runtime', which only a running graph can give"):
        call(RunnableCallable(lambda value, runtime: value), 1, way)
    assert call(RunnableCallable(lambda value, store=None: (value, store)), 1, way) == (1, None)
    given = {"configurable": {"__pregel_runtime": Runtime(context=3)}}
    assert call(RunnableCallable(lambda value, runtime: runtime.context), 1, way, given) == 3


@way
def test_arguments_bound_and_given(way: str) -> None:
    assert call(RunnableCallable(lambda value, y=3: (value, y), y=9), 1, way) == (1, 9)
    assert call(RunnableCallable(lambda value, y=3: (value, y), trace=False), 1, way, y=4) == (1, 4)
    exploded = RunnableCallable(lambda a, b, config: (a, b, "configurable" in config), explode_args=True)
    assert call(exploded, ((1,), {"b": 2}), way) == (1, 2, True)


@way
def test_a_runnable_that_is_returned_is_invoked_unless_told_otherwise(way: str) -> None:
    inner = RunnableLambda(lambda value: value + 1)
    assert call(RunnableCallable(lambda value: inner), 1, way) == 2
    assert call(RunnableCallable(lambda value: inner, recurse=False), 1, way) is inner


@way
@pytest.mark.parametrize("trace", [True, False])
def test_it_is_a_run_of_its_own_in_traces_unless_told_otherwise(way: str, trace: bool) -> None:
    seen: list[Any] = []

    class Names(BaseCallbackHandler):
        def on_chain_start(self, serialized: Any, inputs: Any, *, name: str, tags: Any, **rest: Any) -> None:
            seen.append((name, tags))

    def shown(value: int) -> int:
        return value

    call(RunnableCallable(shown, trace=trace, tags=["x"]), 1, way, {"callbacks": [Names()]})
    assert seen == ([("shown", ["x"])] if trace else [])


def test_code_that_it_calls_finds_the_config() -> None:
    def node(state: State) -> State:
        return {"seen": get_config()["configurable"]["mine"]}

    graph = StateGraph(State).add_node("node", RunnableCallable(node)).add_edge(START, "node").compile()
    assert graph.invoke({}, {"configurable": {"mine": 7}}) == {"seen": 7}


def test_a_synchronous_one_does_not_block_the_event_loop() -> None:
    threads = []
    runnable = RunnableCallable(lambda value: threads.append(threading.current_thread()))
    asyncio.run(runnable.ainvoke(1))
    assert threads != [threading.main_thread()]


def test_its_name_is_the_functions() -> None:
    assert RunnableCallable(None, twice).name == "twice"
    assert RunnableCallable(lambda value: value).name is None
    assert RunnableCallable(twice, name="other").get_name() == "other"
    assert repr(RunnableCallable(twice)).startswith("twice(")
