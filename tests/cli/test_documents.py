"""The commands that documents show do what they show.

A document's first Python block is a file, whose name it may tell after the word `python`; a line after `$ ` in a `console` block is run, and what follows is what
it prints, on both streams; `...` stands for anything.
"""

from __future__ import annotations

import doctest
import re
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from cli.harness import ENVIRONMENT

DOCUMENTS = Path(__file__).parents[2] / "docs"
GOLDEN = Path(__file__).parents[1] / "checkpoint" / "imports" / "golden" / "langgraph-1.2.24-sqlite.sql"
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown(document: str) -> list[tuple[str, str]]:
    """Each command, and what it is said to print."""
    pairs = []
    for kind, _, text in BLOCK.findall(document):
        if kind == "console":
            for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, printed = piece.partition("\n")
                pairs.append((line, printed))
    return pairs


def check_commands(document: str, folder: Path) -> None:
    """Run a document's commands in a folder, with its program there."""
    name, program = next(
        (name.strip(), text) for kind, name, text in BLOCK.findall(document) if kind == "python"
    )
    (folder / (name or "article.py")).write_text(program, encoding="utf-8")
    check, code = doctest.OutputChecker().check_output, 0
    commands = shown(document)
    assert commands
    for line, expected in commands:
        if line == "echo $?":
            assert expected == f"{code}\n", line
            continue
        command, *words = shlex.split(line)
        assert command == "stepgraph"
        done = subprocess.run(
            [sys.executable, "-m", "stepgraph", *words],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=120,
        )
        code = done.returncode
        assert check(expected, done.stdout, doctest.ELLIPSIS), f"$ {line}\n{done.stdout}"


def test_commands_print_what_is_shown(tmp_path: Path) -> None:
    check_commands((DOCUMENTS / "command-line.md").read_text(encoding="utf-8"), tmp_path)


def test_commands_that_bring_threads_over_print_what_is_shown(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "checkpoints.sqlite")) as theirs, theirs:
        theirs.executescript(GOLDEN.read_text(encoding="utf-8"))
        for table in ("checkpoints", "writes"):
            theirs.execute(f"DELETE FROM {table} WHERE thread_id <> 'order-17'")
    check_commands((DOCUMENTS / "how-to" / "move-from-langgraph.md").read_text(encoding="utf-8"), tmp_path)
