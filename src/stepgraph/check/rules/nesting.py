"""Rules about fields that a graph and the graph inside it share by name.

They look at a graph that is a node itself: where a function calls it, the function decides what goes in and out.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Final, get_origin

from stepgraph.channels.binop import BinaryOperatorAggregate
from stepgraph.channels.last_value import LastValue
from stepgraph.check.levels import Level, field_place
from stepgraph.schema.annotations import bare_type
from stepgraph.schema.fields import parse_schema
from stepgraph.schema.type_names import allowed_classes
from stepgraph.values.findings import Finding
from stepgraph.values.names import ROOT

NEAR: Final = 0.82
DEEP: Final = 2
SHARED: Final = 1 / 3


def _names(schema: Any) -> dict[str, Any]:
    return parse_schema(schema).channels


def _shared(level: Level) -> list[tuple[str, Any, Any]]:
    """Name, spec above and spec here, of fields that go in or out under one name."""
    if level.above is None or not level.is_node:
        return []
    above, own = level.above.fields(), level.fields()
    passing = {*_names(level.builder.input_schema), *_names(level.builder.output_schema)}
    return [(name, above[name], own[name]) for name in own if name in above and name in passing]


def reducers_differ(level: Level) -> Iterator[Finding]:
    """SG101: a field of one name has different reducers in parent and child."""
    for name, above, own in _shared(level):
        reducers = [channel.operator for channel in (above.channel, own.channel) if _folds(channel)]
        if len(reducers) == 2 and not _same_function(*reducers):
            yield level.finding(
                "SG101",
                "warning",
                f"Field {name!r} is folded by {_called(reducers[0])} in the graph above and by {_called(reducers[1])} here.",
                "What the child folded by its rule is folded again by the other when it goes up.",
                f"Use one reducer for {name!r} in both, or give the child's field a name of its own.",
                field_place(own),
            )


def _folds(channel: Any) -> bool:
    return isinstance(channel, BinaryOperatorAggregate)


def _same_function(first: Any, second: Any) -> bool:
    if first is second or first == second:
        return True
    codes = [getattr(function, "__code__", None) for function in (first, second)]
    return codes[0] is not None and codes[1] is not None and codes[0].co_code == codes[1].co_code


def _called(function: Any) -> str:
    return str(getattr(function, "__name__", None) or repr(function))


def types_differ(level: Level) -> Iterator[Finding]:
    """SG102: a field of one name holds values of different classes in parent and child."""
    for name, above, own in _shared(level):
        classes = [allowed_classes(spec.channel.typ) for spec in (above, own)]
        if classes[0] is None or classes[1] is None or _overlap(classes[0], classes[1]):
            continue
        yield level.finding(
            "SG102",
            "error",
            f"Field {name!r} is {_listed(classes[1])} here and {_listed(classes[0])} in the graph above.",
            "The value goes from one to the other as it is.",
            "Give both the same type, or the child's field another name and translate in a function that calls the child.",
            field_place(own),
        )


def _overlap(first: set[type], second: set[type]) -> bool:
    number = {bool, int, float, complex}
    if first & number and second & number:
        return True
    return any(issubclass(a, b) or issubclass(b, a) for a in first for b in second)


def _listed(classes: set[type]) -> str:
    return " or ".join(sorted(cls.__name__ for cls in classes))


def output_is_lost(level: Level) -> Iterator[Finding]:
    """SG103: the child's output that no field of the parent takes."""
    if level.above is None or not level.is_node:
        return
    builder = level.builder
    output, above = _names(builder.output_schema), level.above.fields()
    lost = [name for name in output if name not in above]
    if ROOT in output or ROOT in above or not lost:
        return
    declared = builder.output_schema is not builder.state_schema
    if len(lost) < len(output) and not declared:
        return
    if any(code.gotos or not code.known for code in level.codes.values()):
        return
    names = ", ".join(map(repr, lost))
    yield level.finding(
        "SG103",
        "warning",
        f"The graph above has no field for {names}, which this graph returns.",
        "What has no field there is dropped when the child ends.",
        f"Add {names} to the state of graph {level.above.graph.name!r}"
        + (
            ", or leave it out of the output schema."
            if declared
            else ", or call the child from a function that translates."
        ),
        field_place(builder.fields[lost[0]]),
    )


def missed_by_name(level: Level) -> Iterator[Finding]:
    """SG104: a field of the parent that the child seems meant to get, but misses by name."""
    if level.above is None or not level.is_node:
        return
    above, own = level.above.fields(), level.fields()
    for name in _names(level.builder.input_schema):
        if name in above or name == ROOT:
            continue
        for candidate, spec in above.items():
            if candidate not in own and _near(name, candidate) and _same_kind(own[name], spec):
                yield level.finding(
                    "SG104",
                    "warning",
                    f"The graph above has {candidate!r} and this one {name!r}.",
                    "Only fields of the same name go in, so this one stays empty.",
                    f"If they are the same, call both {candidate!r}.",
                    field_place(own[name]),
                )


def _near(first: str, second: str) -> bool:
    plain = [name.replace("_", "").lower() for name in (first, second)]
    if min(map(len, plain)) < 4:
        return False
    if plain[0] == plain[1] or plain[0] + "s" == plain[1] or plain[1] + "s" == plain[0]:
        return True
    digits = ["".join(c for c in name if c.isdigit()) for name in plain]
    return digits[0] == digits[1] and SequenceMatcher(None, plain[0], plain[1]).ratio() >= NEAR


def _same_kind(first: Any, second: Any) -> bool:
    known = [allowed_classes(spec.channel.typ) for spec in (first, second)]
    return known[0] is None or known[1] is None or _overlap(known[0], known[1])


def shares_many_fields(level: Level) -> Iterator[Finding]:
    """SG105: more than a third of the fields of parent and child are the same."""
    shared = _shared(level)
    if level.above is None or len(shared) < 3:
        return
    all_names = {*level.above.fields(), *level.fields()}
    if len(shared) > len(all_names) * SHARED:
        yield level.finding(
            "SG105",
            "hint",
            f"{len(shared)} of {len(all_names)} fields are shared with the graph above.",
            "A child that knows most of its parent's state is hard to use or to test elsewhere.",
            "Give it an input and an output schema of its own with what it needs.",
        )


def is_deep(level: Level) -> Iterator[Finding]:
    """SG106: graphs are nested deeper than two levels below the root."""
    if len(level.path) == DEEP + 1:
        yield level.finding(
            "SG106",
            "hint",
            f"Graph {level.graph.name!r} is nested {len(level.path)} levels deep.",
            "Pauses, streams and histories have one more level for a person to follow.",
            "See whether two of the levels can be one.",
        )


def is_catch_all(level: Level) -> Iterator[Finding]:
    """SG107: a plain dict field that several nodes write, each with a dict of its own."""
    for name, spec in level.fields().items():
        kept = bare_type(spec.channel.typ)
        if type(spec.channel) is not LastValue or not (kept is dict or get_origin(kept) is dict):
            continue
        writers = {node: code for node, code in level.codes.items() if name in code.literals}
        if len(writers) > 1:
            nodes = ", ".join(map(repr, writers))
            last = list(writers.values())[-1]
            yield level.finding(
                "SG107",
                "warning",
                f"Nodes {nodes} each write a dict of their own to {name!r}, which holds one dict for everything.",
                "Each write replaces the whole dict: what the others put there is lost.",
                "Make each key a field, or give the field a reducer that merges dicts.",
                last.at(last.literals[name]),
            )
