"""Putting the hook in place: by call, for subprocesses, and when it is too late."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

Printed = Callable[..., list[str]]

WHERE = "import langgraph.graph; print(langgraph.graph.__name__)"


def test_install_answers_from_then_on(run: Run) -> None:
    done = run("-c", f"from stepgraph.compat import install; install(); install(); {WHERE}")
    assert done.stdout == "stepgraph.graph\n", done.stderr


def test_installing_twice_puts_one_hook_in_place(run: Run) -> None:
    code = "import sys; from stepgraph.compat import install; install(); n = len(sys.meta_path); install()"
    done = run("-c", f"{code}; print(len(sys.meta_path) - n)")
    assert done.stdout == "0\n", done.stderr


def test_it_is_refused_when_langgraph_is_imported_already(run: Run, site: Path) -> None:
    (site / "langgraph" / "types.py").write_text("", encoding="utf-8")
    done = run("-c", "import langgraph.types; from stepgraph.compat import install; install()")
    assert "RuntimeError: langgraph" in done.stderr
    assert str(site) in done.stderr
    assert "before the first import" in done.stderr


def test_a_plain_install_leaves_the_environment_alone(run: Run) -> None:
    code = "import os; before = dict(os.environ); from stepgraph.compat import install; install()"
    done = run("-c", f"{code}; print(dict(os.environ) == before)")
    assert done.stdout == "True\n", done.stderr


def test_subprocesses_have_the_hook_too(printed: Printed) -> None:
    lines = printed(f"""
        import subprocess, sys
        print(subprocess.run([sys.executable, "-c", {WHERE!r}], capture_output=True, text=True).stdout)
    """)
    assert lines[0] == "stepgraph.graph"


def test_worker_processes_have_the_hook_too(printed: Printed) -> None:
    lines = printed("""
        from multiprocessing import get_context

        def name(_):
            import langgraph.graph
            return langgraph.graph.__name__

        if __name__ == "__main__":
            with get_context("spawn").Pool(1) as pool:
                print(pool.map(name, [None]))
    """)
    assert lines == ["['stepgraph.graph']"]


def test_the_variable_can_turn_it_off_for_a_subprocess(printed: Printed) -> None:
    lines = printed(f"""
        import os, subprocess, sys
        environment = {{**os.environ, "STEPGRAPH_COMPAT": "0"}}
        done = subprocess.run([sys.executable, "-c", {WHERE!r}], capture_output=True, text=True, env=environment)
        print("ModuleNotFoundError" in done.stderr or "was loaded" in done.stderr)
    """)
    assert lines == ["True"]


def test_another_sitecustomize_still_runs(printed: Printed, site: Path) -> None:
    (site / "sitecustomize.py").write_text("print('customized')\n", encoding="utf-8")
    lines = printed(f"""
        import subprocess, sys
        print(subprocess.run([sys.executable, "-c", {WHERE!r}], capture_output=True, text=True).stdout.split())
    """)
    assert lines[-1] == "['customized', 'stepgraph.graph']"


def test_a_python_without_stepgraph_says_so_and_starts(run: Run) -> None:
    startup = Path(__file__).parents[2] / "src" / "stepgraph" / "compat" / "startup"
    done = run(
        "-S", "-c", "import sitecustomize; print('started')", PYTHONPATH=str(startup), STEPGRAPH_COMPAT="1"
    )
    if "cannot import stepgraph" not in done.stderr:
        pytest.skip("this Python finds stepgraph by itself")
    assert done.stdout == "started\n"
    assert sys.executable in done.stderr


def test_a_goto_to_nowhere_warns_instead_of_failing(printed: Printed) -> None:
    lines = printed("""
        import warnings
        from typing_extensions import TypedDict
        from langgraph.graph import START, StateGraph
        from langgraph.types import Command
        class State(TypedDict):
            x: int
        def node(state) -> Command:
            return Command(update={"x": 1}, goto="END")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(StateGraph(State).add_node(node).add_edge(START, "node").compile().invoke({"x": 0}))
        print(any("END" in str(warning.message) for warning in caught))
    """)
    assert lines == ["{'x': 1}", "True"]
