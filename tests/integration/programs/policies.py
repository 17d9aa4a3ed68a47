"""Nodes that fail, repeat, are cached and time out; durable runs that go on after a crash."""

import asyncio
import operator
from typing import Annotated

from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy, RetryPolicy
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    x: int
    log: Annotated[list[str], operator.add]


counts = {"flaky": 0, "cached": 0, "crash": 0}


def flaky(state: State):
    counts["flaky"] += 1
    if counts["flaky"] < 3:
        raise ConnectionError("down")
    return {"log": ["flaky"]}


def cached(state: State):
    counts["cached"] += 1
    return {"log": [f"cached {state['x']}"]}


def crash(state: State):
    counts["crash"] += 1
    if counts["crash"] == 1:
        raise RuntimeError("crashed")
    return {"log": ["survived"]}


builder = StateGraph(State)
builder.add_node(flaky, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
builder.add_node(cached, cache_policy=CachePolicy(ttl=3600))
builder.add_node(crash)
builder.add_edge(START, "flaky").add_edge("flaky", "cached").add_edge("cached", "crash")
graph = builder.compile(checkpointer=InMemorySaver(), cache=InMemoryCache())

config = {"configurable": {"thread_id": "1"}}
try:
    graph.invoke({"x": 1}, config)
except RuntimeError as error:
    print("failed:", error, graph.get_state(config).next, graph.get_state(config).values)
print(graph.invoke(None, config), counts)
print(graph.invoke({"x": 1}, {"configurable": {"thread_id": "2"}}), counts)


async def slow(state: State):
    await asyncio.sleep(30)


timed = StateGraph(State).add_node(slow, timeout=0.05).add_edge(START, "slow").compile()
try:
    asyncio.run(timed.ainvoke({"x": 1}))
except Exception as error:
    print(type(error).__name__)
for durability in ("sync", "async", "exit"):
    config = {"configurable": {"thread_id": durability}}
    graph.invoke({"x": 2}, config, durability=durability)
    print(durability, len(list(graph.get_state_history(config))))
