"""The page about checking shows what the command prints, and lists every code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import stepgraph
from stepgraph.check import run

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "check-a-graph.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    found = re.search(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_command_prints_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "article.py").write_text(block("python"), encoding="utf-8")
    command, _, shown = block("console").partition("\n")
    source = Path(stepgraph.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "stepgraph", *command.split()[2:]],
        cwd=tmp_path,
        env={"PYTHONPATH": str(source), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (1, shown)


def test_every_rule_is_listed_with_its_code() -> None:
    codes = {code for rule in run.RULES for code in re.findall(r"SG\d+", rule.__doc__ or "")}
    assert len(codes) >= len(run.RULES)
    assert codes == set(re.findall(r"^\| (SG\d+) \|", TEXT, re.MULTILINE))
    assert codes == set(re.findall(r"^\| (SG\d+) \|", run.__doc__ or "", re.MULTILINE))
