"""What running code may ask for: its config, the store, the writer of the custom stream.

They work in nodes, in what nodes call, in threads that the runtime starts and in tasks that a node creates, because
they look at the context of the running task.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from stepgraph.pregel.config import writer_of
from stepgraph.pregel.task import Task, current_task

if TYPE_CHECKING:
    from stepgraph.store.base import BaseStore


class RunnableConfig(TypedDict, total=False):
    """The settings of a run, as LangChain shapes them.

    Attributes:
        tags: Shown in traces.
        metadata: Shown in traces; values that store go into the metadata of checkpoints.
        callbacks: Handlers that watch the run.
        run_name: The run's name in traces.
        max_concurrency: How many tasks may run at once.
        recursion_limit: How many supersteps the run may take, plus one.
        configurable: `thread_id`, `checkpoint_id`, and whatever nodes want to find.
        run_id: The run's id.
    """

    tags: list[str]
    metadata: dict[str, Any]
    callbacks: Any
    run_name: str
    max_concurrency: int | None
    recursion_limit: int
    configurable: dict[str, Any]
    run_id: Any


def _task(what: str) -> Task:
    task = current_task()
    if task is None:
        raise RuntimeError(
            f"Called {what} outside of a runnable context: it works inside a node, or in code that a node calls."
        )
    return task


def get_config() -> RunnableConfig:
    """The config of the running node.

    Raises:
        RuntimeError: No node is running here.
    """
    return _task("get_config").config  # type: ignore[return-value]


def get_store() -> BaseStore:
    """The store that the graph was compiled with.

    Raises:
        RuntimeError: No node is running here.
        ValueError: The graph was compiled without a store.
    """
    store: BaseStore | None = _task("get_store").machine.store
    if store is None:
        raise ValueError("The graph was compiled without a store: compile(store=InMemoryStore()).")
    return store


def get_stream_writer() -> Callable[[Any], None]:
    """A function that sends its argument to whoever streams the mode `custom`.

    Raises:
        RuntimeError: No node is running here.
    """
    return writer_of(_task("get_stream_writer"))  # type: ignore[no-any-return]
