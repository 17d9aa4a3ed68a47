"""Writes the golden drawings anew: ``python tests/draw/regenerate.py``. Look at the difference before you keep it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from draw.samples import SAMPLES

GOLDEN = Path(__file__).parent / "golden"

if __name__ == "__main__":
    for name, graph in SAMPLES.items():
        (GOLDEN / f"{name}.mmd").write_text(graph.draw_mermaid(), encoding="utf-8")
        (GOLDEN / f"{name}.ascii.txt").write_text(graph.draw_ascii() + "\n", encoding="utf-8")
        (GOLDEN / f"{name}.unicode.txt").write_text(graph.draw_ascii(unicode=True) + "\n", encoding="utf-8")
