from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings

from draw.samples import SAMPLES, graph_of, graphs
from stepgraph.draw import Edge, Graph, Node
from stepgraph.draw.ascii import TextMetrics, draw_text
from stepgraph.draw.canvas import text_width
from stepgraph.draw.layout import Route, lay_out
from stepgraph.draw.metrics import Hop
from stepgraph.draw.tracks import route_hops

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", SAMPLES)
def test_unicode_drawing_is_the_golden_one(name: str) -> None:
    expected = (GOLDEN / f"{name}.unicode.txt").read_text(encoding="utf-8")
    assert draw_text(SAMPLES[name], unicode=True) + "\n" == expected


@pytest.mark.parametrize("name", SAMPLES)
def test_ascii_drawing_is_the_golden_one(name: str) -> None:
    expected = (GOLDEN / f"{name}.ascii.txt").read_text(encoding="utf-8")
    assert draw_text(SAMPLES[name]) + "\n" == expected


def test_ascii_drawing_of_ascii_names_is_ascii() -> None:
    assert SAMPLES["nested"].draw_ascii().isascii()


def test_names_and_labels_are_readable() -> None:
    drawing = SAMPLES["agent"].draw_ascii()
    for text in ("__start__", "agent", "tools", "continue", "end", "__end__"):
        assert text in drawing


def test_metadata_stands_below_the_name() -> None:
    graph = Graph({"a": Node("a", "a", None, {"__interrupt": "before", "defer": True})})
    lines = [line.strip("| ") for line in graph.draw_ascii().splitlines()]
    assert lines[1:-1] == ["a", "interrupt = before", "defer = True"]


def test_an_empty_graph_draws_nothing() -> None:
    assert Graph().draw_ascii() == ""


def test_print_uses_box_characters_only_where_they_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    graph = SAMPLES["linear"]
    graph.print_ascii()
    assert capsys.readouterr().out == graph.draw_ascii(unicode=True) + "\n"
    code = "from stepgraph.draw import Graph; g = Graph(); g.add_node(None, 'a'); g.print_ascii()"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.splitlines()[1] == "| a |"


def test_wide_characters_keep_borders_aligned() -> None:
    lines = graph_of(("节点", "b")).draw_ascii(unicode=True).splitlines()
    assert len({text_width(line) for line in lines[:3]}) == 1


def cells_of(route: Route) -> list[tuple[tuple[int, int], bool]]:
    """The cells of a line between its boxes, each with whether the line passes it upright; corners are both."""
    cells: list[tuple[tuple[int, int], bool]] = []
    points = [(int(x), int(y)) for x, y in route.points]
    for (x, y), (end_x, end_y) in pairwise(points):
        for column in range(min(x, end_x), max(x, end_x) + 1) if x != end_x else ():
            cells.append(((column, y), False))
        for row in range(min(y, end_y), max(y, end_y) + 1) if y != end_y else ():
            cells.append(((end_x, row), True))
    return cells


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_lines_touch_only_to_cross(graph: Graph) -> None:
    taken: dict[tuple[int, int, bool], Edge] = {}
    for number, route in enumerate(lay_out(graph, TextMetrics()).routes):
        for (x, y), upright in cells_of(route):
            key = (x, y, upright)
            owner = taken.setdefault(key, (number, route.edge))
            assert owner[0] == number, f"{owner[1]} and {route.edge} share column {x}, row {y}"


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_every_edge_has_its_arrow_head(graph: Graph) -> None:
    drawing = graph.draw_ascii(unicode=True)
    lines = sum(edge.source != edge.target for edge in graph.edges)
    loops = len({edge.source for edge in graph.edges if edge.source == edge.target})
    assert sum(drawing.count(head) for head in "▲▼") == lines
    assert drawing.count("◀") == loops


def test_a_hop_that_keeps_its_column_needs_no_bend() -> None:
    channel = route_hops([Hop(3.0, 3.0, True, True)])
    assert (channel.height, channel.bends) == (2.0, [[]])


def test_hops_that_change_places_go_round_each_other() -> None:
    channel = route_hops([Hop(0.0, 4.0, True, True), Hop(4.0, 0.0, True, True)])
    detours = sorted(len(bends) for bends in channel.bends)
    assert detours == [2, 4]


def test_the_drawing_does_not_depend_on_hash_seeds() -> None:
    code = "from draw.samples import SAMPLES; print(SAMPLES['thirty'].draw_ascii(), SAMPLES['nested'].draw_svg())"
    drawings = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)
        drawings.add(done.stdout)
    assert len(drawings) == 1
