"""`python -m stepgraph.compat`: a program finds what Python itself would give it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from .conftest import Run

Printed = Callable[..., list[str]]


def test_a_program_has_its_arguments_its_folder_and_a_main_module(printed: Printed, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("", encoding="utf-8")
    lines = printed(
        """
        import sys
        import beside
        print(sys.argv, __name__, __file__, sys.modules["__main__"].__dict__ is globals())
        print(sys.path[0] == __import__("os").path.dirname(beside.__file__), sys.path.count(sys.path[0]))
        """,
        "a",
        "--b",
    )
    assert lines == ["['program.py', 'a', '--b'] __main__ program.py True", "True 1"]


def test_the_working_directory_is_not_searched_for_a_program_elsewhere(run: Run, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "app.py").write_text("import sys; print(sys.path[0])\n", encoding="utf-8")
    done = run("-m", "stepgraph.compat", "inner/app.py")
    assert done.stdout.strip() == str((tmp_path / "inner").resolve())


def test_a_module_is_run_by_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    text = (
        "import sys, langgraph.graph; print(langgraph.graph.__name__, sys.argv[1:], __name__, __package__)\n"
    )
    (tmp_path / "package" / "__main__.py").write_text(text, encoding="utf-8")
    done = run("-m", "stepgraph.compat", "-m", "package", "-x", "y")
    assert done.stdout == "stepgraph.graph ['-x', 'y'] __main__ package\n", done.stderr


def test_a_folder_with_a_main_file_is_a_program(run: Run, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text(
        "import langgraph.graph, part; print(part.X)\n", encoding="utf-8"
    )
    (tmp_path / "app" / "part.py").write_text("X = 1\n", encoding="utf-8")
    assert run("-m", "stepgraph.compat", "app").stdout == "1\n"


def test_exit_codes_and_tracebacks_are_the_programs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys; sys.exit(7)\n", encoding="utf-8")
    assert run("-m", "stepgraph.compat", "program.py").returncode == 7
    (tmp_path / "program.py").write_text("x = 1\nraise KeyError('mine')\n", encoding="utf-8")
    done = run("-m", "stepgraph.compat", "program.py")
    assert done.returncode == 1
    assert 'File "program.py", line 2' in done.stderr
    assert done.stderr.endswith("KeyError: 'mine'\n")


def test_exit_handlers_still_see_the_programs_module(printed: Printed) -> None:
    lines = printed("""
        import atexit, sys
        class Kept: pass
        atexit.register(lambda: print(sys.modules["__main__"].Kept is Kept))
    """)
    assert lines == ["True"]


def test_the_variables_alone_are_enough(run: Run) -> None:
    lines = run("-m", "stepgraph.compat", "--env").stdout.splitlines()
    variables = dict(shlex.split(line)[1].split("=", 1) for line in lines)
    done = run("-c", "import langgraph.graph; print(langgraph.graph.__name__)", **variables)
    assert done.stdout == "stepgraph.graph\n", done.stderr
    again = run("-m", "stepgraph.compat", "--env", **variables)
    assert again.stdout.splitlines() == lines


def test_a_wrong_command_line_says_how_it_is_used(run: Run) -> None:
    for words in ([], ["-m"], ["--nonsense"], ["no_such_file.py"]):
        done = run("-m", "stepgraph.compat", *words)
        assert done.returncode == 2
        assert "usage: python -m stepgraph.compat PROGRAM" in done.stderr
    assert run("-m", "stepgraph.compat", "--help").stdout.startswith("usage:")


def test_a_person_can_pickle_classes_of_the_program(printed: Printed) -> None:
    lines = printed("""
        import pickle
        class Point:
            pass
        print(type(pickle.loads(pickle.dumps(Point()))) is Point)
    """)
    assert lines == ["True"]
