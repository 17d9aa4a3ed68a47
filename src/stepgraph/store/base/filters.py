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
from collections.abc import Callable, Iterable, Mapping
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


MOST_LEVELS = 100
"""A filter is not nested deeper than this."""
_CONTAINERS = (Mapping, list, tuple)


def validate_filter(filter: Mapping[str, Any]) -> None:
    """Check a filter before any value is looked at.

    Raises:
        ValueError: If an operator is unknown, an operator and a field name stand side by side, or it is nested too deeply.
    """
    _validate_depth(filter)
    for key, wanted in filter.items():
        _validate_wanted(str(key), wanted)


def _validate_depth(filter: Mapping[str, Any]) -> None:
    level: list[Any] = [filter]
    for _ in range(MOST_LEVELS):
        level = [part for value in level if isinstance(value, _CONTAINERS) for part in _parts_of(value)]
        if not level:
            return
    raise ValueError(
        f"The filter of the fields {list(filter)} is nested more than {MOST_LEVELS} levels deep."
    )


def _parts_of(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else value


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


Predicate = Callable[[Any], bool]


def matches(value: Mapping[str, Any], filter: Mapping[str, Any]) -> bool:
    """Whether a value fulfils a filter that `validate_filter` has passed.

    >>> matches({"price": 4, "meta": {"lang": "en", "v": 1}}, {"price": {"$gt": 3}, "meta": {"lang": "en"}})
    True
    """
    return compile_filter(filter)(value)


def compile_filter(filter: Mapping[str, Any]) -> Predicate:
    """The filter as a function of a dictionary, for who has many values to look at."""
    fields = [(key, _compile_wanted(wanted)) for key, wanted in filter.items()]
    if len(fields) == 1:
        ((only, predicate),) = fields
        return lambda value: predicate(value.get(only))

    def check(value: Mapping[str, Any]) -> bool:
        for key, predicate in fields:  # noqa: SIM110 - a loop is twice as fast as all()
            if not predicate(value.get(key)):
                return False
        return True

    return check


def _compile_wanted(wanted: Any) -> Predicate:
    """What a filter wants of one field, as a function of that field."""
    if isinstance(wanted, Mapping):
        if is_operators(wanted):
            return _compile_operators(wanted)
        inner = compile_filter(wanted)
        return lambda actual: isinstance(actual, Mapping) and inner(actual)
    if isinstance(wanted, (list, tuple)):
        elements = [_compile_wanted(element) for element in wanted]
        return lambda actual: (
            isinstance(actual, (list, tuple))
            and len(actual) == len(elements)
            and all(predicate(element) for predicate, element in zip(elements, actual))
        )
    return lambda actual: bool(actual == wanted)


def _compile_operators(operators: Mapping[str, Any]) -> Predicate:
    checks = [(OPERATORS[name], operand) for name, operand in operators.items()]
    if len(checks) == 1:
        ((only, expected),) = checks
        return lambda actual: only(actual, expected)
    return lambda actual: all(check(actual, operand) for check, operand in checks)
