"""What a node may be given of its run: `Runtime` and its parts."""

from __future__ import annotations

from typing import Any, TypeVar

from stepgraph.pregel.task import current_task
from stepgraph.values.runtime import BaseUser, ExecutionInfo, RunControl, Runtime, ServerInfo

__all__ = ("BaseUser", "ExecutionInfo", "RunControl", "Runtime", "ServerInfo", "get_runtime")

ContextT = TypeVar("ContextT")


def get_runtime(context_schema: type[ContextT] | None = None) -> Runtime[ContextT]:
    """The runtime of the running node.

    Args:
        context_schema: For type checkers only: the type of `.context`.

    Raises:
        RuntimeError: No node is running here.
    """
    task = current_task()
    if task is None:
        raise RuntimeError(
            "Called get_runtime outside of a runnable context: it works inside a node, or in code that a node calls."
        )
    runtime: Any = task.runtime
    return runtime  # type: ignore[no-any-return]
