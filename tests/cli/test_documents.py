"""The commands that `docs/command-line.md` shows do what it shows.

The document's first Python block is the file `article.py`; a line after `$ ` in a `console` block is run, and what follows is what
it prints, on both streams; `...` stands for anything.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

from cli.harness import ENVIRONMENT

DOCUMENT = Path(__file__).parents[2] / "docs" / "command-line.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown() -> list[tuple[str, str]]:
    """Each command, and what it is said to print."""
    pairs = []
    for kind, text in BLOCK.findall(DOCUMENT.read_text(encoding="utf-8")):
        if kind == "console":
            for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, printed = piece.partition("\n")
                pairs.append((line, printed))
    return pairs


def test_commands_print_what_is_shown(tmp_path: Path) -> None:
    program = next(
        text for kind, text in BLOCK.findall(DOCUMENT.read_text(encoding="utf-8")) if kind == "python"
    )
    (tmp_path / "article.py").write_text(program, encoding="utf-8")
    check, code = doctest.OutputChecker().check_output, 0
    commands = shown()
    assert commands
    for line, expected in commands:
        if line == "echo $?":
            assert expected == f"{code}\n", line
            continue
        name, *words = shlex.split(line)
        assert name == "stepgraph"
        done = subprocess.run(
            [sys.executable, "-m", "stepgraph", *words],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=60,
        )
        code = done.returncode
        assert check(expected, done.stdout, doctest.ELLIPSIS), f"$ {line}\n{done.stdout}"
