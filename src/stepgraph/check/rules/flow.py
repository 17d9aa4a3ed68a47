"""Rules about where a run can go."""

from __future__ import annotations

from collections.abc import Iterator

from stepgraph.check.code import Code, Named
from stepgraph.check.levels import Level
from stepgraph.pregel.subgraphs import find_subgraphs
from stepgraph.values.findings import Finding
from stepgraph.values.names import END, START
from stepgraph.values.spelling import nearest


def nothing_reaches(level: Level) -> Iterator[Finding]:
    """SG201: a node that nothing leads to. Silent where anything in the graph may go anywhere."""
    builder = level.builder
    out: dict[str, set[str]] = {name: set() for name in (START, *builder.nodes)}
    for source, target in builder.edges:
        out[source].add(target)
    for sources, target in builder.waiting_edges:
        for source in sources:
            out[source].add(target)
    for source, name, code in _branches(level):
        ends = builder.branches[source][name].ends
        if ends is not None:
            out[source] |= set(ends.values())
        elif code.names_all:
            out[source] |= {named.name for named in code.results}
        else:
            return
        out[source] |= {named.name for named in code.gotos}
    reached: set[str] = set()
    waiting = [START]
    while waiting:
        source = waiting.pop()
        if source in reached or source not in out:
            continue
        reached.add(source)
        if source != START:
            spec, code = builder.nodes[source], level.codes[source]
            calls_graphs = spec.is_subgraph or find_subgraphs(spec.action)
            if calls_graphs or spec.error_handler is not None or not code.plain:
                return
            waiting += list(spec.ends)
        waiting += list(out[source])
    for name in builder.nodes:
        if name not in reached:
            yield level.finding(
                "SG201",
                "warning",
                f"Nothing leads to node {name!r}.",
                "It never runs.",
                f"Add an edge to it, name it where a node goes by Command(goto=...) (destinations=[{name!r}]), or remove it.",
                level.codes[name].at(),
            )


def _branches(level: Level) -> Iterator[tuple[str, str, Code]]:
    for source, branches in level.builder.branches.items():
        for name in branches:
            yield source, name, level.paths[source, name]


def never_ends(level: Level) -> Iterator[Finding]:
    """SG202: nodes from which no way leads to the end."""
    builder = level.builder
    if level.graph.interrupt_before_nodes or level.graph.interrupt_after_nodes:
        return
    static: dict[str, set[str]] = {}
    for source, target in builder.edges:
        static.setdefault(source, set()).add(target)
    ending: set[str] = {END}
    growing = True
    while growing:
        found = {
            name for name in builder.nodes if name not in ending and _can_end(level, name, static, ending)
        }
        ending |= found
        growing = bool(found)
    stuck = [name for name in builder.nodes if name not in ending]
    circle = [name for name in stuck if name in _after(name, static, level)]
    if circle and all(_only_goes_on(level, name) for name in stuck):
        names = ", ".join(map(repr, circle))
        yield level.finding(
            "SG202",
            "warning",
            f"From {names} no way leads to the end.",
            "A run that comes there goes round until the recursion limit stops it.",
            "Let a conditional edge lead to END, or drop the edge that leads back.",
            level.codes[circle[0]].at(),
        )


def _can_end(level: Level, name: str, static: dict[str, set[str]], ending: set[str]) -> bool:
    branches = level.builder.branches.get(name, {})
    targets = static.get(name, set())
    if not all(target in ending for target in targets):
        return False
    for branch, spec in branches.items():
        code = level.paths[name, branch]
        if not code.names_all:
            return True
        names = {str((spec.ends or {}).get(named.name, named.name)) for named in code.results}
        if not names & ending:
            return False
    return True


def _after(name: str, static: dict[str, set[str]], level: Level) -> set[str]:
    """All nodes that may run after a node."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        source = waiting.pop()
        targets = set(static.get(source, ()))
        for branch, spec in level.builder.branches.get(source, {}).items():
            results = level.paths[source, branch].results
            targets |= {str((spec.ends or {}).get(named.name, named.name)) for named in results}
        waiting += [target for target in targets if target not in found]
        found |= targets
    return found


def _only_goes_on(level: Level, name: str) -> bool:
    """Whether a node is known to do nothing but update the state: it neither asks, nor raises, nor goes elsewhere."""
    code = level.codes[name]
    return code.known and code.plain and not code.asks and not code.raises


def goes_to_unknown(level: Level) -> Iterator[Finding]:
    """SG203: a node or path names a node that does not exist, also in the graph above."""
    builder = level.builder
    for code in level.codes.values():
        for named in code.gotos:
            yield from _unknown(level, code, named)
    for source, name, code in _branches(level):
        for named in code.gotos:
            yield from _unknown(level, code, named)
        ends = builder.branches[source][name].ends
        for named in code.results:
            if ends is None:
                yield from _unknown(level, code, named)
            elif named.name not in ends and named.name != END:
                labels = ", ".join(map(repr, ends))
                yield level.finding(
                    "SG203",
                    "error",
                    f"The path {name!r} of {source!r} returns {named.name!r}, which is none of its targets ({labels}).",
                    "A run that comes there fails.",
                    "Return one of them, or add it to the path_map.",
                    code.at(named.line),
                )


def _unknown(level: Level, code: Code, named: Named) -> Iterator[Finding]:
    where = level.above if named.to_parent else level
    if where is None or named.many or named.name == END or named.name in where.builder.nodes:
        return
    nodes = where.builder.nodes
    if named.name == "END":
        mend = "Import END from stepgraph.graph and return that."
    else:
        near = nearest(named.name, nodes)
        mend = f"Did you mean {near!r}?" if near else f"Its nodes are: {', '.join(map(repr, nodes))}."
    warns = where.graph.plan.unknown_target == "warn"
    yield level.finding(
        "SG203",
        "warning" if warns else "error",
        f"{named.name!r} is no node of graph {where.graph.name!r}"
        + (", the graph above." if named.to_parent else "."),
        "A run that goes there ends with a warning." if warns else "A run that goes there fails.",
        mend,
        code.at(named.line),
    )


def branch_without_targets(level: Level) -> Iterator[Finding]:
    """SG204: a conditional edge that does not say where it may lead."""
    for source, name, code in _branches(level):
        if level.builder.branches[source][name].ends is None:
            yield level.finding(
                "SG204",
                "hint",
                f"The conditional edge {name!r} of {source!r} does not say where it may lead.",
                "Pictures show edges to every node, and unknown names are found only when a run comes there.",
                "Annotate the path: -> Literal['a', 'b'], or give a path_map.",
                code.at(),
            )
