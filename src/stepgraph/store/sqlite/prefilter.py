"""Conditions that SQLite itself can check, to spare most rows the full filter.

Rules of this file: pure functions. A condition may let through too much, never too little: the full filter is applied to
what it lets through. So it is made only of what SQLite's JSON functions and ours surely see alike: texts that are equal,
and numbers, with a margin for how SQLite reads decimal fractions. Paths, like all values, are parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stepgraph.store.base.filters import is_operators

PLAIN_KEY = re.compile(r"[A-Za-z0-9_]+\Z")
LARGEST_NUMBER = 2.0**53
MARGIN = 1e-9
MOST_CONDITIONS = 16


def prefilter(filter: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """A condition on the column `s.value`, empty if nothing of the filter can be checked.

    >>> prefilter({"lang": "en", "meta": {"n": {"$gt": 3}}})[1]
    ['$."lang"', 'en', '$."meta"."n"', 2.999999997]
    """
    conditions = list(_conditions("$", filter))[:MOST_CONDITIONS]
    if not conditions:
        return "", []
    sql = " AND ".join(condition for condition, _ in conditions)
    params = [param for _, params in conditions for param in params]
    return f"CASE WHEN TYPEOF(s.value) = 'text' AND JSON_VALID(s.value) THEN {sql} ELSE 1 END", params


def _conditions(path: str, filter: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for key, wanted in filter.items():
        if not (isinstance(key, str) and PLAIN_KEY.match(key)):
            continue
        place = f'{path}."{key}"'
        if not isinstance(wanted, Mapping):
            yield from _compare(place, "$eq", wanted)
        elif is_operators(wanted):
            for name, operand in wanted.items():
                yield from _compare(place, name, operand)
        else:
            yield from _conditions(place, wanted)


def _compare(path: str, name: str, operand: Any) -> Iterator[tuple[str, list[Any]]]:
    value = "JSON_EXTRACT(s.value, ?)"
    if type(operand) is str:
        if name == "$eq" and "\0" not in operand and operand.isprintable():
            yield f"{value} = ?", [path, operand]
    elif isinstance(operand, (int, float)) and abs(operand) < LARGEST_NUMBER:
        margin = MARGIN * max(1.0, abs(operand))
        if name in ("$eq", "$gt", "$gte"):
            yield f"{value} >= ?", [path, operand - margin]
        if name in ("$eq", "$lt", "$lte"):
            yield f"{value} <= ?", [path, operand + margin]
