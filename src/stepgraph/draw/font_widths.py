"""How wide a text is in a proportional font, known without any font file.

Advance widths of the Helvetica family (Arial and most sans-serif fonts are near them), in thousandths of the font size.
Wide East Asian characters take a whole em, other characters outside ASCII are taken for average letters.
"""

from __future__ import annotations

import unicodedata

ASCII_WIDTHS = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
FIRST_CHARACTER = 32
AVERAGE_WIDTH = 600


def text_length(text: str, size: float) -> float:
    """The width of a text in a sans-serif font of the given size.

    >>> text_length("agent", 10.0)
    25.02
    """
    return round(sum(map(_char_width, text)) * size / 1000, 3)


def _char_width(char: str) -> int:
    place = ord(char) - FIRST_CHARACTER
    if 0 <= place < len(ASCII_WIDTHS):
        return ASCII_WIDTHS[place]
    if unicodedata.combining(char):
        return 0
    return 1000 if unicodedata.east_asian_width(char) in "WF" else AVERAGE_WIDTH
