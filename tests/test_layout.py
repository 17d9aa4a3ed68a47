"""The house rules that a program can check: sizes, imports, and what must not be left lying about."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "stepgraph"
FILES = sorted(SOURCE.rglob("*.py"))
WRITTEN = [
    *FILES,
    *(p for room in ("tests", "benchmarks", "examples") for p in sorted((ROOT / room).rglob("*.py"))),
]

MOST_LINES = 600
MOST_LINES_OF_A_FUNCTION = 80

HEAVY = [
    "aiosqlite",
    "asyncio",
    "concurrent.futures",
    "cryptography",
    "httpx",
    "langchain_core",
    "langsmith",
    "logging",
    "numpy",
    "pandas",
    "polars",
    "psycopg",
    "pydantic",
    "redis",
    "rich",
    "sqlite3",
]
"""Modules that a first `from stepgraph import StateGraph` must not load."""


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_files_are_not_too_long() -> None:
    lines = {place(p): len(p.read_text(encoding="utf-8").splitlines()) for p in FILES}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_functions_are_not_too_long() -> None:
    long = [
        f"{place(p)}:{f.lineno} {f.name}"
        for p in FILES
        for f in functions(p)
        if f.end_lineno is not None and f.end_lineno - f.lineno > MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


def test_files_say_what_lives_in_them() -> None:
    silent = [place(p) for p in FILES if ast.get_docstring(ast.parse(p.read_text(encoding="utf-8"))) is None]
    assert silent == []


def test_no_error_is_dropped_in_silence() -> None:
    dropped = [
        f"{place(p)}:{node.lineno}"
        for p in FILES
        for node in ast.walk(ast.parse(p.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and all(isinstance(line, ast.Pass) for line in node.body)
    ]
    assert dropped == []


def test_no_notes_to_self() -> None:
    note = re.compile(r"#.*\b(" + "TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    found = [
        f"{place(p)}:{number}"
        for p in WRITTEN
        for number, line in enumerate(p.read_text(encoding="utf-8").splitlines(), 1)
        if note.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "statement",
    [
        "from stepgraph import StateGraph",
        "import stepgraph.graph, stepgraph.types, stepgraph.checkpoint.memory",
    ],
)
def test_import_is_light(statement: str) -> None:
    added = loaded_by(statement) - loaded_by("pass")
    assert sorted(added & set(HEAVY)) == []


def test_nothing_third_party_but_what_is_required() -> None:
    added = {name.split(".")[0] for name in loaded_by("from stepgraph import StateGraph") - loaded_by("pass")}
    foreign = added - set(sys.stdlib_module_names) - {"stepgraph", "ormsgpack", "typing_extensions"}
    assert foreign == set()
