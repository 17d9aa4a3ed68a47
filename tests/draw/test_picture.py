from __future__ import annotations

import builtins
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from draw.samples import SAMPLES, graph_of, graphs
from stepgraph.draw import Graph, NodeStyles
from stepgraph.draw.font_widths import text_length
from stepgraph.draw.png import SCALE
from stepgraph.draw.scene import Path as Line
from stepgraph.draw.scene import Polygon, Rectangle, make_scene

SVG = "{http://www.w3.org/2000/svg}"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png_size(picture: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def paint_colors(picture: bytes) -> set[tuple[int, ...]]:
    import io

    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGBA")
    return {color for _, color in image.getcolors(1 << 24)}


@pytest.mark.parametrize("name", SAMPLES)
def test_png_has_the_size_of_the_scene(name: str) -> None:
    graph = SAMPLES[name]
    scene = make_scene(graph)
    picture = graph.draw_mermaid_png(padding=20)
    assert picture.startswith(PNG_SIGNATURE)
    width, height = png_size(picture)
    assert width == pytest.approx((scene.width + 40) * SCALE, abs=1)
    assert height == pytest.approx((scene.height + 40) * SCALE, abs=1)


def test_png_is_written_to_the_file_too(tmp_path: Path) -> None:
    graph = SAMPLES["linear"]
    for number, draw in enumerate((graph.draw_mermaid_png, graph.draw_png)):
        path = tmp_path / f"{number}.png"
        assert draw(output_file_path=str(path)) == path.read_bytes()


def test_png_is_the_same_each_time() -> None:
    assert SAMPLES["nested"].draw_mermaid_png() == SAMPLES["nested"].draw_mermaid_png()


def test_png_paints_paper_and_nodes_in_the_wanted_colors() -> None:
    styles = NodeStyles(default="fill:#00ff00", first="fill:#ff0000", last="fill:#0000ff")
    colors = paint_colors(SAMPLES["linear"].draw_mermaid_png(background_color="#123456", node_colors=styles))
    for color in ((0x12, 0x34, 0x56, 255), (0, 255, 0, 255), (255, 0, 0, 255), (0, 0, 255, 255)):
        assert color in colors


def test_png_without_paper_is_transparent() -> None:
    picture = SAMPLES["linear"].draw_mermaid_png(background_color=None)
    assert 0 in {color[3] for color in paint_colors(picture)}


def test_a_missing_pillow_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_pillow(name: str, *args: Any, **options: Any) -> Any:
        if name.split(".")[0] == "PIL":
            raise ImportError("No module named 'PIL'")
        return real_import(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without_pillow)
    with pytest.raises(ImportError, match=r'pip install "stepgraph\[draw\]"'):
        SAMPLES["linear"].draw_mermaid_png()


def test_an_unknown_font_is_an_error() -> None:
    with pytest.raises(OSError):
        SAMPLES["linear"].draw_png(fontname="no-such-font.ttf")


def test_other_texts_can_be_given() -> None:
    graph = SAMPLES["agent"]
    plain = graph.draw_png()
    changed = graph.draw_png(labels={"nodes": {"tools": "the tool box"}, "edges": {"continue": "go on then"}})
    assert changed is not None
    assert png_size(changed) != png_size(plain)


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_svg_is_well_formed_and_shows_every_name(graph: Graph) -> None:
    root = ElementTree.fromstring(graph.draw_svg())
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for node in graph.nodes.values():
        assert node.name in texts


def heads(graph: Graph) -> int:
    return sum(isinstance(shape, Polygon) for shape in make_scene(graph).shapes)


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_each_edge_has_an_arrow_head(graph: Graph) -> None:
    loops = {edge.source for edge in graph.edges if edge.source == edge.target}
    assert heads(graph) == sum(edge.source != edge.target for edge in graph.edges) + len(loops)


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_conditional_edges_are_dashed_and_labels_stand_in_a_gap(graph: Graph) -> None:
    dashed = [shape.dashed for shape in make_scene(graph).shapes if isinstance(shape, Line)]
    expected = [
        edge.conditional
        for edge in graph.edges
        for _ in range(2 if edge.label else 1)
        if edge.source != edge.target
    ]
    assert dashed[: len(expected)] == expected


def test_loops_are_dashed_if_all_of_them_are_conditional() -> None:
    for conditions in ([True, True], [True, False]):
        graph = graph_of(*(("a", "a", None, condition) for condition in conditions))
        (line,) = [shape for shape in make_scene(graph).shapes if isinstance(shape, Line)]
        assert line.dashed is all(conditions)


def test_svg_is_written_to_the_file_too(tmp_path: Path) -> None:
    path = tmp_path / "graph.svg"
    text = SAMPLES["nested"].draw_svg(path)
    assert path.read_text(encoding="utf-8") == text


def test_notebooks_show_the_svg() -> None:
    graph = SAMPLES["agent"]
    assert graph._repr_svg_() == graph.draw_svg()


def test_svg_escapes_names() -> None:
    text = graph_of(("<a & b>", "c")).draw_svg()
    assert "&lt;a &amp; b&gt;" in text
    assert "<a & b>" not in text


def test_svg_without_paper_has_no_background() -> None:
    paper = '<rect x="-10" y="-10" width="100%"'
    assert paper in SAMPLES["linear"].draw_svg()
    assert paper not in SAMPLES["linear"].draw_svg(background_color=None)


def test_only_first_and_last_are_pills() -> None:
    boxes = [shape for shape in make_scene(SAMPLES["linear"]).shapes if isinstance(shape, Rectangle)]
    pills = [box.radius == box.height / 2 for box in boxes]
    assert pills == [True, False, False, True]


def test_an_empty_graph_is_an_empty_picture() -> None:
    assert Graph().draw_mermaid_png().startswith(PNG_SIGNATURE)
    assert "<text" not in Graph().draw_svg()


def test_text_length_knows_wide_and_narrow_letters() -> None:
    assert text_length("mmm", 10.0) > text_length("iii", 10.0)
    assert text_length("节", 10.0) == 10.0
