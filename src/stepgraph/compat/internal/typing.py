"""Types of `langgraph._internal._typing` that packages in the field import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

from stepgraph.values.missing import MISSING

__all__ = ("EMPTY_SEQ", "MISSING", "DeprecatedKwargs")

EMPTY_SEQ: Sequence[Any] = ()


class DeprecatedKwargs(TypedDict):
    """Annotates keyword arguments that a function still takes and no longer documents."""
