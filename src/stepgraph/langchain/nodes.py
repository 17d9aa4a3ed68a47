"""Runnables as nodes, and dicts of them.

A sequence that is a node shows its steps as steps of the node, not as a run of their own between. Where somebody watches
the events of a run as they come (`astream_events`), runnables stream, the steps of a sequence into each other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from langchain_core.runnables.base import RunnableSequence, coerce_to_runnable

from stepgraph.langchain.record import tap_of
from stepgraph.pregel.call import invocations_of

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task


def calls_of(action: Any) -> tuple[Any, Any]:
    """The sync and async forms of a node's call.

    Raises:
        TypeError: A dict holds something that is no runnable and no function.
    """
    runnable: Any = coerce_to_runnable(action)
    steps = runnable.steps if type(runnable) is RunnableSequence else [runnable]
    alone = len(steps) == 1
    if alone and getattr(runnable, "finds_config", False):
        return lambda task: runnable.invoke(task.input), lambda task: runnable.ainvoke(task.input)

    def call(task: Task) -> Any:
        if alone and tap_of(task) is None:
            return runnable.invoke(task.input, task.config)
        return _run(steps, task)

    async def acall(task: Task) -> Any:
        if alone and tap_of(task) is None:
            return await runnable.ainvoke(task.input, task.config)
        return await _arun(steps, task)

    invoke, ainvoke = invocations_of(runnable)
    return (None if invoke is None else call), (None if ainvoke is None else acall)


def _step_config(task: Task, number: int) -> dict[str, Any]:
    if task.observed is None:
        return task.config
    return {**task.config, "callbacks": task.observed.child(f"seq:step:{number}")}


def _run(steps: list[Any], task: Task) -> Any:
    tap = tap_of(task)
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
    tap = tap_of(task)
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
