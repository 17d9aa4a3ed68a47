from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings

from draw.samples import SAMPLES, graphs
from stepgraph.draw import Graph
from stepgraph.draw.ascii import TextMetrics
from stepgraph.draw.layout import Box, Frame, lay_out
from stepgraph.draw.metrics import Metrics
from stepgraph.draw.placing import spread
from stepgraph.draw.scene import PictureMetrics

MEDIA: list[Metrics] = [TextMetrics(), PictureMetrics()]
ROUNDING = 1e-6


def apart(one: Box | Frame, other: Box | Frame) -> bool:
    return (
        one.x + one.width <= other.x + ROUNDING
        or other.x + other.width <= one.x + ROUNDING
        or one.y + one.height <= other.y + ROUNDING
        or other.y + other.height <= one.y + ROUNDING
    )


def inside(inner: Box | Frame, outer: Frame) -> bool:
    return (
        outer.x - ROUNDING <= inner.x
        and outer.y - ROUNDING <= inner.y
        and inner.x + inner.width <= outer.x + outer.width + ROUNDING
        and inner.y + inner.height <= outer.y + outer.height + ROUNDING
    )


@pytest.mark.parametrize("metrics", MEDIA, ids=["text", "picture"])
@given(graph=graphs())
@settings(max_examples=80, deadline=None)
def test_boxes_do_not_overlap(metrics: Metrics, graph: Graph) -> None:
    layout = lay_out(graph, metrics)
    assert len(layout.boxes) == len(graph.nodes)
    for one, other in combinations(layout.boxes, 2):
        assert apart(one, other)


@pytest.mark.parametrize("metrics", MEDIA, ids=["text", "picture"])
@given(graph=graphs())
@settings(max_examples=80, deadline=None)
def test_frames_hold_their_nodes_and_nothing_else(metrics: Metrics, graph: Graph) -> None:
    layout = lay_out(graph, metrics)
    for frame in layout.frames:
        for box in layout.boxes:
            group = box.node.id.split(":")[:-1]
            member = len(group) >= frame.depth and group[frame.depth - 1] == frame.title
            assert inside(box, frame) if member else apart(box, frame)


@pytest.mark.parametrize("metrics", MEDIA, ids=["text", "picture"])
@given(graph=graphs())
@settings(max_examples=80, deadline=None)
def test_lines_run_from_the_border_of_their_source_to_that_of_their_target(
    metrics: Metrics, graph: Graph
) -> None:
    layout = lay_out(graph, metrics)
    boxes = {box.node.id: box for box in layout.boxes}
    assert len(layout.routes) == sum(edge.source != edge.target for edge in graph.edges)
    for route in layout.routes:
        for key, point in ((route.edge.source, route.points[0]), (route.edge.target, route.points[-1])):
            box = boxes[key]
            assert box.x < point.x < box.x + box.width
            borders = (box.y, box.y + box.height - metrics.border)
            assert min(abs(point.y - border) for border in borders) < ROUNDING


@pytest.mark.parametrize("metrics", MEDIA, ids=["text", "picture"])
@given(graph=graphs())
@settings(max_examples=80, deadline=None)
def test_everything_stands_within_the_drawing(metrics: Metrics, graph: Graph) -> None:
    layout = lay_out(graph, metrics)
    page = Frame("page", 0.0, 0.0, layout.width, layout.height, 0, 0.0)
    for thing in (*layout.boxes, *layout.frames):
        assert inside(thing, page)


def test_labels_stand_clear_of_boxes() -> None:
    metrics = PictureMetrics()
    for graph in SAMPLES.values():
        layout = lay_out(graph, metrics)
        for label in layout.labels:
            width, height = metrics.label_size(label.edge.label)
            place = Frame("", label.x - width / 2, label.y - height / 2, width, height, 0, 0.0)
            assert all(apart(box, place) for box in layout.boxes)


def test_the_end_stands_below_everything() -> None:
    layout = lay_out(SAMPLES["hub"], PictureMetrics())
    by_id = {box.node.id: box for box in layout.boxes}
    assert all(box.y < by_id["__end__"].y for key, box in by_id.items() if key != "__end__")


def test_an_edge_back_to_the_top_enters_its_target_from_below() -> None:
    layout = lay_out(SAMPLES["agent"], PictureMetrics())
    by_id = {box.node.id: box for box in layout.boxes}
    back = next(route for route in layout.routes if route.edge.source == "tools")
    assert back.points[-1].y == pytest.approx(by_id["agent"].y + by_id["agent"].height)
    assert back.points[0].y == pytest.approx(by_id["tools"].y)


def test_spread_keeps_order_and_gaps() -> None:
    places = spread([5.0, 1.0, 3.0, 30.0], [1.0, 1.0, 1.0, 1.0], [0.0, 2.0, 2.0, 2.0])
    assert places == pytest.approx([1.0, 3.0, 5.0, 30.0])


def test_spread_lets_the_heavier_wish_win() -> None:
    light, heavy = spread([10.0, 0.0], [1.0, 9.0], [0.0, 5.0])
    assert heavy - light == pytest.approx(5.0)
    assert heavy == pytest.approx(1.5)
