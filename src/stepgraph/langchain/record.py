"""What is kept of one run that LangChain's handlers are told of: of a graph, of a node's attempt, of a path function.

`Record.callbacks` is the manager that code inside that run is given. It is made when somebody asks for it, so a node that
calls nothing of LangChain's costs the two events that it causes, and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks.manager import AsyncCallbackManager, CallbackManager
from langchain_core.tracers._streaming import _StreamingCallbackHandler

from stepgraph.langchain.dispatch import CHAIN_EVENTS, Hearers
from stepgraph.langchain.tokens import ModelHandler

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task

new_run_id: Callable[[], Any]
try:
    from langchain_core.utils.uuid import uuid7

    new_run_id = uuid7
except ImportError:  # pragma: no cover - versions of LangChain that number their runs by chance
    from uuid import uuid4

    new_run_id = uuid4

__all__ = ("Handlers", "Record", "new_run_id", "tap_of")


class Handlers:
    """The handlers of one run of a graph, sorted by what they do; all tasks of the run share them.

    `own` hear of this run, `inherited` of everything below it too. `hearing` says who does something on which event of a
    chain; `chains` whether anybody does. `tap` collects what nodes produce, for `astream_events`.
    """

    __slots__ = ("_below", "chains", "hearing", "inherited", "own", "tap", "tracers")

    def __init__(self, own: list[Any], inherited: list[Any]) -> None:
        self.own = own
        self.inherited = inherited
        chains = [handler for handler in own if not handler.ignore_chain]
        self.hearing = {event: Hearers(chains, event) for event in CHAIN_EVENTS}
        self.tracers = [handler for handler in chains if _is_tracer(handler)]
        self.tap = next(
            (h for h in own if isinstance(h, _StreamingCallbackHandler) and not isinstance(h, ModelHandler)),
            None,
        )
        self.chains = self.tap is not None or any(hearers.all for hearers in self.hearing.values())
        self._below: Handlers | None = self if own == inherited else None

    def below(self) -> Handlers:
        """The handlers of the runs inside this one."""
        if self._below is None:
            self._below = Handlers(self.inherited, self.inherited)
        return self._below


def _is_tracer(handler: Any) -> bool:
    """Whether a handler sends what it hears to LangSmith: only there a node's trace policy applies."""
    return any(
        kind.__name__ == "LangChainTracer" and kind.__module__ == "langchain_core.tracers.langchain"
        for kind in type(handler).__mro__
    )


class Record:
    """One run: its ids, and what the runs inside it inherit."""

    __slots__ = (
        "_callbacks",
        "handlers",
        "inherited_metadata",
        "inherited_tags",
        "on_loop",
        "outer",
        "parent_run_id",
        "run_id",
        "tag",
        "tags",
        "tapped",
    )

    def __init__(
        self,
        handlers: Handlers,
        run_id: Any,
        parent_run_id: Any,
        tags: list[str],
        inherited_tags: list[str],
        inherited_metadata: dict[str, Any],
    ) -> None:
        self.handlers = handlers
        self.run_id = run_id
        self.parent_run_id = parent_run_id
        self.tags = tags
        self.inherited_tags = inherited_tags
        self.inherited_metadata = inherited_metadata
        self.tag: str | None = None
        self.on_loop = False
        self.tapped = False
        self.outer: Record | None = None
        self._callbacks: Any = None

    @property
    def callbacks(self) -> Any:
        """The manager for what this run calls."""
        if self._callbacks is None:
            self._callbacks = self.child(self.tag)
        return self._callbacks

    def child(self, tag: str | None) -> Any:
        """A manager for what this run calls, whose runs carry a tag."""
        kind = AsyncCallbackManager if self.on_loop else CallbackManager
        inherited = self.handlers.inherited
        tags = self.inherited_tags
        return kind(
            handlers=inherited.copy(),
            inheritable_handlers=inherited.copy(),
            parent_run_id=self.run_id,
            tags=tags.copy() if tag is None else [*tags, tag],
            inheritable_tags=tags.copy(),
            metadata=self.inherited_metadata.copy(),
            inheritable_metadata=self.inherited_metadata.copy(),
        )


def tap_of(task: Task) -> Any:
    """What collects the parts of a task's output, if anything does; graphs that run synchronously give none."""
    record: Record | None = task.observed
    if record is None or record.handlers.tap is None:
        return None
    run: Record | None = task.machine.observed
    return record.handlers.tap if run is not None and run.on_loop else None
