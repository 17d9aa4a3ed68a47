"""Documents keep their word: links lead somewhere, and Python blocks print what the block after them shows.

A block marked `python` is run; all blocks of one document share one namespace, in order. If the next block is marked `text`,
it is what the Python block printed. A block marked `python alone` runs in a process of its own.
A block that reads the environment variable `DATABASE_URL` finds an empty PostgreSQL database there, one for each document; where
no server can be had, the blocks from there on are not run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import postgres_server

DATABASE_URL = "DATABASE_URL"
OPTIONAL = ("langchain_core", "opentelemetry")
"""Packages that a document may need; where one is missing, its blocks are not run."""

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")])
BLOCK = re.compile(r"^```(\w*(?: alone)?)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def printed_alone(code: str) -> str:
    """What a program prints in a process that it may change for good."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(path: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_lead_to_files(document: Path) -> None:
    text = BLOCK.sub("", document.read_text(encoding="utf-8"))
    local = [
        link.split("#")[0] for link in LINK.findall(text) if not link.startswith(("http", "#", "mailto:"))
    ]
    assert [link for link in local if not (document.parent / link).exists()] == []


@pytest.mark.parametrize(
    "document", [d for d in DOCUMENTS if any(kind.startswith("python") for kind, _ in blocks(d))], ids=name
)
def test_code_prints_what_is_shown(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(DATABASE_URL, raising=False)
    with contextlib.ExitStack() as stack:
        run_blocks(
            document,
            lambda: monkeypatch.setenv(DATABASE_URL, stack.enter_context(postgres_server.database())),
        )


def run_blocks(document: Path, prepare_database: Callable[[], None]) -> None:
    namespace: dict[str, Any] = {"__name__": "__document__"}
    found = blocks(document)
    for position, (kind, code) in enumerate(found):
        if kind == "python alone":
            assert printed_alone(code) == found[position + 1][1]
        if kind != "python":
            continue
        if DATABASE_URL in code and DATABASE_URL not in os.environ:
            prepare_database()
        printed = io.StringIO()
        block = compile(code, f"{name(document)} block {position + 1}", "exec", dont_inherit=True)
        try:
            with contextlib.redirect_stdout(printed):
                exec(block, namespace)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise
            pytest.skip(f"{error.name} is not installed")
        if position + 1 < len(found) and found[position + 1][0] == "text":
            assert printed.getvalue() == found[position + 1][1]
