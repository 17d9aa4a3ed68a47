"""Comparing what came back with what was stored: same type, same value, all the way down."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer


def round_trip(value: Any, serializer: JsonPlusSerializer | None = None) -> Any:
    """What comes back of a value."""
    serializer = serializer or JsonPlusSerializer()
    return serializer.loads_typed(serializer.dumps_typed(value))


def same(first: Any, second: Any) -> bool:
    """Whether two values have the same types and are equal; NaN is equal to itself."""
    if type(first) is not type(second):
        return False
    if isinstance(first, float):
        return first == second or (math.isnan(first) and math.isnan(second))
    if isinstance(first, complex):
        return same(first.real, second.real) and same(first.imag, second.imag)
    if isinstance(first, dict):
        return len(first) == len(second) and all(
            same(key, other) and same(value, second[other])
            for (key, value), other in zip(first.items(), second)
        )
    if isinstance(first, list | tuple | deque):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, set | frozenset):
        kinds = sorted(type(item).__name__ for item in first)
        return first == second and kinds == sorted(type(item).__name__ for item in second)
    return bool(first == second)
