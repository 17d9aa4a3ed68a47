"""Filters: what it means that a value matches one. Every store uses these functions, so a filter means the same in all.

Rules of this file: pure functions of a value and a filter.

Theory of operation. A filter is a dictionary; every entry must hold.

- `{"color": "red"}`: the field equals the value. A field that is missing counts as `None`.
- `{"price": {"$gt": 3, "$lte": 10}}`: operators; all must hold. `$eq`, `$ne` compare whole values; `$gt`, `$gte`,
  `$lt`, `$lte` compare numbers with numbers, texts with texts, and so on. Things without an order between them (a text
  and a number, anything and a missing field) do not match.
- `{"meta": {"lang": "en"}}`: the field is a dictionary and matches the inner filter; it may hold more fields.
- `{"tags": ["a", "b"]}`: a list of the same length, element by element.

Integers are compared exactly, whatever their size. A key is only ever looked up in the value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def check(actual: Any, expected: Any) -> bool:
        if isinstance(actual, tuple):
            actual = list(actual)
        if isinstance(expected, tuple):
            expected = list(expected)
        try:
            return bool(compare(actual, expected))
        except TypeError:
            return False  # no order between the two: not a match

    return check


def equal(actual: Any, expected: Any) -> bool:
    """Whether two whole values are equal; a list and a tuple of equal elements are."""
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(actual, (list, tuple))
            and len(actual) == len(expected)
            and all(map(equal, actual, expected))
        )
    if isinstance(expected, Mapping):
        return (
            isinstance(actual, Mapping)
            and actual.keys() == expected.keys()
            and all(equal(actual[key], wanted) for key, wanted in expected.items())
        )
    return bool(actual == expected)


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": equal,
    "$ne": lambda actual, expected: not equal(actual, expected),
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
}


def validate_filter(filter: Mapping[str, Any]) -> None:
    """Check a filter before any value is looked at.

    Raises:
        ValueError: If an operator is unknown, or an operator and a field name stand side by side.
    """
    for key, wanted in filter.items():
        _validate_wanted(str(key), wanted)


def _validate_wanted(path: str, wanted: Any) -> None:
    if isinstance(wanted, (list, tuple)):
        for position, element in enumerate(wanted):
            _validate_wanted(f"{path}[{position}]", element)
    elif isinstance(wanted, Mapping):
        if not is_operators(wanted):
            for key, inner in wanted.items():
                _validate_wanted(f"{path}.{key}", inner)
            return
        for key in wanted:
            if key not in OPERATORS:
                raise ValueError(
                    f"Unsupported operator: {key} (in the filter of field '{path}')."
                    f" Supported operators are {', '.join(OPERATORS)}."
                )


def is_operators(wanted: Mapping[Any, Any]) -> bool:
    """Whether a dictionary in a filter holds operators, not fields of a nested value."""
    return any(isinstance(key, str) and key.startswith("$") for key in wanted)


def matches(value: Mapping[str, Any], filter: Mapping[str, Any]) -> bool:
    """Whether a value fulfils a filter that `validate_filter` has passed.

    >>> matches({"price": 4, "meta": {"lang": "en", "v": 1}}, {"price": {"$gt": 3}, "meta": {"lang": "en"}})
    True
    """
    return all(_matches_field(value.get(key), wanted) for key, wanted in filter.items())


def _matches_field(actual: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if is_operators(wanted):
            return all(OPERATORS[name](actual, operand) for name, operand in wanted.items())
        return isinstance(actual, Mapping) and matches(actual, wanted)
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(actual, (list, tuple))
            and len(actual) == len(wanted)
            and all(map(_matches_field, actual, wanted))
        )
    return equal(actual, wanted)
