"""Rules about several writers of one field in one superstep."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from stepgraph.channels.last_value import LastValue
from stepgraph.check.levels import Level, field_place
from stepgraph.schema.fields import parse_schema
from stepgraph.values.findings import Finding
from stepgraph.values.names import END, START


def _plain_fields(level: Level) -> set[str]:
    return {name for name, spec in level.fields().items() if type(spec.channel) is LastValue}


def parallel_writers(level: Level) -> Iterator[Finding]:
    """SG301: nodes that always run in the same superstep and always write the same plain field."""
    plain = _plain_fields(level)
    told: set[tuple[str, str, str]] = set()
    for source in (START, *level.builder.nodes):
        targets = sorted(t for s, t in level.builder.edges if s == source and t != END)
        for first, second in combinations(targets, 2):
            if level.builder.nodes[first].defer or level.builder.nodes[second].defer:
                continue
            both = _writes(level, first) & _writes(level, second) & plain
            for name in sorted(both):
                if (name, first, second) not in told:
                    told.add((name, first, second))
                    yield _finding(level, name, first, second)


def _writes(level: Level, node: str) -> set[str]:
    """The fields that a node writes whenever it runs."""
    return set(level.codes[node].always)


def _finding(level: Level, name: str, first: str, second: str) -> Finding:
    code = level.codes[second]
    return level.finding(
        "SG301",
        "error",
        f"Nodes {first!r} and {second!r} run in the same superstep, and both write {name!r}, which takes one value a step.",
        "The run fails with InvalidUpdateError.",
        f"Give {name!r} a reducer (Annotated[..., operator.add]), let one of them write it, or run one after the other.",
        code.at() or field_place(level.builder.fields[name]),
    )


def parallel_graphs(level: Level) -> Iterator[Finding]:
    """SG302: graphs that are nodes, always run in the same superstep, and hand back the same plain field."""
    plain = _plain_fields(level)
    nodes = level.builder.nodes
    for source in (START, *nodes):
        targets = sorted(
            t for s, t in level.builder.edges if s == source and t in nodes and nodes[t].is_subgraph
        )
        for first, second in combinations(targets, 2):
            both = _handed_through(level, first) & _handed_through(level, second) & plain
            for name in sorted(both):
                yield level.finding(
                    "SG302",
                    "warning",
                    f"Graphs {first!r} and {second!r} run in the same superstep, and both hand {name!r} in and back, which takes one "
                    "value a step.",
                    "If it holds a value, the run fails with InvalidUpdateError, even where neither changes it.",
                    f"Leave {name!r} out of an output schema, or give it a reducer that takes several values.",
                    field_place(level.builder.fields[name]),
                )


def _handed_through(level: Level, node: str) -> set[str]:
    """The fields that go into a graph and come back as they are or changed."""
    inner = getattr(level.builder.nodes[node].action, "builder", None)
    if inner is None:
        return set()
    return set(parse_schema(inner.input_schema).channels) & set(parse_schema(inner.output_schema).channels)


def sends_write_one_value(level: Level) -> Iterator[Finding]:
    """SG303: a node that is sent to in a loop, and always writes a plain field."""
    plain = _plain_fields(level)
    told: set[str] = set()
    for code in (*level.paths.values(), *level.codes.values()):
        for named in code.gotos:
            if not named.many or named.name not in level.builder.nodes or named.name in told:
                continue
            told.add(named.name)
            for name in sorted(_writes(level, named.name) & plain):
                yield level.finding(
                    "SG303",
                    "warning",
                    f"Node {named.name!r} is sent to in a loop, and each of its runs writes {name!r}, which takes one value a step.",
                    "With more than one Send the run fails with InvalidUpdateError.",
                    f"Give {name!r} a reducer, for example Annotated[list[...], operator.add].",
                    level.codes[named.name].at() or code.at(named.line),
                )
