from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Command
from cli.harness import ENVIRONMENT, flow, process
from stepgraph.cli.main import COMMANDS
from stepgraph.cli.storage import without_password
from stepgraph.version import __version__

HEAVY = {"sqlite3", "asyncio", "logging", "rich", "pydantic", "stepgraph.pregel.pregel", "stepgraph.graph"}


def test_help_lists_every_command_and_the_exit_codes(stepgraph: Command) -> None:
    done = stepgraph("--help")
    assert done.code == 0
    assert all(f"  {name} " in done.out for name in COMMANDS)
    assert "3    paused" in done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(stepgraph: Command, name: str) -> None:
    done = stepgraph(name, "--help")
    assert done.code == 0
    assert done.out.startswith(f"usage: stepgraph {name} ")
    assert "exit codes:" in done.out
    assert "examples:" in done.out


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"], ["threads", "--help"]])
def test_help_loads_neither_engine_nor_database(words: list[str]) -> None:
    code = f"import sys; from stepgraph.cli.main import main; main({words!r}); print('\\n', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted(HEAVY & set(done.stdout.splitlines()[-1].split())) == []


def test_the_version_is_that_of_the_package(stepgraph: Command) -> None:
    assert stepgraph("--version").out == f"stepgraph {__version__}\n"


def test_without_a_command_it_says_what_there_is(stepgraph: Command) -> None:
    done = stepgraph()
    assert done.code == 2
    assert "commands:" in done.out


def test_an_unknown_command_is_misuse_and_names_the_nearest(stepgraph: Command) -> None:
    done = stepgraph("histroy")
    assert done.code == 2
    assert "'histroy'" in done.err
    assert "'history'" in done.err


def test_a_wrong_option_is_misuse_in_two_lines(stepgraph: Command) -> None:
    done = stepgraph("run", flow("chain"), "--input", "{}", "--durabilty", "sync")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "stepgraph run: unrecognized arguments: --durabilty sync",
        "  See: stepgraph run --help",
    ]


def test_arguments_may_stand_in_any_order(stepgraph: Command) -> None:
    stepgraph("run", "--thread", "t", flow("one_question"), "--input", "{}")
    done = stepgraph("resume", flow("one_question"), "--thread", "t", "Zoë", "--json")
    assert done.data["values"] == {"log": ["name 'Zoë'", "second"]}


def test_runs_as_a_module(folder: Path) -> None:
    done = process(folder, "--version")
    assert (done.code, done.out) == (0, f"stepgraph {__version__}\n")


def test_a_reader_that_goes_away_is_no_traceback(folder: Path) -> None:
    words = [sys.executable, "-m", "stepgraph", "export", "--db", "t.db"]
    big = f'{{"name": "{"x" * 200_000}"}}'
    process(folder, "run", flow("chain"), "--input", "-", "--db", "t.db", "-q", given=big)
    running = subprocess.Popen(
        words, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.read(10)
    running.stdout.close()
    said = running.stderr.read()
    assert running.wait(60) == 1
    assert said == b""


def test_signs_that_the_terminal_lacks_are_spelled_out(folder: Path) -> None:
    environment = {"PYTHONIOENCODING": "ascii"}
    words = ("run", flow("chain"), "--input", '{"name": "批准"}', "--no-save")
    done = process(folder, *words, environment=environment)
    assert done.code == 0
    assert "\\u6279\\u51c6" in done.out
    assert "> first" in done.err


def test_a_password_is_not_shown() -> None:
    assert without_password("postgresql://ann:se:cr@t@host:5432/db") == "postgresql://ann@host:5432/db"
    assert without_password("postgres://host/db") == "postgres://host/db"
