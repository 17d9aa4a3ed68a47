"""Programs run in processes of their own: an import hook is nothing to put into the process of the tests.

`site` is a folder of "installed" distributions: a LangGraph that must never be loaded, and what others put beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

SOURCE = Path(__file__).parents[2] / "src"

Run = Callable[..., subprocess.CompletedProcess[str]]


def install_distribution(site: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Put a distribution into a folder, as an installer would."""
    for file, text in files.items():
        place = site / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(dedent(text), encoding="utf-8")
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files), encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with an installed LangGraph that tells when it is loaded, and distributions of others."""
    place = tmp_path / "site"
    tells = "raise AssertionError('the installed langgraph was loaded')\n"
    install_distribution(
        place,
        "langgraph",
        "9.9.9",
        {
            "langgraph/types.py": tells,
            "langgraph/addition.py": tells,
            "langgraph/pregel/__init__.py": tells,
            "langgraph/pregel/_loop.py": tells,
        },
    )
    install_distribution(
        place,
        "langgraph-checkpoint-other",
        "1.0",
        {
            "langgraph/checkpoint/other/__init__.py": """
                from langgraph.checkpoint.base import BaseCheckpointSaver
                class OtherSaver(BaseCheckpointSaver):
                    pass
            """,
            "langgraph/checkpoint/other/parts/__init__.py": "from ..names import NAME\n",
            "langgraph/checkpoint/other/names.py": "NAME = 'other'\n",
            "langgraph/store/broken/__init__.py": "import a_module_that_is_not_there\n",
            "langgraph/loose/inside.py": "PLACE = __name__\n",
        },
    )
    return place


@pytest.fixture
def run(tmp_path: Path, site: Path) -> Run:
    """Run Python with these arguments (a text with line breaks is written to `program.py` first)."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env={
                **{key: value for key, value in os.environ.items() if not key.startswith("STEPGRAPH_")},
                "PYTHONPATH": os.pathsep.join([str(SOURCE), str(site)]),
                **environment,
            },
        )

    return run


@pytest.fixture
def printed(tmp_path: Path, run: Run) -> Callable[..., list[str]]:
    """The lines that a program prints under the hook."""

    def printed(program: str, *arguments: str) -> list[str]:
        (tmp_path / "program.py").write_text(dedent(program), encoding="utf-8")
        done = run("-m", "stepgraph.compat", "program.py", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return printed
