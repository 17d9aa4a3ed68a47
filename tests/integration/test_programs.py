"""Programs and packages written for LangGraph run unmodified on this engine, and print what they print on LangGraph.

Each program in `programs/` is run twice, in processes of its own: under `python -m stepgraph.compat`, and as it is, on the
installed LangGraph. `requirements.txt` names the packages and their versions; without them this group is skipped:

    python -m venv .venv && .venv/bin/pip install -r tests/integration/requirements.txt -e ".[sqlite]" pytest hypothesis
    .venv/bin/pytest tests/integration
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REQUIRED = dict(
    re.findall(r"^([\w-]+)==([\w.]+)$", (HERE / "requirements.txt").read_text("utf-8"), re.MULTILINE)
)
PROGRAMS = sorted(
    path.stem
    for path in (HERE / "programs").glob("*.py")
    if path.stem not in ("fake_model", "a_thread")  # these two are imported by the others
)
NEEDS = {"saver_plainredis": "redis-server"}
"""Commands that a program needs."""


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


FOUND = {name: installed(name) for name in REQUIRED}
different = ", ".join(f"{name} {have}" for name, have in FOUND.items() if have != REQUIRED[name])
needs_packages = pytest.mark.skipif(
    bool(different), reason=f"tests/integration/requirements.txt is not installed: {different}"
)


def printed_by(*arguments: str) -> str:
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("LANG", "STEPGRAPH_"))
    }
    environment["PYTHONPATH"] = str(ROOT / "src")
    environment["PYTHONHASHSEED"] = "0"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_packages
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_the_same_on_both(program: str) -> None:
    command = NEEDS.get(program)
    if command is not None and shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")
    file = f"programs/{program}.py"
    ours = printed_by("-m", "stepgraph.compat", "run_checked.py", file)
    assert ours != ""
    assert ours == printed_by(file)


def test_the_documentation_names_the_versions() -> None:
    page = (ROOT / "docs" / "how-to" / "run-langgraph-programs.md").read_text("utf-8")
    told = dict(re.findall(r"^\| `([\w-]+)` \| ([\w.]+) \|", page, re.MULTILINE))
    assert told == {name: number for name, number in REQUIRED.items() if name in told}
    assert {"langchain", "langgraph-supervisor", "langgraph-swarm"} <= set(told)
