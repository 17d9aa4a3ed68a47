"""Runs the command line: in this process, where only the words matter, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import stepgraph

FLOWS = str(Path(__file__).parent / "programs" / "flows.py")
ENVIRONMENT = {
    **os.environ,
    "PYTHONIOENCODING": "utf-8",
    "PYTHONPATH": str(Path(stepgraph.__file__).parent.parent),
}
DEMO = "stepgraph.cli.demo_graph:graph"


class Done(NamedTuple):
    """What came of one command."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output as lines of JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


def flow(name: str) -> str:
    return f"{FLOWS}:{name}"


def process(folder: Path, *words: str, given: str = "", environment: Mapping[str, str] | None = None) -> Done:
    """Run `python -m stepgraph` in a folder, without a terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "stepgraph", *words],
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env={**ENVIRONMENT, **(environment or {})},
    )
    return Done(done.returncode, done.stdout, done.stderr)
