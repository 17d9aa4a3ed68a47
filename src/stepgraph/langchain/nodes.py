"""Actions of nodes that only LangChain knows: dicts of runnables, and sequences of them.

A sequence that is a node shows its steps as steps of the node, not as a run of their own between. Where somebody watches
the events of a run as they come (`astream_events`), its steps stream into each other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from langchain_core.runnables.base import RunnableSequence, coerce_to_runnable

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task


def calls_of(action: Any) -> tuple[Any, Any] | None:
    """The sync and async forms of a node's call; None if the action is an ordinary one.

    Raises:
        TypeError: A dict holds something that is no runnable and no function.
    """
    if isinstance(action, dict):
        return _plain_calls(coerce_to_runnable(action))
    if not isinstance(action, RunnableSequence) or type(action) is not RunnableSequence:
        return None
    invoke, ainvoke = _plain_calls(action)
    steps = action.steps

    def call(task: Task) -> Any:
        return invoke(task) if task.observed is None else _run(steps, task)

    async def acall(task: Task) -> Any:
        return await ainvoke(task) if task.observed is None else await _arun(steps, task)

    return call, acall


def _plain_calls(runnable: Any) -> tuple[Any, Any]:
    return (
        lambda task: runnable.invoke(task.input, task.config),
        lambda task: runnable.ainvoke(task.input, task.config),
    )


def _step_config(task: Task, number: int) -> dict[str, Any]:
    return {**task.config, "callbacks": task.observed.child(f"seq:step:{number}")}


def _run(steps: list[Any], task: Task) -> Any:
    tap = task.observed.handlers.tap
    if tap is None:
        value = task.input
        for number, step in enumerate(steps, 1):
            value = step.invoke(value, _step_config(task, number))
        return value
    task.observed.tapped = True
    chunks: Iterator[Any] = iter([task.input])
    for number, step in enumerate(steps, 1):
        chunks = step.transform(chunks, _step_config(task, number))
    total: Any = None
    for chunk in tap.tap_output_iter(task.observed.run_id, chunks):
        total = _added(total, chunk)
    return total


async def _arun(steps: list[Any], task: Task) -> Any:
    tap = task.observed.handlers.tap
    if tap is None:
        value = task.input
        for number, step in enumerate(steps, 1):
            value = await step.ainvoke(value, _step_config(task, number))
        return value
    task.observed.tapped = True
    chunks: AsyncIterator[Any] = _one(task.input)
    for number, step in enumerate(steps, 1):
        chunks = step.atransform(chunks, _step_config(task, number))
    total: Any = None
    async for chunk in tap.tap_output_aiter(task.observed.run_id, chunks):
        total = _added(total, chunk)
    return total


def _added(total: Any, chunk: Any) -> Any:
    """Chunks that can be added make up the result; of others the last one is it."""
    if total is None:
        return chunk
    try:
        return total + chunk
    except TypeError:
        return chunk


async def _one(value: Any) -> AsyncIterator[Any]:
    yield value
