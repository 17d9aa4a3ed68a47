"""Filters as SQL conditions on a `jsonb` column, with exactly the meaning of `stepgraph.store.base.filters`.

Rules of this file: pure functions. SQL text is made of constants; keys and values of a filter are parameters. A condition
is true or false, never NULL, so that it can be negated. A place that is not there reads as JSON's `null`.

What Python and JSON see differently is spelled out: `True` equals 1 and is ordered like a number; lists are ordered
element by element; things without an order between them do not match.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from stepgraph.store.base.filters import is_operators
from stepgraph.store.postgres.texts import encode_json, number_text
from stepgraph.store.sql.values import dump_json, load_json

ORDERINGS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class Condition(NamedTuple):
    """SQL text with `?` for each of its parameters."""

    sql: str
    params: list[Any]


TRUE = Condition("TRUE", [])
FALSE = Condition("FALSE", [])


class Place(NamedTuple):
    """A place inside the column `s.value`.

    Attributes:
        path: Keys of objects and positions in lists that lead there.
    """

    path: tuple[str, ...]

    def at(self, step: str | int) -> Place:
        """The place one step below."""
        return Place((*self.path, str(step)))

    def value(self, sql: str) -> Condition:
        """SQL text in which `{}` stands for what is at the place, `null` if nothing is."""
        return Condition(
            sql.replace("{}", "COALESCE(s.value #> ?::text[], 'null'::jsonb)"),
            [list(self.path)] * sql.count("{}"),
        )

    def is_there(self) -> Condition:
        """That there is something at the place, be it `null`."""
        return Condition("(s.value #> ?::text[]) IS NOT NULL", [list(self.path)])


def filter_condition(filter: Mapping[str, Any]) -> Condition:
    """The condition that a filter makes of the column `s.value`.

    >>> filter_condition({"price": {"$gt": 3}}).params
    [['price'], ['price'], ['price'], '3']
    """
    return _fields(Place(()), load_json(dump_json(filter)))


def _fields(place: Place, filter: Mapping[str, Any]) -> Condition:
    return _all([_wanted(place.at(key), wanted) for key, wanted in filter.items()])


def _wanted(place: Place, wanted: Any) -> Condition:
    if isinstance(wanted, dict):
        if is_operators(wanted):
            return _all([_operator(place, name, operand) for name, operand in wanted.items()])
        return _all([place.value("JSONB_TYPEOF({}) = 'object'"), _fields(place, wanted)])
    if isinstance(wanted, list):
        elements = [_wanted(place.at(position), element) for position, element in enumerate(wanted)]
        return _all([_has_length(place, len(wanted)), *elements])
    return _equal(place, wanted)


def _operator(place: Place, name: str, operand: Any) -> Condition:
    if name == "$eq":
        return _equal(place, operand)
    if name == "$ne":
        return _not(_equal(place, operand))
    return _ordered(place, ORDERINGS[name], operand)


def _equal(place: Place, expected: Any) -> Condition:
    """That what is at the place equals a whole value."""
    if not _holds_truth(expected):
        return _with(place.value("{} = ?::jsonb"), encode_json(dump_json(expected)))
    if isinstance(expected, list):
        elements = [_equal(place.at(position), element) for position, element in enumerate(expected)]
        return _all([_has_length(place, len(expected)), *elements])
    if isinstance(expected, dict):
        count = "(SELECT COUNT(*) FROM JSONB_OBJECT_KEYS({})) = ?"
        sql = f"CASE WHEN JSONB_TYPEOF({{}}) = 'object' THEN {count} ELSE FALSE END"
        fields = [_equal(place.at(key), field) for key, field in expected.items()]
        present = [place.at(key).is_there() for key, field in expected.items() if field is None]
        return _all([_with(place.value(sql), len(expected)), *present, *fields])
    truth = "true" if expected else "false"
    return _with(place.value("{} IN (?::jsonb, ?::jsonb)"), number_text(int(expected)), truth)


def _holds_truth(expected: Any) -> bool:
    """Whether a value is, or holds, a truth value or a number that equals one: JSON keeps the two apart."""
    if isinstance(expected, list):
        return any(map(_holds_truth, expected))
    if isinstance(expected, dict):
        return any(map(_holds_truth, expected.values()))
    return isinstance(expected, (bool, int, float)) and expected in (0, 1)


def _ordered(place: Place, sign: str, expected: Any) -> Condition:
    """That what is at the place stands before or after a value."""
    if isinstance(expected, (int, float)):
        number = "CASE JSONB_TYPEOF({}) WHEN 'number' THEN {}::numeric"
        number += " WHEN 'boolean' THEN {}::boolean::integer::numeric END"
        return _with(place.value(f"COALESCE({number} {sign} ?::numeric, FALSE)"), number_text(expected))
    if isinstance(expected, str):
        text = f'({{}} #>> ARRAY[]::text[]) COLLATE "C" {sign} ?::text'
        sql, params = place.value(f"CASE WHEN JSONB_TYPEOF({{}}) = 'string' THEN {text} ELSE FALSE END")
        return Condition(sql, [*params, expected])
    if isinstance(expected, list):
        return _ordered_list(place, sign, expected)
    return FALSE


def _ordered_list(place: Place, sign: str, expected: list[Any]) -> Condition:
    """Lists are ordered by the first elements that differ; a list that is the beginning of another stands before it."""
    sql, params = place.value("CASE WHEN JSONB_TYPEOF({}) <> 'array' THEN FALSE")
    shorter = "TRUE" if sign.startswith("<") else "FALSE"
    for position, element in enumerate(expected):
        below = place.at(position)
        ended = _with(place.value("JSONB_ARRAY_LENGTH({}) <= ?"), position)
        equal, ordered = _equal(below, element), _ordered(below, sign, element)
        sql += f" WHEN {ended.sql} THEN {shorter} WHEN NOT ({equal.sql}) THEN {ordered.sql}"
        params = [*params, *ended.params, *equal.params, *ordered.params]
    length = _with(place.value(f"JSONB_ARRAY_LENGTH({{}}) {sign} ?"), len(expected))
    return Condition(f"{sql} ELSE {length.sql} END", [*params, *length.params])


def _has_length(place: Place, length: int) -> Condition:
    sql = "CASE WHEN JSONB_TYPEOF({}) = 'array' THEN JSONB_ARRAY_LENGTH({}) = ? ELSE FALSE END"
    return _with(place.value(sql), length)


def _with(condition: Condition, *params: Any) -> Condition:
    """A condition with the parameters that come last in it."""
    return Condition(condition.sql, [*condition.params, *params])


def _all(conditions: list[Condition]) -> Condition:
    if not conditions:
        return TRUE
    if len(conditions) == 1:
        return conditions[0]
    sql = " AND ".join(f"({condition.sql})" for condition in conditions)
    return Condition(sql, [param for condition in conditions for param in condition.params])


def _not(condition: Condition) -> Condition:
    return Condition(f"NOT ({condition.sql})", condition.params)
