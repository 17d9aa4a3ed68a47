"""A scene as a PNG picture, painted by Pillow.

Pillow is an optional extra, imported when a picture is asked for. The picture is painted several times larger than it is
delivered and then averaged down, which smooths all edges.
"""

from __future__ import annotations

import io
import itertools
import math
from typing import TYPE_CHECKING, Any

from stepgraph.draw.metrics import Point
from stepgraph.draw.scene import Curve, Path, Polygon, Rectangle, Scene, Text

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

SCALE = 2
SMOOTHING = 2
MAX_PIXELS = 48_000_000
LINE_WIDTH = 1.25
DASH, GAP = 5.0, 4.0
CURVE_STEPS = 24
FALLBACK_FONTS = (
    "DejaVuSans.ttf", "NotoSansCJK-Regular.ttc", "NotoSans-Regular.ttf", "wqy-microhei.ttc", "wqy-zenhei.ttc",
    "Arial Unicode.ttf", "PingFang.ttc", "Hiragino Sans GB.ttc", "AppleGothic.ttf", "msyh.ttc", "YuGothM.ttc",
    "malgun.ttf", "seguisym.ttf", "arial.ttf",
)  # fmt: skip
MISSING_GLYPH = "\U0010ffff"


def png(
    scene: Scene, *, background: str | None = "white", padding: int = 10, font_name: str | None = None
) -> bytes:
    """Paint a scene.

    Args:
        scene: What to show.
        background: Colour of the paper, ``None`` for none.
        padding: Free space around the drawing.
        font_name: A font file, or a font's name that Pillow can find; Pillow's own font by default.

    Raises:
        ImportError: Pillow is not installed.
    """
    image_module, draw_module = _pillow()
    width, height = scene.width + 2 * padding, scene.height + 2 * padding
    scale, smoothing = _scales(width, height)
    factor = scale * smoothing
    size = (math.ceil(width * scale) * smoothing, math.ceil(height * scale) * smoothing)
    paper = background.lstrip("!") if background else None
    if paper == "transparent":
        paper = None
    image = image_module.new("RGBA", size, paper or (255, 255, 255, 0))
    Painter(draw_module.Draw(image), factor, padding, Fonts(font_name)).paint(scene)
    if smoothing > 1:
        image = image.reduce(smoothing)
    if paper is not None:
        image = image.convert("RGB")
    output = io.BytesIO()
    image.save(output, "PNG", optimize=True, dpi=(96 * scale, 96 * scale))
    return output.getvalue()


def _pillow() -> tuple[Any, Any]:
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise ImportError(
            "Drawing a PNG needs Pillow, which is not installed. Install it with "
            '`pip install "stepgraph[draw]"`, or use draw_svg(), draw_ascii() or draw_mermaid(), which need nothing.'
        ) from error
    return Image, ImageDraw


def _scales(width: float, height: float) -> tuple[int, int]:
    for scale, smoothing in ((SCALE, SMOOTHING), (SCALE, 1)):
        if width * height * (scale * smoothing) ** 2 <= MAX_PIXELS:
            return scale, smoothing
    return 1, 1


class Fonts:
    """Finds a font that has the glyphs of a text."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.made: dict[tuple[str | None, int], Any] = {}

    def fitting(self, text: Text, factor: float) -> Any:
        """A font for the text, smaller than asked for if the text would be too wide."""
        size = round(text.size * factor)
        font = self._covering(text.text, size)
        length = font.getlength(text.text)
        if length > text.max_width * factor > 0:
            font = self._covering(text.text, max(1, int(size * text.max_width * factor / length)))
        return font

    def _covering(self, text: str, size: int) -> Any:
        chosen = self._make(self.name, size)
        rare = {char for char in text if ord(char) > 126}
        if not rare or _covers(chosen, rare):
            return chosen
        for name in FALLBACK_FONTS:
            font = self._make(name, size, required=False)
            if font is not None and _covers(font, rare):
                return font
        return chosen

    def _make(self, name: str | None, size: int, *, required: bool = True) -> Any:
        if (name, size) not in self.made:
            from PIL import ImageFont

            font: Any = None
            if name is None:
                font = ImageFont.load_default(size)
            else:
                try:
                    font = ImageFont.truetype(name, size)
                except OSError:
                    if required:
                        raise
            self.made[name, size] = font
        return self.made[name, size]


def _covers(font: Any, chars: set[str]) -> bool:
    missing = bytes(font.getmask(MISSING_GLYPH))
    return all(bytes(font.getmask(char)) != missing for char in chars)


class Painter:
    """Paints shapes at a scale."""

    def __init__(self, draw: ImageDraw, factor: float, padding: int, fonts: Fonts) -> None:
        self.draw = draw
        self.factor = factor
        self.padding = padding
        self.fonts = fonts

    def paint(self, scene: Scene) -> None:
        """Paint all shapes in order."""
        for shape in scene.shapes:
            if isinstance(shape, Rectangle):
                self._rectangle(shape)
            elif isinstance(shape, Path):
                self._path(shape)
            elif isinstance(shape, Polygon):
                self.draw.polygon([self._place(point) for point in shape.points], fill=shape.fill)
            else:
                font = self.fonts.fitting(shape, self.factor)
                anchor = "lm" if shape.anchor == "start" else "mm"
                place = self._place(Point(shape.x, shape.y))
                self.draw.text(place, shape.text, fill=shape.color, font=font, anchor=anchor)

    def _place(self, point: Point) -> tuple[float, float]:
        return (point.x + self.padding) * self.factor, (point.y + self.padding) * self.factor

    def _rectangle(self, shape: Rectangle) -> None:
        corners = [
            self._place(Point(shape.x, shape.y)),
            self._place(Point(shape.x + shape.width, shape.y + shape.height)),
        ]
        self.draw.rounded_rectangle(
            corners,
            radius=shape.radius * self.factor,
            fill=shape.fill or None,
            outline=shape.stroke or None,
            width=round(self.factor),
        )

    def _path(self, path: Path) -> None:
        points = _flattened(path)
        strokes = _dashes(points) if path.dashed else [points]
        width = max(1, round(LINE_WIDTH * self.factor))
        for stroke in strokes:
            self.draw.line(
                [self._place(point) for point in stroke], fill=path.color, width=width, joint="curve"
            )


def _flattened(path: Path) -> list[Point]:
    points = [path.start]
    for piece in path.pieces:
        if not isinstance(piece, Curve):
            points.append(piece)
            continue
        start = points[-1]
        for step in range(1, CURVE_STEPS + 1):
            t = step / CURVE_STEPS
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            corners = (start, piece.first_control, piece.second_control, piece.end)
            points.append(
                Point(
                    sum(weight * corner.x for weight, corner in zip(weights, corners, strict=True)),
                    sum(weight * corner.y for weight, corner in zip(weights, corners, strict=True)),
                )
            )
    return points


def _dashes(points: list[Point]) -> list[list[Point]]:
    """Cut a line of straight pieces into dashes."""
    strokes: list[list[Point]] = [[points[0]]]
    inked, left = True, DASH
    for start, end in itertools.pairwise(points):
        length = math.hypot(end.x - start.x, end.y - start.y)
        done = 0.0
        while length - done > left:
            done += left
            cut = Point(
                start.x + (end.x - start.x) * done / length, start.y + (end.y - start.y) * done / length
            )
            if inked:
                strokes[-1].append(cut)
            else:
                strokes.append([cut])
            inked = not inked
            left = DASH if inked else GAP
        left -= length - done
        if inked:
            strokes[-1].append(end)
    return [stroke for stroke in strokes if len(stroke) > 1]
