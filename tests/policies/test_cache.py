"""Cached nodes: equal input is computed once, and only what succeeded is kept."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.cache.base import FullKey
from stepgraph.cache.memory import InMemoryCache
from stepgraph.cache.sqlite import SqliteCache
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import NodeError
from stepgraph.graph import START, StateGraph
from stepgraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt

from .conftest import Runner, chain, thread

CACHED = {"__metadata__": {"cached": True}}


class State(TypedDict, total=False):
    name: str
    log: Annotated[list[Any], operator.add]


class Counted:
    """A node's function that counts its runs."""

    def __init__(self, result: Any = None) -> None:
        self.runs = 0
        self.result = result

    def work(self, state: State) -> Any:
        self.runs += 1
        return {"log": [f"run {self.runs}"]} if self.result is None else self.result


def after(state: State) -> State:
    return {"log": ["after"]}


def test_a_hit_skips_the_node_and_goes_on(runner: Runner) -> None:
    counted = Counted()
    builder = StateGraph(State).add_node("work", runner.node(counted.work), cache_policy=CachePolicy())
    builder.add_node("after", after).add_edge(START, "work").add_edge("work", "after")
    graph = builder.compile(cache=InMemoryCache())
    for _ in range(2):
        assert runner.invoke(graph, {"name": "a"}) == {"name": "a", "log": ["run 1", "after"]}
    assert runner.invoke(graph, {"name": "b"}) == {"name": "b", "log": ["run 2", "after"]}


def test_a_hit_is_marked_in_the_stream_and_has_no_result(runner: Runner) -> None:
    graph = chain(State, runner.node(after), cache_policy=CachePolicy()).compile(cache=InMemoryCache())
    runner.invoke(graph, {"name": "a"})
    parts = runner.stream(graph, {"name": "a"}, stream_mode=["tasks", "updates"])
    assert [mode for mode, _ in parts] == ["tasks", "updates"]
    assert parts[1][1] == {"after": {"log": ["after"]}, **CACHED}


def test_without_a_cache_the_policy_means_nothing(runner: Runner) -> None:
    counted = Counted()
    graph = chain(State, runner.node(counted.work), cache_policy=CachePolicy()).compile()
    runner.invoke(graph, {"name": "a"})
    runner.invoke(graph, {"name": "a"})
    assert counted.runs == 2


def test_a_hit_is_stored_in_the_thread_like_a_run(runner: Runner) -> None:
    builder = StateGraph(State).add_node(
        "work", runner.node(after), cache_policy=CachePolicy(key_func=lambda state: "k")
    )
    builder.add_node("sibling", after).add_edge(START, "work").add_edge(START, "sibling")
    graph = builder.compile(InMemorySaver(), cache=InMemoryCache())
    for name in ("1", "2"):
        runner.invoke(graph, {"log": []}, thread(name))
    first, second = (
        [(s.values, s.next, [t.result for t in s.tasks]) for s in graph.get_state_history(thread(name))]
        for name in ("1", "2")
    )
    assert first == second


def test_commands_and_sends_are_part_of_a_result(runner: Runner) -> None:
    command = Command(update={"log": ["c"]}, goto=[Send("after", {}), "after"])
    counted = Counted(command)
    builder = StateGraph(State).add_node("work", runner.node(counted.work), cache_policy=CachePolicy())
    builder.add_node("after", after).add_edge(START, "work")
    graph = builder.compile(cache=InMemoryCache())
    for _ in range(2):
        assert runner.invoke(graph, {"log": []}) == {"log": ["c", "after", "after"]}
    assert counted.runs == 1


def test_a_result_of_nothing_is_a_result(runner: Runner) -> None:
    runs = []

    def silent(state: State) -> None:
        runs.append(1)

    graph = chain(State, runner.node(silent), after, cache_policy=CachePolicy()).compile(
        cache=InMemoryCache()
    )
    for _ in range(2):
        assert runner.invoke(graph, {"log": []}) == {"log": ["after"]}
    assert len(runs) == 1


def test_what_a_branch_answered_is_reused_too(runner: Runner) -> None:
    asked: list[str] = []

    def path(state: State) -> str:
        asked.append(state["name"])
        return state["name"]

    builder = StateGraph(State)
    builder.add_node("work", runner.node(after), cache_policy=CachePolicy(key_func=lambda state: "same"))
    for name in "ab":
        builder.add_node(name, lambda state, name=name: {"log": [name]})
    builder.add_edge(START, "work").add_conditional_edges("work", path, ["a", "b"])
    graph = builder.compile(cache=InMemoryCache())
    assert runner.invoke(graph, {"name": "a"})["log"] == ["after", "a"]
    assert runner.invoke(graph, {"name": "b"})["log"] == ["after", "a"]
    assert asked == ["a"]


def test_static_edges_are_those_of_the_graph_at_hand(runner: Runner) -> None:
    cache: InMemoryCache[Any] = InMemoryCache()
    counted = Counted()

    def graph(target: str) -> Any:
        builder = StateGraph(State).add_node("work", runner.node(counted.work), cache_policy=CachePolicy())
        for name in "ab":
            builder.add_node(name, lambda state, name=name: {"log": [name]})
        return builder.add_edge(START, "work").add_edge("work", target).compile(cache=cache)

    assert runner.invoke(graph("a"), {"log": []}) == {"log": ["run 1", "a"]}
    assert runner.invoke(graph("b"), {"log": []}) == {"log": ["run 1", "b"]}


def test_a_cached_node_fills_its_waiting_edge(runner: Runner) -> None:
    builder = StateGraph(State).add_node("work", runner.node(after), cache_policy=CachePolicy())
    builder.add_node("sibling", after).add_node("both", lambda state: {"log": ["both"]})
    builder.add_edge(START, "work").add_edge(START, "sibling").add_edge(["work", "sibling"], "both")
    graph = builder.compile(cache=InMemoryCache())
    for _ in range(2):
        assert runner.invoke(graph, {"log": []}) == {"log": ["after", "after", "both"]}


def test_a_failure_is_not_kept(runner: Runner) -> None:
    runs = []

    def flaky(state: State) -> State:
        runs.append(1)
        if len(runs) == 1:
            raise ValueError("no")
        return {"log": ["up"]}

    graph = chain(State, runner.node(flaky), cache_policy=CachePolicy()).compile(cache=InMemoryCache())
    with pytest.raises(ValueError, match="no"):
        runner.invoke(graph, {"log": []})
    for _ in range(2):
        assert runner.invoke(graph, {"log": []}) == {"log": ["up"]}
    assert len(runs) == 2


def test_what_a_handler_wrote_is_not_kept(runner: Runner) -> None:
    runs = []

    def fails(state: State) -> State:
        runs.append(1)
        raise ValueError

    def handles(state: State, error: NodeError) -> State:
        return {"log": ["handled"]}

    graph = chain(State, runner.node(fails), cache_policy=CachePolicy(), error_handler=handles).compile(
        cache=InMemoryCache()
    )
    for _ in range(2):
        assert runner.invoke(graph, {"log": []}) == {"log": ["handled"]}
    assert len(runs) == 2


def test_a_result_after_retries_is_kept(runner: Runner) -> None:
    runs = []

    def flaky(state: State) -> State:
        runs.append(1)
        if len(runs) < 3:
            raise ConnectionError
        return {"log": ["up"]}

    policies: dict[str, Any] = {"cache_policy": CachePolicy(), "retry_policy": RetryPolicy()}
    graph = chain(State, runner.node(flaky), **policies).compile(cache=InMemoryCache())
    for _ in range(2):
        assert runner.invoke(graph, {"log": []}) == {"log": ["up"]}
    assert len(runs) == 3


def test_what_rests_on_an_answer_is_asked_anew(runner: Runner) -> None:
    def asks(state: State) -> State:
        return {"log": [interrupt("who?")]}

    graph = chain(State, runner.node(asks), cache_policy=CachePolicy()).compile(
        InMemorySaver(), cache=InMemoryCache()
    )
    for name in ("1", "2"):
        assert "__interrupt__" in runner.invoke(graph, {"log": []}, thread(name))
        assert runner.invoke(graph, Command(resume=name), thread(name)) == {"log": [name]}


def test_a_graph_that_rests_on_an_answer_is_asked_anew(runner: Runner) -> None:
    def asks(state: State) -> State:
        return {"log": [interrupt("who?")]}

    inner = chain(State, runner.node(asks), runner.node(after)).compile()
    builder = StateGraph(State).add_node("inner", inner, cache_policy=CachePolicy()).add_edge(START, "inner")
    graph = builder.compile(InMemorySaver(), cache=InMemoryCache())
    for name in ("1", "2"):
        assert "__interrupt__" in runner.invoke(graph, {"log": []}, thread(name))
        assert runner.invoke(graph, Command(resume=name), thread(name)) == {"log": [name, "after"]}


def test_equal_sends_of_one_step_are_computed_once(runner: Runner) -> None:
    runs = []

    def work(state: dict[str, int]) -> State:
        runs.append(1)
        return {"log": [state["number"]]}

    builder = StateGraph(State).add_node("work", runner.node(work), cache_policy=CachePolicy())
    builder.add_conditional_edges(START, lambda state: [Send("work", {"number": 7})] * 5, ["work"])
    graph = builder.compile(cache=InMemoryCache())
    assert runner.invoke(graph, {"log": []}) == {"log": [7] * 5}
    assert len(runs) == 1


def test_a_cached_node_inside_a_cached_graph(runner: Runner) -> None:
    counted = Counted()
    inner = chain(State, runner.node(after)).add_node(
        "work", runner.node(counted.work), cache_policy=CachePolicy()
    )
    inner.add_edge("after", "work")
    builder = (
        StateGraph(State)
        .add_node("inner", inner.compile(), cache_policy=CachePolicy())
        .add_edge(START, "inner")
    )
    graph = builder.compile(cache=InMemoryCache())
    for _ in range(2):
        assert runner.invoke(graph, {"log": []}) == {"log": ["after", "run 1"]}
    assert runner.stream(graph, {"log": []}, stream_mode="updates") == [
        {"inner": {"log": ["after", "run 1"]}, **CACHED}
    ]


def test_a_graph_inside_inherits_the_cache_unless_it_has_one(runner: Runner) -> None:
    counted = Counted()
    own: InMemoryCache[Any] = InMemoryCache()
    builder = StateGraph(State).add_node("work", runner.node(counted.work), cache_policy=CachePolicy())
    builder.add_edge(START, "work")

    def around(inner: Any) -> Any:
        return (
            StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile(cache=InMemoryCache())
        )

    inherits, has_its_own = around(builder.compile()), around(builder.compile(cache=own))
    for graph in (inherits, has_its_own, has_its_own, inherits):
        runner.invoke(graph, {"log": []})
    assert counted.runs == 2


def test_clearing_the_cache_forgets_nodes(runner: Runner) -> None:
    first, second = Counted(), Counted()
    builder = StateGraph(State)
    builder.add_node("first", runner.node(first.work), cache_policy=CachePolicy(key_func=lambda state: "k"))
    builder.add_node("second", runner.node(second.work), cache_policy=CachePolicy(key_func=lambda state: "k"))
    builder.add_edge(START, "first").add_edge("first", "second")
    graph = builder.compile(cache=InMemoryCache())
    runner.invoke(graph, {"log": []})
    graph.clear_cache(["first"])
    runner.invoke(graph, {"log": []})
    assert (first.runs, second.runs) == (2, 1)
    asyncio.run(graph.aclear_cache())
    runner.invoke(graph, {"log": []})
    assert (first.runs, second.runs) == (3, 2)
    with pytest.raises(ValueError, match="no node 'frist'"):
        graph.clear_cache(["frist"])


def test_clearing_the_cache_reaches_graphs_inside(runner: Runner) -> None:
    counted = Counted()
    inner = StateGraph(State).add_node("work", runner.node(counted.work), cache_policy=CachePolicy())
    builder = (
        StateGraph(State).add_node("inner", inner.add_edge(START, "work").compile()).add_edge(START, "inner")
    )
    graph = builder.compile(cache=InMemoryCache())
    runner.invoke(graph, {"log": []})
    graph.clear_cache()
    runner.invoke(graph, {"log": []})
    assert counted.runs == 2


def test_lambdas_of_one_module_do_not_share_results(runner: Runner) -> None:
    cache: InMemoryCache[Any] = InMemoryCache()
    found = []
    for action in (lambda state: {"log": ["one"]}, lambda state: {"log": ["two"]}):
        builder = (
            StateGraph(State).add_node("work", action, cache_policy=CachePolicy()).add_edge(START, "work")
        )
        found += runner.invoke(builder.compile(cache=cache), {"log": []})["log"]
    assert found == ["one", "two"]


def test_different_graphs_of_one_name_do_not_share_results(runner: Runner) -> None:
    cache: InMemoryCache[Any] = InMemoryCache()
    found = []
    for action in (after, Counted().work):
        inner = StateGraph(State).add_node("node", action).add_edge(START, "node").compile()
        builder = (
            StateGraph(State).add_node("inner", inner, cache_policy=CachePolicy()).add_edge(START, "inner")
        )
        found += runner.invoke(builder.compile(cache=cache), {"log": []})["log"]
    assert found == ["after", "run 1"]


def test_a_cache_in_a_file_serves_the_next_process(runner: Runner, tmp_path: Path) -> None:
    counted = Counted()
    for _ in range(2):
        cache: SqliteCache[Any] = SqliteCache(path=str(tmp_path / "cache.db"))
        builder = StateGraph(State).add_node("work", runner.node(counted.work), cache_policy=CachePolicy())
        graph = builder.add_edge(START, "work").compile(cache=cache)
        assert runner.invoke(graph, {"name": "a"}) == {"name": "a", "log": ["run 1"]}
    assert counted.runs == 1


class Watched(InMemoryCache[Any]):
    """A cache that notes how long what it is given shall live."""

    def __init__(self) -> None:
        super().__init__()
        self.ttls: list[int | None] = []

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        self.ttls += [ttl for _, ttl in pairs.values()]
        super().set(pairs)

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        return super().get(keys)


def test_the_time_to_live_reaches_the_cache(runner: Runner) -> None:
    cache = Watched()
    runner.invoke(
        chain(State, runner.node(after), cache_policy=CachePolicy(ttl=7)).compile(cache=cache), {"log": []}
    )
    assert cache.ttls == [7]


def test_a_key_function_that_fails_fails_the_node(runner: Runner) -> None:
    def key(state: State) -> str:
        raise KeyError("key")

    graph = chain(State, runner.node(after), cache_policy=CachePolicy(key_func=key)).compile(
        cache=InMemoryCache()
    )
    with pytest.raises(KeyError) as raised:
        runner.invoke(graph, {"log": []})
    assert "During task with name 'after'" in raised.value.__notes__[0]


def test_a_key_that_is_no_text_is_refused_by_node_and_type(runner: Runner) -> None:
    policy: Any = CachePolicy(key_func=lambda state: 5)  # type: ignore[arg-type,return-value]
    graph = chain(State, runner.node(after), cache_policy=policy).compile(cache=InMemoryCache())
    with pytest.raises(TypeError, match=r"node 'after' returned 5 of type int\. A key is text or bytes"):
        runner.invoke(graph, {"log": []})


def test_a_result_of_a_cancelled_run_is_not_kept() -> None:
    cache: InMemoryCache[Any] = InMemoryCache()
    runs = []

    async def slow(state: State) -> State:
        runs.append(1)
        if len(runs) == 1:
            await asyncio.sleep(30)
        return {"log": ["done"]}

    graph = chain(State, slow, cache_policy=CachePolicy()).compile(cache=cache)

    async def main() -> Any:
        first = asyncio.create_task(graph.ainvoke({"log": []}))
        while not runs:
            await asyncio.sleep(0)
        second = asyncio.create_task(graph.ainvoke({"log": []}))
        await asyncio.sleep(0.01)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await second

    assert asyncio.run(main()) == {"log": ["done"]}
    assert len(runs) == 2
