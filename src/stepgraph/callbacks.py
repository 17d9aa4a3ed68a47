"""Handlers that are told when a run pauses and when it goes on (needs LangChain).

A `GraphCallbackHandler` goes where all of LangChain's handlers go: into `config["callbacks"]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

try:
    from langchain_core.callbacks.base import BaseCallbackHandler, BaseCallbackManager
    from langchain_core.callbacks.manager import (
        AsyncCallbackManager,
        CallbackManager,
        ahandle_event,
        handle_event,
    )
except ImportError as error:
    raise ImportError(
        'stepgraph.callbacks needs LangChain. Install it: pip install "stepgraph[langchain]"'
    ) from error

if TYPE_CHECKING:
    from uuid import UUID

    from stepgraph.values.commands import Interrupt

__all__ = (
    "GraphCallbackHandler",
    "GraphInterruptEvent",
    "GraphLifecycleEvent",
    "GraphLifecycleStatus",
    "GraphResumeEvent",
    "get_async_graph_callback_manager_for_config",
    "get_sync_graph_callback_manager_for_config",
)

GraphLifecycleStatus: TypeAlias = Literal[
    "input", "pending", "done", "interrupt_before", "interrupt_after", "out_of_steps"
]
"""Where a run stands: `pending` if a node asked something, else the kind of breakpoint it stopped at."""


@dataclass(frozen=True)
class GraphInterruptEvent:
    """A root run pauses.

    Attributes:
        run_id: The run's id in traces.
        status: Why it pauses.
        checkpoint_id: The checkpoint that it will go on from.
        checkpoint_ns: The namespace of the graph, as a tuple of its parts.
        interrupts: The questions that wait for an answer; none at a breakpoint.
    """

    run_id: UUID | None
    status: GraphLifecycleStatus
    checkpoint_id: str
    checkpoint_ns: tuple[str, ...]
    interrupts: tuple[Interrupt[Any], ...]


@dataclass(frozen=True)
class GraphResumeEvent:
    """A run, at any level, goes on from a stored checkpoint.

    Attributes:
        run_id: The run's id in traces.
        status: What it goes on with.
        checkpoint_id: The checkpoint that it goes on from.
        checkpoint_ns: The namespace of the graph, as a tuple of its parts.
    """

    run_id: UUID | None
    status: GraphLifecycleStatus
    checkpoint_id: str
    checkpoint_ns: tuple[str, ...]


GraphLifecycleEvent: TypeAlias = GraphInterruptEvent | GraphResumeEvent


class GraphCallbackHandler(BaseCallbackHandler):
    """Base of handlers that want to know of pauses; the methods may be coroutine functions."""

    def on_interrupt(self, event: GraphInterruptEvent) -> Any:
        """A root run pauses."""

    def on_resume(self, event: GraphResumeEvent) -> Any:
        """A run goes on."""


class _LifecycleManager(BaseCallbackManager):
    """Handlers, and the run that they are told of."""

    def __init__(
        self,
        handlers: Sequence[BaseCallbackHandler],
        inheritable_handlers: Sequence[BaseCallbackHandler] | None = None,
        parent_run_id: UUID | None = None,
        *,
        run_id: UUID | None = None,
        **inherited: Any,
    ) -> None:
        super().__init__(
            list(handlers), list(inheritable_handlers or handlers), parent_run_id=parent_run_id, **inherited
        )
        self.run_id = run_id

    def _listeners(self) -> list[BaseCallbackHandler]:
        return [handler for handler in self.handlers if isinstance(handler, GraphCallbackHandler)]


class _GraphCallbackManager(_LifecycleManager):
    """Tells handlers of pauses."""

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """A root run pauses."""
        handle_event(self._listeners(), "on_interrupt", None, event)

    def on_resume(self, event: GraphResumeEvent) -> None:
        """A run goes on."""
        handle_event(self._listeners(), "on_resume", None, event)


class _AsyncGraphCallbackManager(_LifecycleManager):
    """The same, awaited."""

    @property
    def is_async(self) -> bool:
        return True

    async def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """A root run pauses."""
        await ahandle_event(self._listeners(), "on_interrupt", None, event)

    async def on_resume(self, event: GraphResumeEvent) -> None:
        """A run goes on."""
        await ahandle_event(self._listeners(), "on_resume", None, event)


def get_sync_graph_callback_manager_for_config(
    config: Mapping[str, Any], *, run_id: UUID | None = None
) -> _GraphCallbackManager:
    """The manager that tells a config's handlers of pauses.

    Args:
        config: The config of a run.
        run_id: The run that events are about.
    """
    manager = CallbackManager.configure(**_configured(config))
    return _GraphCallbackManager(manager.handlers, manager.inheritable_handlers, run_id=run_id)


def get_async_graph_callback_manager_for_config(
    config: Mapping[str, Any], *, run_id: UUID | None = None
) -> _AsyncGraphCallbackManager:
    """The same for asynchronous code."""
    manager = AsyncCallbackManager.configure(**_configured(config))
    return _AsyncGraphCallbackManager(manager.handlers, manager.inheritable_handlers, run_id=run_id)


def _configured(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "inheritable_callbacks": config.get("callbacks"),
        "inheritable_tags": config.get("tags"),
        "inheritable_metadata": config.get("metadata"),
    }
