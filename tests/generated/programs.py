"""Graph programs as data: what a generated graph looks like, without any package that could run it.

Rules of this file: frozen dataclasses and pure functions only; nothing here imports a graph package.

A `Program` is a tree of `Level`s. A level is one graph: nodes, edges between them, the fields it takes in and gives
back. Every node writes only what follows from its own name and the state it sees, so a program has exactly one
correct result, whatever the order in which parallel tasks end.

Fields (all levels share the vocabulary, `Level.takes` and `Level.gives` choose what crosses the border):

| field   | fold                         | a node writes                                   |
|---------|------------------------------|-------------------------------------------------|
| `log`   | list concatenation           | its own token                                   |
| `seen`  | dictionary merge             | how often it ran, under its own name            |
| `top`   | maximum                      | the length of the log it saw, plus one          |
| `word`  | none: the last value         | its own token                                   |
| `trail` | none: the last value         | the trail it saw, followed by its own token     |

Termination: edges, branches, sends and jumps only go forward in the order of the nodes. The one way back is `Loop`,
which counts the runs of its own source in `seen`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

FIELDS = ("log", "seen", "top", "word", "trail")
FOLDED = ("log", "seen", "top")
PLAIN = ("word", "trail")
END = "__end__"


@dataclass(frozen=True)
class Write:
    """Return an update of `fields`; with `split`, as a list of an update and a `Command`."""

    fields: tuple[str, ...] = ("log",)
    split: bool = False


@dataclass(frozen=True)
class Quiet:
    """Return None."""


@dataclass(frozen=True)
class Jump:
    """Return `Command(update=..., goto=targets)`."""

    targets: tuple[str, ...]
    fields: tuple[str, ...] = ("log",)


@dataclass(frozen=True)
class Up:
    """Return `Command(graph=Command.PARENT, ...)`: hand control to the parent's `targets`."""

    targets: tuple[str, ...]
    fields: tuple[str, ...] = ("log",)


@dataclass(frozen=True)
class Nest:
    """The node is a compiled graph."""

    level: Level


@dataclass(frozen=True)
class Call:
    """The node is a function that invokes a compiled graph `times` times."""

    level: Level
    times: int = 1


Action = Write | Quiet | Jump | Up | Nest | Call


@dataclass(frozen=True)
class Node:
    """One node: asks people first (`asks` interrupts), says something on the custom stream, then acts."""

    name: str
    action: Action = Write()
    asks: int = 0
    says: bool = False
    defer: bool = False

    @property
    def counts(self) -> bool:
        """Whether a run of this node is counted in `seen`."""
        return isinstance(self.action, Write | Jump)


@dataclass(frozen=True)
class Edge:
    """A plain edge; `source` may be several nodes, then the target waits for all of them."""

    sources: tuple[str, ...]
    target: str


@dataclass(frozen=True)
class Pick:
    """A branch: the length of the log chooses one of `options`."""

    source: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Loop:
    """A branch: back to `target` until `source` ran `laps` times, then on to `out`."""

    source: str
    target: str
    out: str
    laps: int


@dataclass(frozen=True)
class Fan:
    """A branch: `width` sends to `target`, each with a state of its own, beside the plain `also`."""

    source: str
    target: str
    width: int
    also: tuple[str, ...] = ()


Branch = Pick | Loop | Fan


@dataclass(frozen=True)
class Level:
    """One graph: its nodes in order, the entry nodes, and what crosses its border when it is nested."""

    nodes: tuple[Node, ...]
    starts: tuple[str, ...]
    edges: tuple[Edge, ...] = ()
    branches: tuple[Branch, ...] = ()
    takes: tuple[str, ...] = FIELDS
    gives: tuple[str, ...] = FIELDS
    checkpointer: bool | None = None
    stops_before: tuple[str, ...] = ()
    stops_after: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Program:
    """A root level and the fields of the standard input that are given to it."""

    root: Level
    given: tuple[str, ...] = FIELDS

    def input(self) -> dict[str, object]:
        """The input of a first run."""
        standard: dict[str, object] = {"log": ["in"], "seen": {}, "top": 0, "word": "w", "trail": "t"}
        return {field: standard[field] for field in self.given}

    def __repr__(self) -> str:
        return f"<Program\n{sketch(self)}\n>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What hypothesis prints of a failing example."""
        printer.text(repr(self))


def children(level: Level) -> Iterator[Level]:
    """The levels that nodes of `level` hold directly."""
    for node in level.nodes:
        if isinstance(node.action, Nest | Call):
            yield node.action.level


def levels(level: Level) -> Iterator[Level]:
    """`level` and everything below it."""
    yield level
    for child in children(level):
        yield from levels(child)


def nodes(program: Program) -> Iterator[Node]:
    """Every node of every level."""
    for level in levels(program.root):
        yield from level.nodes


def asks(program: Program) -> bool:
    """Whether a run of the program may pause."""
    return any(node.asks for node in nodes(program)) or any(
        level.stops_before or level.stops_after for level in levels(program.root)
    )


def depth(level: Level) -> int:
    """The number of levels from `level` down."""
    return 1 + max((depth(child) for child in children(level)), default=0)


def sequential(level: Level) -> bool:
    """Whether at most one task of the level runs in any step."""
    outgoing = [source for edge in level.edges for source in edge.sources]
    outgoing += [branch.source for branch in level.branches]
    return (
        len(level.starts) == 1
        and len(outgoing) == len(set(outgoing))
        and not any(isinstance(branch, Fan) for branch in level.branches)
        and not any(isinstance(node.action, Jump) for node in level.nodes)
    )


def flattened(level: Level) -> Level:
    """The same graph with every nested graph's nodes in the place of the node that held it.

    Only for levels whose nested graphs have one entry and one last node, and no branches that end them early.
    """
    flat = level
    for node in level.nodes:
        if isinstance(node.action, Nest):
            flat = _inline(flat, node, flattened(node.action.level))
    return flat


def _inline(level: Level, holder: Node, child: Level) -> Level:
    entry, last = child.starts[0], child.nodes[-1].name

    def into(name: str) -> str:
        return entry if name == holder.name else name

    def out_of(name: str) -> str:
        return last if name == holder.name else name

    position = level.nodes.index(holder)
    branches: list[Branch] = []
    for branch in level.branches:
        if isinstance(branch, Pick):
            branches.append(Pick(out_of(branch.source), tuple(into(name) for name in branch.options)))
        else:
            branches.append(branch)
    return replace(
        level,
        nodes=level.nodes[:position] + child.nodes + level.nodes[position + 1 :],
        starts=tuple(into(name) for name in level.starts),
        edges=tuple(Edge(tuple(out_of(s) for s in edge.sources), into(edge.target)) for edge in level.edges)
        + tuple(edge for edge in child.edges if edge.target != END),
        branches=(*branches, *child.branches),
    )


def sketch(program: Program) -> str:
    """The whole program, one line a node, children indented."""
    return "\n".join([f"input: {', '.join(program.given)}", *_level(program.root, "")])


def _level(level: Level, indent: str) -> Iterator[str]:
    notes = [f"starts {' '.join(level.starts)}"]
    if indent:
        notes += [f"takes {' '.join(level.takes)}", f"gives {' '.join(level.gives)}"]
        notes += [f"checkpointer {level.checkpointer}"]
    notes += [f"stops before {' '.join(level.stops_before)}"] if level.stops_before else []
    notes += [f"stops after {' '.join(level.stops_after)}"] if level.stops_after else []
    yield f"{indent}graph: {'; '.join(notes)}"
    for node in level.nodes:
        yield f"{indent}  {_node(node)}{''.join(_ways(level, node))}"
        if isinstance(node.action, Nest | Call):
            yield from _level(node.action.level, indent + "    ")
    for edge in level.edges:
        if len(edge.sources) > 1:
            yield f"{indent}  {' & '.join(edge.sources)} -> {edge.target}"


def _node(node: Node) -> str:
    action = node.action
    words = [node.name + ":"]
    words += ["deferred"] if node.defer else []
    words += ["says"] if node.says else []
    words += [f"asks {node.asks}"] if node.asks else []
    words.append(type(action).__name__.lower())
    if isinstance(action, Write | Jump | Up):
        words.append(",".join(action.fields))
    if isinstance(action, Write) and action.split:
        words.append("(split)")
    if isinstance(action, Jump | Up):
        words.append(f"goto [{' '.join(action.targets)}]")
    if isinstance(action, Call):
        words.append(f"x{action.times}")
    return " ".join(words)


def _ways(level: Level, node: Node) -> Iterator[str]:
    for edge in level.edges:
        if edge.sources == (node.name,):
            yield f" -> {edge.target}"
    for branch in level.branches:
        if branch.source == node.name:
            yield f" -> {_branch(branch)}"


def _branch(branch: Branch) -> str:
    if isinstance(branch, Pick):
        return f"one of ({' '.join(branch.options)})"
    if isinstance(branch, Loop):
        return f"{branch.target} until run {branch.laps} times, then {branch.out}"
    return f"{branch.width} sends to {branch.target}" + "".join(f", {name}" for name in branch.also)
