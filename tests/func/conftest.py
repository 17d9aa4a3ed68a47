"""One body for every way to run it: both drivers, sync and async flows, sync and async tasks.

The body of a flow is written as a generator that yields a future (or a list of futures) where it wants a result; `flow`
makes a plain function or a coroutine of it.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.func import entrypoint, task


class Ways:
    """Runs flows with one driver, and makes flows and tasks of one kind each."""

    def __init__(self, driver: str, flows: str, tasks: str, saver: Any) -> None:
        self.driver = driver
        self.flows = flows
        self.tasks = tasks
        self.saver = saver
        self._threads = itertools.count(1)

    def thread(self, **settings: Any) -> dict[str, Any]:
        """The config of a thread that nobody used."""
        return {"configurable": {"thread_id": f"t{next(self._threads)}"}, **settings}

    def task(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        """A task of this kind."""
        if function is None:
            return lambda given: self.task(given, **options)
        if self.tasks == "sync":
            return task(function, **options)

        async def run(*args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(0)
            return function(*args, **kwargs)

        return task(_named_like(run, function), **options)

    def flow(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """A function of this kind that does what the generator `body` does."""
        if self.flows == "sync":
            return _named_like(_sync_flow(body), body)
        return _named_like(_async_flow(body), body)

    def entrypoint(self, body: Callable[..., Any] | None = None, **options: Any) -> Any:
        """A workflow of this kind, with the saver at hand."""
        if body is None:
            return lambda given: self.entrypoint(given, **options)
        return entrypoint(**{"checkpointer": self.saver, **options})(self.flow(body))

    def invoke(self, graph: Any, *args: Any, **kwargs: Any) -> Any:
        if self.driver == "sync":
            return graph.invoke(*args, **kwargs)
        return asyncio.run(graph.ainvoke(*args, **kwargs))

    def stream(self, graph: Any, *args: Any, **kwargs: Any) -> list[Any]:
        if self.driver == "sync":
            return list(graph.stream(*args, **kwargs))

        async def parts() -> list[Any]:
            return [part async for part in graph.astream(*args, **kwargs)]

        return asyncio.run(parts())


def _named_like(run: Any, function: Any) -> Any:
    run.__name__ = function.__name__
    run.__qualname__ = function.__qualname__
    run.__signature__ = inspect.signature(function, eval_str=True)
    return run


def _sync_flow(body: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        steps = body(*args, **kwargs)
        try:
            asked = next(steps)
            while True:
                try:
                    answer: Any = (
                        [future.result() for future in asked] if isinstance(asked, list) else asked.result()
                    )
                except BaseException as error:
                    asked = steps.throw(error)
                else:
                    asked = steps.send(answer)
        except StopIteration as stop:
            return stop.value

    return run


def _async_flow(body: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*args: Any, **kwargs: Any) -> Any:
        steps = body(*args, **kwargs)
        try:
            asked = next(steps)
            while True:
                try:
                    answer: Any = await asyncio.gather(*asked) if isinstance(asked, list) else await asked
                except BaseException as error:
                    asked = steps.throw(error)
                else:
                    asked = steps.send(answer)
        except StopIteration as stop:
            return stop.value

    return run


WAYS = [
    (driver, flows, tasks)
    for driver in ("sync", "async")
    for flows in ("sync", "async")
    for tasks in ("sync", "async")
]


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]} driver, {way[1]} flow, {way[2]} tasks")
def ways(request: pytest.FixtureRequest) -> Iterator[Ways]:
    return Ways(*request.param, InMemorySaver())
