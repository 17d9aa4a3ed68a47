"""Names and protocols that writers of savers and serializers rely on. A public face: the names are defined elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from stepgraph.channels.delta import DeltaSnapshot as _DeltaSnapshot
from stepgraph.values.names import ERROR, INTERRUPT, RESUME, SCHEDULED, TASKS

__all__ = (
    "ERROR",
    "INTERRUPT",
    "RESUME",
    "SCHEDULED",
    "TASKS",
    "ChannelProtocol",
    "SendProtocol",
    "_DeltaSnapshot",
)

Value = TypeVar("Value", covariant=True)
Update = TypeVar("Update", contravariant=True)
C = TypeVar("C")


class ChannelProtocol(Protocol[Value, Update, C]):
    """What a saver may expect of a channel."""

    @property
    def ValueType(self) -> Any:
        """The type of the value."""

    @property
    def UpdateType(self) -> Any:
        """The type of a write."""

    def checkpoint(self) -> C | None:
        """What to store."""

    def from_checkpoint(self, checkpoint: C | None) -> Self:
        """A channel in a stored state."""

    def update(self, values: Sequence[Update]) -> bool:
        """Take the writes of a step."""

    def get(self) -> Value:
        """The value."""

    def consume(self) -> bool:
        """Note that a task triggered by the channel has run."""


@runtime_checkable
class SendProtocol(Protocol):
    """What a serializer may expect of a `Send`."""

    node: str
    arg: Any

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

    def __eq__(self, value: object) -> bool: ...
