"""One body for four ways to run it: synchronous and asynchronous drivers, with synchronous and asynchronous nodes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest

from stepgraph.graph import START, StateGraph
from stepgraph.pregel.drivers.clock import Clock


class HeldClock(Clock):
    """A clock that a test holds in its hand: sleeping takes no time, and is written down."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.chance = 0.0
        self.slept: list[float] = []

    def time(self) -> float:
        return self.now

    def random(self) -> float:
        return self.chance

    def sleep(self, seconds: float, stopping: Callable[[], bool]) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class Runner:
    """Runs graphs with one driver, and makes nodes of one kind."""

    def __init__(self, driver: str, nodes: str) -> None:
        self.driver = driver
        self.nodes = nodes
        self.clock = HeldClock()

    def node(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as a node of this runner's kind."""
        if self.nodes == "sync nodes":
            return function

        @wraps(function)
        async def node(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return node

    def invoke(self, graph: Any, *args: Any, **kwargs: Any) -> Any:
        graph.clock = self.clock
        if self.driver == "sync":
            return graph.invoke(*args, **kwargs)
        return asyncio.run(graph.ainvoke(*args, **kwargs))

    def stream(self, graph: Any, *args: Any, **kwargs: Any) -> list[Any]:
        graph.clock = self.clock
        if self.driver == "sync":
            return list(graph.stream(*args, **kwargs))

        async def parts() -> list[Any]:
            return [part async for part in graph.astream(*args, **kwargs)]

        return asyncio.run(parts())


WAYS = [(driver, nodes) for driver in ("sync", "async") for nodes in ("sync nodes", "async nodes")]


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]}-{way[1].split()[0]}")
def runner(request: pytest.FixtureRequest) -> Runner:
    return Runner(*request.param)


def chain(schema: Any, *nodes: Any, **policies: Any) -> StateGraph:
    """A graph of nodes in a row; the policies belong to the first."""
    builder = StateGraph(schema)
    previous = START
    for node in nodes:
        builder.add_node(node.__name__, node, **(policies if previous == START else {}))
        builder.add_edge(previous, node.__name__)
        previous = node.__name__
    return builder


def thread(name: str = "1") -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def wait_until(condition: Callable[[], Any], seconds: float = 20) -> None:
    """Block until a condition holds, which it does sooner or later."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition never held"
        time.sleep(0.005)


async def await_until(condition: Callable[[], Any], seconds: float = 20) -> None:
    """The same in an event loop."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition never held"
        await asyncio.sleep(0.005)
