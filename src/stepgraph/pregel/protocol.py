"""What a graph must offer to be a node of another: the protocol of `Pregel`, and of where it streams to."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, Self, TypeVar

from stepgraph.pregel import bridges

__all__ = ("PregelProtocol", "StreamProtocol")

StateT = TypeVar("StateT")
ContextT = TypeVar("ContextT")
InputT = TypeVar("InputT")
OutputT = TypeVar("OutputT")
Config = Mapping[str, Any]


class _Abstract(metaclass=ABCMeta):  # noqa: B024
    """A base with room for attributes, so that a bridge can put another library's base beside it."""


class PregelProtocol(_Abstract, Generic[StateT, ContextT, InputT, OutputT]):
    """A graph that runs, whatever runs it: in this process, or elsewhere."""

    @abstractmethod
    def with_config(self, config: Config | None = None, **kwargs: Any) -> Self:
        """A copy whose runs start from this config."""

    @abstractmethod
    def get_graph(self, config: Config | None = None, *, xray: int | bool = False) -> Any:
        """The graph as something that can be drawn."""

    @abstractmethod
    async def aget_graph(self, config: Config | None = None, *, xray: int | bool = False) -> Any:
        """The same, awaited."""

    @abstractmethod
    def get_state(self, config: Config, *, subgraphs: bool = False) -> Any:
        """The state of a thread."""

    @abstractmethod
    async def aget_state(self, config: Config, *, subgraphs: bool = False) -> Any:
        """The same, awaited."""

    @abstractmethod
    def get_state_history(
        self,
        config: Config,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[Any]:
        """The states of a thread, newest first."""

    @abstractmethod
    def aget_state_history(
        self,
        config: Config,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Any]:
        """The same, asynchronously."""

    @abstractmethod
    def bulk_update_state(self, config: Config, updates: Sequence[Sequence[Any]]) -> Any:
        """Apply several supersteps of updates."""

    @abstractmethod
    async def abulk_update_state(self, config: Config, updates: Sequence[Sequence[Any]]) -> Any:
        """The same, awaited."""

    @abstractmethod
    def update_state(self, config: Config, values: Any, as_node: str | None = None) -> Any:
        """Write to a thread as if a node had returned the values."""

    @abstractmethod
    async def aupdate_state(self, config: Config, values: Any, as_node: str | None = None) -> Any:
        """The same, awaited."""

    @abstractmethod
    def stream(
        self,
        input: Any,
        config: Config | None = None,
        *,
        context: ContextT | None = None,
        stream_mode: Any = None,
        interrupt_before: Any = None,
        interrupt_after: Any = None,
        subgraphs: bool = False,
        version: str = "v1",
    ) -> Iterator[Any]:
        """Run and yield what happens."""

    @abstractmethod
    def astream(
        self,
        input: Any,
        config: Config | None = None,
        *,
        context: ContextT | None = None,
        stream_mode: Any = None,
        interrupt_before: Any = None,
        interrupt_after: Any = None,
        subgraphs: bool = False,
        version: str = "v1",
    ) -> AsyncIterator[Any]:
        """The same, asynchronously."""

    @abstractmethod
    def invoke(
        self,
        input: Any,
        config: Config | None = None,
        *,
        context: ContextT | None = None,
        interrupt_before: Any = None,
        interrupt_after: Any = None,
        version: str = "v1",
    ) -> Any:
        """Run to the end."""

    @abstractmethod
    async def ainvoke(
        self,
        input: Any,
        config: Config | None = None,
        *,
        context: ContextT | None = None,
        interrupt_before: Any = None,
        interrupt_after: Any = None,
        version: str = "v1",
    ) -> Any:
        """The same, awaited."""


bridges.adopt(PregelProtocol)


class StreamProtocol:
    """Where a run sends its parts: a function, and the modes it wants."""

    __slots__ = ("__call__", "modes")

    modes: set[str]

    def __init__(self, __call__: Callable[[Any], None], modes: set[str]) -> None:
        self.__call__ = __call__
        self.modes = modes
