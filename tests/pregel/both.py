"""One body for both drivers: `each_driver` runs a test with the synchronous and the asynchronous face of a graph."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

each_driver = pytest.mark.parametrize("driver", ["sync", "async"])


class Face:
    """A graph's methods by their synchronous names, whichever driver runs them."""

    def __init__(self, graph: Any, driver: str) -> None:
        self.graph = graph
        self.driver = driver

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.graph, name)
        if self.driver == "sync":
            if name in ("stream", "get_state_history"):
                return lambda *given, **options: list(method(*given, **options))
            return method
        twin = getattr(self.graph, "a" + name)
        if name in ("stream", "get_state_history"):
            return lambda *given, **options: asyncio.run(_gathered(twin(*given, **options)))
        return lambda *given, **options: asyncio.run(_awaited(twin(*given, **options)))


async def _gathered(parts: Any) -> list[Any]:
    return [part async for part in parts]


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def thread(name: str = "1", **configurable: Any) -> dict[str, Any]:
    """The config of a thread."""
    return {"configurable": {"thread_id": name, **configurable}}
