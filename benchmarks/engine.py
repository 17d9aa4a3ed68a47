"""The names that scenarios use of an engine, looked up in whichever package stands for it.

Both packages share module paths and names, so a scenario is written once and given an `Engine`. Rule: scenarios import
neither package themselves.
"""

from __future__ import annotations

import importlib
from typing import Any, TypedDict


class Engine:
    """One of the two packages under test; a name is imported when a scenario first asks for it."""

    PATHS = {
        "StateGraph": "graph",
        "START": "graph",
        "END": "graph",
        "Send": "types",
        "add_messages": "graph.message",
        "InMemorySaver": "checkpoint.memory",
        "SqliteSaver": "checkpoint.sqlite",
        "PostgresSaver": "checkpoint.postgres",
        "BaseCheckpointSaver": "checkpoint.base",
        "create_react_agent": "prebuilt",
    }

    def __init__(self, package: str) -> None:
        self.package = package

    def __getattr__(self, name: str) -> Any:
        path = self.PATHS.get(name)
        if path is None:
            raise AttributeError(f"benchmarks know no {name!r}; add its module to Engine.PATHS")
        value = getattr(importlib.import_module(f"{self.package}.{path}"), name)
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        return f"Engine({self.package!r})"


def config(thread: str | None = None, **more: Any) -> dict[str, Any]:
    """A run's config: a step limit that no scenario reaches, and a thread where there is a saver."""
    out: dict[str, Any] = {"recursion_limit": 1_000_000, **more}
    if thread is not None:
        out["configurable"] = {"thread_id": thread}
    return out


def schema(name: str, fields: dict[str, Any]) -> Any:
    """A TypedDict whose fields are known only at run time, such as one with an engine's own reducer."""
    make: Any = TypedDict
    return make(name, fields)
