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
import tomllib
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


def test_files_that_the_architecture_names_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[\w.*-]+/)+(?:[\w.*-]+)?|[\w*-]+\.py)[`:]", text))
    homes = [ROOT, ROOT / "src" / "stepgraph", ROOT / "src" / "stepgraph" / "pregel"]
    assert len(named) > 50
    assert {path for path in named if not any(list(home.glob(path.rstrip("/"))) for home in homes)} == set()


def test_every_room_is_in_the_list_of_rooms() -> None:
    source = ROOT / "src" / "stepgraph"
    rooms = {path.parent.name for path in source.glob("*/__init__.py")}
    listed = (source / "__init__.py").read_text(encoding="utf-8").split('"""')[1]
    assert {room for room in rooms if not re.search(rf"\b{room}\b", listed)} == set()


def test_every_dependency_is_argued() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(need for needs in extras.values() for need in needs)]
    packages = {re.split(r"[\[<>=;~ ]", need)[0] for need in wanted} - {"stepgraph"}
    assert {package for package in packages if not re.search(rf"\b{package}\b", text)} == set()
    assert {extra for extra in extras if f"| `{extra}` |" not in text} == set()


def test_extras_for_all_are_those_that_programs_can_use() -> None:
    path = ROOT / "pyproject.toml"
    extras = tomllib.loads(path.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = re.findall(r"\w+", extras["all"][0].removeprefix("stepgraph"))
    assert set(named) == set(extras) - {"all", "test", "dev"}


def test_every_page_is_in_the_index() -> None:
    docs = ROOT / "docs"
    text = (docs / "index.md").read_text(encoding="utf-8")
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} - {"index.md"}
    assert {page for page in pages if f"({page})" not in text} == set()


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
