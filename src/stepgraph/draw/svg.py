"""A scene as SVG text."""

from __future__ import annotations

from html import escape

from stepgraph.draw.metrics import Point
from stepgraph.draw.scene import Curve, Path, Polygon, Rectangle, Scene, Shape, Text

FONT_FAMILY = "Helvetica, Arial, 'Liberation Sans', 'Noto Sans', sans-serif"


def svg(scene: Scene, *, background: str | None = "white", padding: int = 10) -> str:
    """Write a scene as an SVG document.

    Args:
        scene: What to show.
        background: Colour of the paper, ``None`` for none.
        padding: Free space around the drawing.
    """
    width, height = scene.width + 2 * padding, scene.height + 2 * padding
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_number(width)}" height="{_number(height)}" '
        f'viewBox="{-padding} {-padding} {_number(width)} {_number(height)}" font-family="{FONT_FAMILY}">'
    ]
    if background:
        lines.append(
            f'<rect x="{-padding}" y="{-padding}" width="100%" height="100%" fill="{escape(background)}"/>'
        )
    lines += [_element(shape) for shape in scene.shapes]
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _element(shape: Shape) -> str:
    if isinstance(shape, Rectangle):
        return (
            f'<rect x="{_number(shape.x)}" y="{_number(shape.y)}" width="{_number(shape.width)}" '
            f'height="{_number(shape.height)}" rx="{_number(shape.radius)}" '
            f'fill="{escape(shape.fill or "none")}" stroke="{escape(shape.stroke or "none")}"/>'
        )
    if isinstance(shape, Path):
        dashes = ' stroke-dasharray="5 4"' if shape.dashed else ""
        return (
            f'<path d="{_path_data(shape)}" fill="none" stroke="{shape.color}" stroke-width="1.25"{dashes}/>'
        )
    if isinstance(shape, Polygon):
        points = " ".join(_point(point) for point in shape.points)
        return f'<polygon points="{points}" fill="{shape.fill}"/>'
    return _text(shape)


def _text(text: Text) -> str:
    return (
        f'<text x="{_number(text.x)}" y="{_number(text.y + text.size * 0.35)}" font-size="{_number(text.size)}" '
        f'text-anchor="{text.anchor}" fill="{escape(text.color)}">{escape(text.text)}</text>'
    )


def _path_data(path: Path) -> str:
    data = f"M{_point(path.start)}"
    for piece in path.pieces:
        if isinstance(piece, Curve):
            data += f" C{_point(piece.first_control)} {_point(piece.second_control)} {_point(piece.end)}"
        else:
            data += f" L{_point(piece)}"
    return data


def _point(point: Point) -> str:
    return f"{_number(point.x)},{_number(point.y)}"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
