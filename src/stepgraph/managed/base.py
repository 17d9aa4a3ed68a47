"""The protocol of managed values: a class with one static method, computed when a node reads its field."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeAlias, TypeGuard, TypeVar

__all__ = ("ManagedValueMapping", "ManagedValueSpec")

V = TypeVar("V")


class Scratchpad(Protocol):
    """What a managed value is computed from: where its run is."""

    @property
    def step(self) -> int:
        """The superstep at work."""

    @property
    def stop(self) -> int:
        """The superstep at which the run is cut off."""


class ManagedValue(ABC, Generic[V]):
    """Base of managed values. The class itself annotates a field: `Annotated[bool, MyManager]`."""

    @staticmethod
    @abstractmethod
    def get(scratchpad: Scratchpad) -> V:
        """Compute the value for one task."""


ManagedValueSpec: TypeAlias = type[ManagedValue[Any]]
ManagedValueMapping: TypeAlias = dict[str, ManagedValueSpec]


def is_managed_value(value: Any) -> TypeGuard[ManagedValueSpec]:
    """Whether something that annotates a field is the class of a managed value."""
    return isinstance(value, type) and issubclass(value, ManagedValue)
