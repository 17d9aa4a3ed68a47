from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Command
from cli.harness import DEMO


def test_draws_in_the_terminal(stepgraph: Command) -> None:
    done = stepgraph("draw", DEMO)
    assert done.code == 0
    assert "final_review" in done.out
    assert "─" in done.out


def test_xray_shows_what_is_inside(stepgraph: Command) -> None:
    plain, inside = stepgraph("draw", DEMO).out, stepgraph("draw", DEMO, "--xray").out
    assert " review " not in plain
    assert " review " in inside
    assert stepgraph("draw", DEMO, "--xray", "1").out == inside


def test_ascii_has_nothing_else(stepgraph: Command) -> None:
    assert stepgraph("draw", DEMO, "--format", "ascii").out.isascii()


def test_mermaid_is_printed(stepgraph: Command) -> None:
    out = stepgraph("draw", DEMO, "--format", "mermaid").out
    assert "graph TD;" in out
    assert "prepare --> dept;" in out


def test_the_files_name_says_the_format(stepgraph: Command, folder: Path) -> None:
    assert stepgraph("draw", DEMO, "-o", "g.svg").out == ""
    assert (folder / "g.svg").read_text(encoding="utf-8").startswith("<svg")
    stepgraph("draw", DEMO, "-o", "g.mmd")
    assert "prepare --> dept;" in (folder / "g.mmd").read_text(encoding="utf-8")


def test_a_png_is_written(stepgraph: Command, folder: Path) -> None:
    pytest.importorskip("PIL")
    assert stepgraph("draw", DEMO, "--xray", "-o", "g.png").code == 0
    assert (folder / "g.png").read_bytes().startswith(b"\x89PNG")


def test_an_unknown_kind_of_file_is_misuse(stepgraph: Command, folder: Path) -> None:
    done = stepgraph("draw", DEMO, "-o", "g.pdf")
    assert (done.code, list(folder.iterdir())) == (2, [])


def test_a_place_that_cannot_be_written_is_told(stepgraph: Command) -> None:
    done = stepgraph("draw", DEMO, "-o", "nowhere/g.svg")
    assert done.code == 1
    assert "Cannot write nowhere/g.svg" in done.err
