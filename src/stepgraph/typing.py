"""Type variables of graphs, for code that is generic over them."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeVar

__all__ = (
    "ContextT",
    "InputT",
    "OutputT",
    "StateT",
    "StateT_co",
    "StateT_contra",
)

StateT = TypeVar("StateT", bound=Any)
"""The state of a graph."""

StateT_co = TypeVar("StateT_co", bound=Any, covariant=True)
StateT_contra = TypeVar("StateT_contra", bound=Any, contravariant=True)

ContextT = TypeVar("ContextT", bound=Any, default=None)
"""The context of a run."""

ContextT_contra = TypeVar("ContextT_contra", bound=Any, contravariant=True, default=None)

InputT = TypeVar("InputT", bound=Any, default=StateT)
"""The input of a graph; the state, if nothing else is said."""

OutputT = TypeVar("OutputT", bound=Any, default=StateT)
"""The output of a graph; the state, if nothing else is said."""

NodeInputT = TypeVar("NodeInputT", bound=Any)
"""The input of a node."""

NodeInputT_contra = TypeVar("NodeInputT_contra", bound=Any, contravariant=True)
