"""Settings that are changed on a compiled graph hold from the next run on, as if they had been given when it was compiled."""

from __future__ import annotations

import asyncio
import operator
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.cache.memory import InMemoryCache
from stepgraph.channels import LastValue
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import NodeTimeoutError
from stepgraph.graph import START, StateGraph
from stepgraph.pregel import NodeBuilder, Pregel
from stepgraph.types import CachePolicy, RetryPolicy

from .both import thread


class State(TypedDict, total=False):
    word: str
    log: Annotated[list[str], operator.add]


def one(state: State) -> State:
    return {"log": ["one"]}


def two(state: State) -> State:
    return {"log": ["two"]}


def chain(*nodes: Any, **options: Any) -> Any:
    names = [node.__name__ for node in nodes]
    builder: StateGraph[Any] = StateGraph(State).add_sequence(list(nodes)).add_edge(START, names[0])
    return builder.compile(**options)


def test_stops_before_and_after_nodes() -> None:
    for setting, names in (("interrupt_before_nodes", ["two"]), ("interrupt_after_nodes", ["one"])):
        graph = chain(one, two)
        graph.checkpointer = InMemorySaver()
        setattr(graph, setting, names)
        graph.invoke({}, thread())
        assert graph.get_state(thread()).next == ("two",)


def test_output_and_stream_channels() -> None:
    graph = chain(one)
    graph.output_channels = ["word"]
    graph.stream_channels = "log"
    assert graph.invoke({"word": "in"}) == {"word": "in"}
    assert list(graph.stream({"word": "in"}, stream_mode="values")) == [["one"]]
    assert graph.stream_channels_list == ["log"]


def test_a_retry_policy_for_nodes_without_one() -> None:
    tries: list[str] = []

    def flaky(state: State) -> State:
        tries.append("flaky")
        if len(tries) % 3:
            raise ConnectionError
        return {"word": "done"}

    policy = RetryPolicy(initial_interval=0.0001, jitter=False)
    graph = chain(flaky)
    graph.retry_policy = policy
    assert graph.invoke({"word": "in"})["word"] == "done"
    own = StateGraph(State).add_node(flaky, retry_policy=RetryPolicy(max_attempts=1)).add_edge(START, "flaky")
    stubborn = own.compile().copy({"retry_policy": policy})
    with pytest.raises(ConnectionError):
        stubborn.invoke({"word": "in"})


@pytest.mark.parametrize("driver", ["sync", "async"])
def test_a_time_limit_for_nodes_without_one(driver: str) -> None:
    go_on = threading.Event()

    def slow(state: State) -> State:
        go_on.wait(20)
        return {}

    graph = chain(slow)
    graph.step_timeout = 0.02
    with pytest.raises(NodeTimeoutError, match="'slow'"):
        _ = graph.invoke({"word": "in"}) if driver == "sync" else asyncio.run(released(graph, go_on))
    go_on.set()


async def released(graph: Any, go_on: threading.Event) -> Any:
    try:
        return await graph.ainvoke({"word": "in"})
    finally:
        go_on.set()


def test_a_cache_and_a_policy_for_it() -> None:
    ran: list[int] = []

    def counts(state: State) -> State:
        ran.append(1)
        return {"word": str(len(ran))}

    graph = chain(counts)
    graph.cache = InMemoryCache()
    graph.cache_policy = CachePolicy()
    assert [graph.invoke({"word": "in"})["word"] for _ in range(3)] == ["1", "1", "1"]


def test_a_copy_has_settings_of_its_own() -> None:
    graph = chain(one)
    other = graph.copy({"output_channels": "log"})
    assert other.invoke({"word": "in"}) == ["one"]
    assert graph.invoke({"word": "in"}) == {"word": "in", "log": ["one"]}


def test_a_node_that_is_added_later_runs_where_the_others_do() -> None:
    names: list[str] = []

    def where(state: State) -> State:
        names.append(threading.current_thread().name)
        return {}

    with ThreadPoolExecutor(1, "pool") as pool:
        graph = chain(where, executor=pool)
        graph.attach_edge(START, "where")
        graph.invoke({"word": "in"})
    assert names == ["pool_0"]


def test_a_low_level_graph_follows_its_settings_too() -> None:
    tries: list[int] = []

    def flaky(value: int) -> int:
        tries.append(1)
        if len(tries) < 2:
            raise ConnectionError
        return value + 1

    node = NodeBuilder().subscribe_only("a").do(flaky).write_to("b")
    graph: Any = Pregel(
        nodes={"n": node},
        channels={"a": LastValue(int), "b": LastValue(int)},
        input_channels="a",
        output_channels="b",
    )
    graph.retry_policy = (RetryPolicy(initial_interval=0.0001, jitter=False),)
    graph.output_channels = ["a", "b"]
    assert graph.invoke(1) == {"a": 1, "b": 2}


@pytest.fixture(params=["compiled", "set later", "given to the run"])
def debugging(request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    graph = chain(one, debug=request.param == "compiled")
    if request.param == "set later":
        graph.debug = True
    return graph, {"debug": True} if request.param == "given to the run" else {}


@pytest.mark.parametrize("method", ["invoke", "ainvoke", "stream", "astream"])
def test_debug_prints_updates_and_values(
    debugging: tuple[Any, dict[str, Any]], method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, options = debugging

    async def gathered() -> list[Any]:
        return [part async for part in graph.astream({}, **options)]

    runs = {
        "invoke": lambda: graph.invoke({}, **options),
        "ainvoke": lambda: asyncio.run(graph.ainvoke({}, **options)),
        "stream": lambda: list(graph.stream({}, **options)),
        "astream": lambda: asyncio.run(gathered()),
    }
    out = runs[method]()
    assert out == ({"log": ["one"]} if "invoke" in method else [{"one": {"log": ["one"]}}])
    printed = capsys.readouterr().out.splitlines()
    assert [line.replace("\033[1m", "").replace("\033[0m", "") for line in printed] == [
        "[updates] {'one': {'log': ['one']}}",
        "[values] {'log': ['one']}",
    ]
