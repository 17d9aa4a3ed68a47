"""Hand-made programs for the corners that a random one seldom reaches, by name."""

from __future__ import annotations

from itertools import pairwise

from .programs import PLAIN, Call, Edge, Fan, Jump, Level, Loop, Nest, Node, Pick, Program, Quiet, Up, Write

FRESH = ("log", "seen")


def edge(source: str, target: str) -> Edge:
    """One plain edge."""
    return Edge((source,), target)


def chain(*nodes: Node, **options: object) -> Level:
    """A level whose nodes run one after another."""
    names = [node.name for node in nodes]
    edges = tuple(edge(source, target) for source, target in pairwise(names))
    level: dict[str, object] = {"takes": PLAIN, "gives": FRESH, "edges": edges, **options}
    return Level(nodes=nodes, starts=(names[0],), **level)  # type: ignore[arg-type]


def root(*nodes: Node, starts: tuple[str, ...] = ("a",), **options: object) -> Program:
    """A program whose root has these nodes."""
    return Program(Level(nodes=nodes, starts=starts, **options))  # type: ignore[arg-type]


ASKING_CHILD = chain(Node("xa"), Node("xb", asks=1), Node("xc", says=True))
KEPT_CHILD = chain(Node("ka"), Node("kb"), checkpointer=True)
BREAKING_CHILD = chain(Node("sa"), Node("sb"), stops_before=("sa", "sb"))

CLASSICS: dict[str, Program] = {
    "a deferred node that waits for two": root(
        Node("a"),
        Node("b"),
        Node("c", defer=True),
        Node("d"),
        Node("e"),
        starts=("a", "b"),
        edges=(Edge(("a", "b"), "c"), edge("b", "d"), edge("d", "e")),
    ),
    "a deferred node that waits through a pause": root(
        Node("a"),
        Node("b", defer=True),
        Node("c", asks=1),
        Node("d", asks=1),
        starts=("a", "b"),
        edges=(edge("a", "c"), edge("c", "d")),
    ),
    "a deferred node that waits through two steps": root(
        Node("a"),
        Node("b", defer=True),
        Node("c"),
        Node("d"),
        starts=("a", "b"),
        edges=(edge("a", "c"), edge("c", "d")),
    ),
    "a deferred collector of sends": root(
        Node("a"),
        Node("b"),
        Node("c", says=True),
        Node("d", defer=True),
        edges=(edge("a", "d"), edge("a", "b"), edge("c", "d")),
        branches=(Fan("b", "c", 3),),
    ),
    "two deferred nodes, one after the other": root(
        Node("a"),
        Node("b", defer=True),
        Node("c", defer=True),
        Node("d"),
        edges=(edge("a", "b"), edge("a", "d"), edge("b", "c")),
    ),
    "sends to a child that asks": root(
        Node("a"),
        Node("b", Nest(ASKING_CHILD)),
        Node("c"),
        edges=(edge("b", "c"),),
        branches=(Fan("a", "b", 2),),
    ),
    "a question three levels down": root(
        Node("a"),
        Node("b", Nest(chain(Node("ba"), Node("bb", Nest(ASKING_CHILD)), Node("bc")))),
        Node("c"),
        edges=(edge("a", "b"), edge("b", "c")),
    ),
    "a function that calls an asking child twice": root(
        Node("a"), Node("b", Call(ASKING_CHILD, 2), asks=1), Node("c"), edges=(edge("a", "b"), edge("b", "c"))
    ),
    "a function that calls a child of many steps that asks last, twice": root(
        Node("a", Call(chain(Node("aa"), Node("ab"), Node("ac"), Node("ad", Quiet(), asks=1)), 2)),
        Node("b"),
        edges=(edge("a", "b"),),
    ),
    "a function that calls a child that writes nothing": root(
        Node("a"), Node("b", Call(chain(Node("ba", Quiet())))), edges=(edge("a", "b"),)
    ),
    "a child that keeps its state, visited twice": root(
        Node("a"),
        Node("b", Nest(KEPT_CHILD)),
        Node("c"),
        edges=(edge("a", "b"), edge("b", "c")),
        branches=(Loop("c", "b", "__end__", 2),),
    ),
    "a child that keeps its state and holds a graph, visited twice": root(
        Node("a"),
        Node(
            "b", Nest(chain(Node("ba"), Node("bb", Nest(chain(Node("bba"), Node("bbb")))), checkpointer=True))
        ),
        Node("c"),
        edges=(edge("a", "b"), edge("b", "c")),
        branches=(Loop("c", "b", "__end__", 2),),
    ),
    "a function that calls a child that keeps its state": root(
        Node("a"), Node("b", Call(KEPT_CHILD, 2)), Node("c"), edges=(edge("a", "b"), edge("b", "c"))
    ),
    "a child without checkpoints": root(
        Node("a"),
        Node("b", Nest(chain(Node("ba"), Node("bb"), checkpointer=False))),
        Node("c"),
        edges=(edge("a", "b"), edge("b", "c")),
    ),
    "parallel questions, several in a node": root(
        Node("a", asks=2),
        Node("b", asks=1),
        Node("c"),
        Node("d"),
        starts=("a", "b", "c"),
        edges=(Edge(("a", "b", "c"), "d"),),
    ),
    "a command to the parent, two levels up": root(
        Node("a"),
        Node(
            "b",
            Nest(
                chain(Node("ba"), Node("bb", Nest(chain(Node("bba"), Node("bbb", Up(("bc",)))))), Node("bc"))
            ),
        ),
        Node("c"),
        edges=(edge("a", "b"), edge("b", "c")),
    ),
    "a command to the parent from a called child": root(
        Node("a"),
        Node("b", Call(chain(Node("ba"), Node("bb", Up(("d",)))))),
        Node("c"),
        Node("d"),
        edges=(edge("a", "b"), edge("b", "c")),
    ),
    "jumps beside edges": root(
        Node("a", Jump(("c", "d"))),
        Node("b", Quiet()),
        Node("c", Write(("log", "top"), split=True)),
        Node("d"),
        edges=(edge("a", "b"), edge("b", "d")),
        branches=(Pick("c", ("d", "__end__")),),
    ),
    "breakpoints in parent and child": root(
        Node("a"),
        Node("b", Nest(BREAKING_CHILD)),
        Node("c"),
        edges=(edge("a", "b"), edge("b", "c")),
        stops_before=("b",),
        stops_after=("b",),
    ),
    "a loop around a child": root(
        Node("a"),
        Node("b", Nest(chain(Node("ba"), Node("bb", says=True)))),
        Node("c"),
        Node("d"),
        edges=(edge("a", "b"), edge("b", "c")),
        branches=(Loop("c", "a", "d", 2),),
    ),
}
