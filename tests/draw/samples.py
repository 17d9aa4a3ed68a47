"""Graphs to draw: a few typical ones by name, and a strategy for arbitrary ones."""

from __future__ import annotations

from hypothesis import strategies as st

from stepgraph.draw import Edge, Graph, Node

START, END = "__start__", "__end__"


def graph_of(*edges: tuple[str, str] | tuple[str, str, str | None, bool]) -> Graph:
    """The graph of these edges; the part of an id after the last colon is the node's name."""
    made = [Edge(*edge) for edge in edges]
    ids = dict.fromkeys(end for edge in made for end in (edge.source, edge.target))
    ordered = (
        [START] * (START in ids) + [key for key in ids if key not in (START, END)] + [END] * (END in ids)
    )
    return Graph({key: Node(key, key.rsplit(":", 1)[-1]) for key in ordered}, made)


def hub(*workers: str) -> Graph:
    """A supervisor that hands work to each worker and gets it back."""
    edges: list[tuple[str, str] | tuple[str, str, str | None, bool]] = [(START, "supervisor")]
    edges += [("supervisor", worker, None, True) for worker in (*workers, END)]
    edges += [(worker, "supervisor") for worker in workers]
    return graph_of(*edges)


def thirty_nodes() -> Graph:
    """A graph of thirty nodes with branches, joins, long edges and cycles, always the same."""
    edges: list[tuple[str, str] | tuple[str, str, str | None, bool]] = [(START, "n0")]
    for number in range(1, 30):
        edges.append((f"n{max(0, number - 1 - number * 7 % 5)}", f"n{number}", None, number % 3 == 0))
    edges += [("n9", "n2", "again", True), ("n21", "n20", None, True), ("n3", "n25", None, True)]
    edges += [("n17", "n17", "wait", True)]
    leading = {edge[0] for edge in edges}
    edges += [(f"n{number}", END) for number in range(30) if f"n{number}" not in leading]
    return graph_of(*edges)


SAMPLES: dict[str, Graph] = {
    "linear": graph_of((START, "a"), ("a", "b"), ("b", END)),
    "agent": graph_of(
        (START, "agent"),
        ("agent", END, "end", True),
        ("agent", "tools", "continue", True),
        ("tools", "agent"),
    ),
    "diamond": graph_of(
        (START, "split"),
        ("split", "left"),
        ("split", "right"),
        ("left", "join"),
        ("right", "join"),
        ("join", END),
    ),
    "hub": hub("coder", "researcher", "writer"),
    "loops": graph_of(
        (START, "a"), ("a", "a", "again", True), ("a", "b", "go on", True), ("b", "b"), ("b", END)
    ),
    "skips": graph_of(
        (START, "a"),
        ("a", "b"),
        ("a", "d", None, True),
        ("b", "c"),
        ("b", END, "fail", True),
        ("c", "d"),
        ("d", "a", None, True),
        ("d", END),
    ),
    "nested": graph_of(
        (START, "boss"),
        ("boss", "team1:lead", "one", True),
        ("boss", "team2:lead", "two", True),
        ("boss", END, "done", True),
        ("team1:lead", "boss"),
        ("team2:lead", "boss"),
        ("team1:lead", "team1:w1", None, True),
        ("team1:lead", "team1:w2", None, True),
        ("team1:w1", "team1:lead"),
        ("team1:w2", "team1:lead"),
        ("team2:lead", "team2:w"),
        ("team2:w", "team2:lead"),
    ),
    "deep": graph_of(
        (START, "top:mid:inner:u"),
        (START, "side"),
        ("side", END),
        ("top:mid:inner:u", "top:mid:inner:v"),
        ("top:mid:inner:v", "top:mid:w"),
        ("top:mid:w", "top:o"),
        ("top:o", "top:mid:inner:u", "retry", True),
        ("top:o", END),
    ),
    "special": graph_of(
        (START, "a b"),
        ("a b", "a-b"),
        ("a-b", "tool[0]", 'say "hi"', True),
        ("tool[0]", "f(x)"),
        ("f(x)", "end"),
        ("end", "节点", "是", True),
        ("节点", END),
    ),
    "thirty": thirty_nodes(),
}

NAMES = st.sampled_from(
    ["a", "b", "c", "long_name_of_a_node", "x:a", "x:b", "x:y:c", "x:y:d", "z:a", "节点", START, END]
)
LABELS = st.sampled_from([None, None, "yes", "a rather long label of an edge, wrapped", "否"])


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any graph of up to a dozen nodes in nested groups, with parallel edges, loops and cycles."""
    names = draw(st.lists(NAMES, min_size=1, unique=True))
    edge = st.tuples(st.sampled_from(names), st.sampled_from(names), LABELS, st.booleans())
    edges = draw(st.lists(edge, max_size=18))
    graph = graph_of(*edges)
    for name in names:
        graph.nodes.setdefault(name, Node(name, name.rsplit(":", 1)[-1]))
    return graph
