"""Former home of some names of `stepgraph.types`. Importing it warns."""

from __future__ import annotations

from warnings import warn

from stepgraph.values.parts import All, StreamMode, StreamWriter
from stepgraph.values.policies import CachePolicy, RetryPolicy, default_retry_on
from stepgraph.values.snapshots import PregelExecutableTask, PregelTask, StateSnapshot, StateUpdate
from stepgraph.warnings import LangGraphDeprecatedSinceV10

__all__ = (
    "All",
    "CachePolicy",
    "PregelExecutableTask",
    "PregelTask",
    "RetryPolicy",
    "StateSnapshot",
    "StateUpdate",
    "StreamMode",
    "StreamWriter",
    "default_retry_on",
)

warn(
    "Importing from stepgraph.pregel.types is deprecated. Please use 'from stepgraph.types import ...' instead.",
    LangGraphDeprecatedSinceV10,
    stacklevel=2,
)
