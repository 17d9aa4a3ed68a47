from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draw.samples import SAMPLES, graph_of, graphs
from stepgraph.draw import CurveStyle, Edge, Graph, Node, NodeStyles
from stepgraph.draw.mermaid import RESERVED, Ids, safe_id

GOLDEN = Path(__file__).parent / "golden"
EDGE_LINE = re.compile(r"\t(\S+) (-->|-\.->|-- .* -->|-\. .* \.->) (\S+);")
ID = re.compile(r"[A-Za-z0-9_\\-]+")


def edge_lines(graph: Graph) -> list[tuple[str, str, str]]:
    matches = (EDGE_LINE.fullmatch(line) for line in graph.draw_mermaid().splitlines())
    return [(found[1], found[2], found[3]) for found in matches if found]


@pytest.mark.parametrize("name", SAMPLES)
def test_text_is_the_golden_one(name: str) -> None:
    assert SAMPLES[name].draw_mermaid() == (GOLDEN / f"{name}.mmd").read_text(encoding="utf-8")


def test_a_plain_graph_has_the_text_that_the_field_knows() -> None:
    assert SAMPLES["agent"].draw_mermaid() == (
        "---\nconfig:\n  flowchart:\n    curve: linear\n---\ngraph TD;\n"
        "\t__start__([<p>__start__</p>]):::first\n\tagent(agent)\n\ttools(tools)\n"
        "\t__end__([<p>__end__</p>]):::last\n"
        "\t__start__ --> agent;\n\tagent -. &nbsp;end&nbsp; .-> __end__;\n"
        "\tagent -. &nbsp;continue&nbsp; .-> tools;\n\ttools --> agent;\n"
        "\tclassDef default fill:#f2f0ff,line-height:1.2\n\tclassDef first fill-opacity:0\n"
        "\tclassDef last fill:#bfb6fc\n"
    )


@given(graphs())
@settings(deadline=None)
def test_every_edge_appears_once(graph: Graph) -> None:
    ids = {key: safe_id(key) for key in graph.nodes}
    expected = sorted((ids[edge.source], ids[edge.target]) for edge in graph.edges)
    assert sorted((source, target) for source, _, target in edge_lines(graph)) == expected


@given(graphs())
@settings(deadline=None)
def test_conditional_edges_and_only_those_are_dotted(graph: Graph) -> None:
    dotted = sum(arrow.startswith("-.") for _, arrow, _ in edge_lines(graph))
    assert dotted == sum(edge.conditional for edge in graph.edges)


@given(st.lists(st.text(min_size=1, max_size=6), unique=True))
def test_ids_are_valid_and_distinct_whatever_the_names(names: list[str]) -> None:
    ids = Ids()
    given_ids = [ids.take(name, name) for name in names]
    assert len(set(given_ids)) == len(names)
    for key in given_ids:
        assert ID.fullmatch(key)
        assert not RESERVED.match(key)
        assert "--" not in key


def test_names_that_write_alike_get_different_ids() -> None:
    ids = Ids()
    assert ids.take(1, "[0") != ids.take(2, "\u05b0")


@pytest.mark.parametrize(
    "word", ["end", "graph", "subgraph", "style", "class", "default", "click", "1end", "end-turn"]
)
def test_reserved_words_are_not_ids(word: str) -> None:
    assert not RESERVED.match(safe_id(word))


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("plain name", "plain name"),
        ("tool[0]", '"tool[0]"'),
        ("f(x)", '"f(x)"'),
        ('say "hi"', '"say #quot;hi#quot;"'),
        ("a<b>", '"a#lt;b#gt;"'),
        ("50%", '"50#37;"'),
        ("end", '"end"'),
        ("节点", "节点"),
        ("__x__", "<p>__x__</p>"),
        ("direction TB", "direction#32;TB"),
    ],
)
def test_labels_are_quoted_and_escaped_where_needed(name: str, label: str) -> None:
    text = graph_of(("a", name), (name, "b")).draw_mermaid()
    assert f"\t{safe_id(name)}({label})" in text.splitlines()


def test_special_edge_labels_are_quoted() -> None:
    graph = graph_of(("a", "b", 'x | "y"', True))
    assert '\ta -. "&nbsp;x | #quot;y#quot;&nbsp;" .-> b;' in graph.draw_mermaid().splitlines()


def test_long_edge_labels_are_broken_after_some_words() -> None:
    graph = graph_of(("a", "b", "one two three four five", True))
    text = graph.draw_mermaid(wrap_label_n_words=2)
    assert "a -. &nbsp;one two&nbsp;<br>&nbsp;three four&nbsp;<br>&nbsp;five&nbsp; .-> b;" in text


def test_metadata_stands_below_the_name() -> None:
    metadata = {"k": 1, "tags": ["x", "y"], "deep": {"z": 1}, "note": 'a(b) "c"'}
    text = Graph({"a": Node("a", "a", None, metadata), "b": Node("b", "b")}).draw_mermaid()
    assert "\ta(a<hr/><small><em>k = 1\ntags = x, y\nnote = a#40;b#41; #quot;c#quot;</em></small>)\n" in text


def test_without_styles_only_edges_and_special_labels_are_written() -> None:
    graph = graph_of(("a", "f(x)"), ("f(x)", "b"))
    assert graph.draw_mermaid(with_styles=False) == (
        'graph TD;\n\tf\\28x\\29("f(x)")\n\ta --> f\\28x\\29;\n\tf\\28x\\29 --> b;\n'
    )


def test_nested_groups_become_nested_subgraphs() -> None:
    lines = SAMPLES["deep"].draw_mermaid().splitlines()
    depth = deepest = 0
    for line in lines:
        depth += line.startswith("\tsubgraph ")
        depth -= line == "\tend"
        deepest = max(deepest, depth)
    assert (depth, deepest) == (0, 3)


def test_groups_of_one_name_get_ids_of_their_own() -> None:
    lines = graph_of(("a:x:n", "b:x:n"), ("a:x:n", "x")).draw_mermaid().splitlines()
    groups = [line.removeprefix("\tsubgraph ") for line in lines if line.startswith("\tsubgraph ")]
    assert len({line.split("[")[0] for line in groups}) == len(groups) == 4
    assert sum(line.endswith('["x"]') for line in groups) == 2


def test_styles_and_curves_can_be_chosen() -> None:
    styles = NodeStyles(default="fill:#111", first="fill:#222", last="fill:#333")
    text = SAMPLES["linear"].draw_mermaid(curve_style=CurveStyle.BASIS, node_colors=styles)
    assert "    curve: basis\n" in text
    assert text.endswith(
        "\tclassDef default fill:#111\n\tclassDef first fill:#222\n\tclassDef last fill:#333\n"
    )


def test_the_configuration_is_written_as_yaml_in_order_of_its_keys() -> None:
    config = {
        "title": "y: x",
        "config": {
            "theme": "neutral",
            "themeVariables": {"primaryColor": "#e2e2e2"},
            "n": [1, "a"],
            "on": True,
        },
    }
    head = SAMPLES["linear"].draw_mermaid(frontmatter_config=config).split("graph TD")[0]
    assert head == (
        "---\nconfig:\n  flowchart:\n    curve: linear\n  n:\n  - 1\n  - a\n  'on': true\n  theme: neutral\n"
        "  themeVariables:\n    primaryColor: '#e2e2e2'\ntitle: 'y: x'\n---\n"
    )


def test_a_single_node_is_the_last_one() -> None:
    assert "\ta([a]):::last" in Graph({"a": Node("a", "a")}).draw_mermaid()


def test_an_edge_of_an_empty_label_has_none() -> None:
    graph = Graph({"a": Node("a", "a"), "b": Node("b", "b")}, [Edge("a", "b", "", False)])
    assert "\ta --> b;" in graph.draw_mermaid()
