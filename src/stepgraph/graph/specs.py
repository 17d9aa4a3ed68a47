"""The records that declaring a graph leaves behind: what a person said, nothing derived."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class NodeSpec:
    """One declared node.

    `ends` are the nodes it says it may go to by itself (`destinations`, or the `Literal` of a `Command` return).
    """

    __slots__ = (
        "action",
        "cache_policy",
        "calls",
        "defer",
        "ends",
        "error_handler",
        "executor",
        "input_schema",
        "is_error_handler",
        "is_subgraph",
        "max_concurrency",
        "metadata",
        "name",
        "retry_policy",
        "timeout",
        "trace_policy",
    )

    def __init__(self, name: str, action: Any, input_schema: Any) -> None:
        self.name = name
        self.action = action
        self.input_schema = input_schema
        self.calls: Any = None
        self.defer = False
        self.metadata: Mapping[str, Any] | None = None
        self.ends: tuple[str, ...] | dict[str, str] = ()
        self.retry_policy: Any = None
        self.cache_policy: Any = None
        self.error_handler: Any = None
        self.is_error_handler = False
        self.timeout: Any = None
        self.trace_policy: Any = None
        self.max_concurrency: int | None = None
        self.executor: Any = None
        self.is_subgraph = False

    @property
    def runnable(self) -> Any:
        """The node's action (the field's other name for it)."""
        return self.action

    def __repr__(self) -> str:
        return f"NodeSpec({self.name!r}, {self.action!r})"


class BranchSpec:
    """One declared conditional edge; `ends` maps labels to nodes, None means that it may go anywhere."""

    __slots__ = ("ends", "input_schema", "name", "path")

    def __init__(self, name: str, path: Any, ends: dict[Any, str] | None, input_schema: Any) -> None:
        self.name = name
        self.path = path
        self.ends = ends
        self.input_schema = input_schema

    def __repr__(self) -> str:
        return f"BranchSpec({self.name!r}, ends={self.ends!r})"
