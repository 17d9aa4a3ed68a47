"""Folding the writes of a step into a value: pure functions, no channel objects.

The rules, for every kind of field:

1. `Overwrite(v)`, or exactly `{"__overwrite__": v}`, makes `v` the value and drops all other writes of the step, whatever
   their order. Two of them in one step are an error. `v` is not folded.
2. A plain field takes one write a step.
3. A reducer field folds its writes in their order onto its value. Without a value it starts from its start value; where
   there is none, the first write is taken as it is.

A fold makes one pass and is linear in what it is given. It never changes `base` or a write in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, concat
from typing import Any

from stepgraph.channels.base import Fold
from stepgraph.errors import ErrorCode, InvalidUpdateError
from stepgraph.values.commands import Overwrite
from stepgraph.values.missing import MISSING
from stepgraph.values.names import OVERWRITE


def overwrite_of(value: Any) -> tuple[bool, Any]:
    """Whether a write is an `Overwrite` (or its JSON form), and what it holds.

    Example:
        >>> overwrite_of({"__overwrite__": 1}), overwrite_of([2])
        ((True, 1), (False, [2]))
    """
    kind = type(value)
    if kind is Overwrite:
        return True, value.value
    if kind is dict and len(value) == 1 and OVERWRITE in value:
        return True, value[OVERWRITE]
    return False, value


def overwritten(key: str, writes: Sequence[Any]) -> Any:
    """The value that the one `Overwrite` among the writes holds, `MISSING` if there is none.

    Raises:
        InvalidUpdateError: There are two.
    """
    found: Any = MISSING
    for write in writes:
        kind = type(write)
        if kind is Overwrite or (kind is dict and len(write) == 1 and OVERWRITE in write):
            if found is not MISSING:
                raise InvalidUpdateError(
                    f"At key {key!r}: Can receive only one Overwrite value per super-step. Let one node overwrite it, or"
                    " let them run in different steps.",
                    key=key,
                    code=ErrorCode.INVALID_CONCURRENT_GRAPH_UPDATE,
                )
            found = write.value if kind is Overwrite else write[OVERWRITE]
    return found


def only_value(key: str, writes: Sequence[Any]) -> Any:
    """The value that the writes of a step give a plain field.

    Raises:
        InvalidUpdateError: There are several, and not exactly one of them is an `Overwrite`.
    """
    value = overwritten(key, writes)
    if value is not MISSING:
        return value
    if len(writes) != 1:
        raise conflict(key)
    return writes[0]


def last_value(key: str) -> Fold:
    """Make the fold of a plain field."""

    def fold(base: Any, writes: Sequence[Any], memo: dict[str, Any]) -> Any:
        return only_value(key, writes)

    return fold


def conflict(key: str) -> InvalidUpdateError:
    """The error of two writes to a plain field."""
    return InvalidUpdateError(
        f"At key {key!r}: Can receive only one value per step. Use an Annotated key to handle multiple values.",
        key=key,
        code=ErrorCode.INVALID_CONCURRENT_GRAPH_UPDATE,
    )


def binary_operator(
    operator: Callable[[Any, Any], Any],
    start: Callable[[], Any],
    first: Callable[[], Any] | None = None,
    key: str = "",
) -> Fold:
    """Make the fold of a field with a reducer of two arguments.

    Args:
        operator: The reducer. If it has an attribute `fold`, a function `(base, writes, memo)`, that is called once in
            place of the reducer once a write.
        start: Makes the start value, `MISSING` if there is none.
        first: Makes the value that the first write, unless it is `None`, is folded onto where there is no start value.
        key: The field, for messages.
    """
    whole: Fold | None = getattr(operator, "fold", None)
    concatenates = operator is add or operator is concat

    def fold(base: Any, writes: Sequence[Any], memo: dict[str, Any]) -> Any:
        value = overwritten(key, writes)
        if value is not MISSING:
            return value
        if base is MISSING:
            base = start()
            if base is MISSING and first is not None and writes[0] is not None:
                base = first()
            if base is MISSING:
                base, writes = writes[0], writes[1:]
        if whole is not None and writes:
            return whole(base, writes, memo)
        if concatenates and len(writes) > 1 and _are_lists(base, writes):
            items = base.copy()
            for write in writes:
                items += write
            return items
        for write in writes:
            base = operator(base, write)
        return base

    return fold


def _are_lists(base: Any, writes: Sequence[Any]) -> bool:
    return type(base) is list and all(type(write) is list for write in writes)


def batch_reducer(
    reducer: Callable[[Any, Sequence[Any]], Any], start: Callable[[], Any], key: str = ""
) -> Fold:
    """Make the fold of a field whose reducer takes the value so far and all writes of the step at once.

    Args:
        reducer: Called as `reducer(value, writes)`.
        start: Makes the value that a field starts from.
        key: The field, for messages.
    """

    def fold(base: Any, writes: Sequence[Any], memo: dict[str, Any]) -> Any:
        value = overwritten(key, writes)
        if value is not MISSING:
            return value
        return reducer(start() if base is MISSING else base, list(writes))

    return fold
