"""Fixtures of the command line's tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.harness import Done
from stepgraph.cli.main import main

Command = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEPGRAPH_DB", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


@pytest.fixture
def stepgraph(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """`stepgraph(*words)` in this process and an empty working directory."""

    def call(*words: str) -> Done:
        capsys.readouterr()
        code = main(words)
        written = capsys.readouterr()
        return Done(code, written.out, written.err)

    return call
