from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Command
from cli.harness import FLOWS, flow
from stepgraph.cli.exits import CommandError, Misuse
from stepgraph.cli.loading import load

PROGRAM = """
from typing import TypedDict
from stepgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    x: int

def one(state: State):
    return {"x": 1}

graph = StateGraph(State).add_node(one).add_edge(START, "one")
"""


@pytest.fixture(autouse=True)
def _own_modules(folder: Path) -> Iterator[None]:
    """Programs of one test are not those of the next, although their names may be."""
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.mark.parametrize("name", ["chain", "compiled", "factory", "async_factory"])
def test_graphs_builders_and_functions(name: str) -> None:
    target = load(flow(name))
    assert target.spec == flow(name)
    assert target.compiled(None).invoke({}) == {"log": ["first", "second"]}


def test_an_entrypoint(folder: Path) -> None:
    pytest.importorskip("stepgraph.func")
    text = "from stepgraph.func import entrypoint\n@entrypoint()\ndef double(x):\n    return 2 * x\n"
    (folder / "functional.py").write_text(text, encoding="utf-8")
    assert load("functional.py:double").compiled(None).invoke(4) == 8


def test_a_module_of_the_working_directory(folder: Path) -> None:
    (folder / "my_program.py").write_text(PROGRAM, encoding="utf-8")
    assert load("my_program:graph").compiled(None).invoke({}) == {"x": 1}


def test_a_file_in_a_package_with_relative_imports(folder: Path) -> None:
    package = folder / "outer" / "inner"
    package.mkdir(parents=True)
    for place in (package, package.parent):
        (place / "__init__.py").touch()
    (package / "base.py").write_text(PROGRAM, encoding="utf-8")
    (package / "entry.py").write_text("from .base import graph\n", encoding="utf-8")
    load("outer/inner/entry.py:graph")
    assert "outer.inner.entry" in sys.modules


def test_a_file_whose_name_another_module_has(folder: Path) -> None:
    (folder / "types.py").write_text(PROGRAM, encoding="utf-8")
    types = sys.modules["types"]
    assert load("types.py:graph").compiled(None).invoke({}) == {"x": 1}
    assert sys.modules["types"] is types


def test_a_nested_name(folder: Path) -> None:
    (folder / "holder.py").write_text(PROGRAM + "class Here:\n    inner = graph\n", encoding="utf-8")
    assert load("holder.py:Here.inner").compiled(None).invoke({}) == {"x": 1}


def test_the_name_may_be_left_out_where_there_is_one_graph(folder: Path) -> None:
    (folder / "single.py").write_text(PROGRAM, encoding="utf-8")
    assert load("single.py").compiled(None).invoke({}) == {"x": 1}


def test_of_several_graphs_one_has_to_be_named() -> None:
    with pytest.raises(Misuse, match="say which graph") as caught:
        load(FLOWS)
    assert "compiled" in caught.value.hint
    assert "chain" in caught.value.hint


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (flow("nothing"), "has no 'nothing'"),
        (flow("number"), "is no graph, but of type int"),
        (flow("returns_text"), "returned no graph, but something of type str"),
        (flow("needs_much"), "needs arguments (one, other)"),
        ("no_such_module_anywhere:graph", "there is no module"),
        ("nowhere/app.py:graph", "there is no file"),
    ],
)
def test_what_is_no_graph_is_misuse(spec: str, said: str) -> None:
    with pytest.raises(Misuse) as caught:
        load(spec)
    assert said in str(caught.value)


def test_a_function_that_raises_is_told_with_its_error() -> None:
    with pytest.raises(CommandError, match="ValueError: no key in the environment"):
        load(flow("raises"))


def test_a_module_that_fails_to_import_is_told_with_its_error(folder: Path) -> None:
    (folder / "broken.py").write_text("import a_package_that_nobody_has\n", encoding="utf-8")
    with pytest.raises(CommandError, match="No module named 'a_package_that_nobody_has'") as caught:
        load("broken.py:graph")
    assert not isinstance(caught.value, Misuse)


def test_a_saver_of_the_graphs_own_is_used(stepgraph: Command, folder: Path) -> None:
    own = "import sqlite3\nfrom stepgraph.checkpoint.sqlite import SqliteSaver\n" + PROGRAM
    own += (
        "app = graph.compile(checkpointer=SqliteSaver(sqlite3.connect('own.db', check_same_thread=False)))\n"
    )
    (folder / "with_saver.py").write_text(own, encoding="utf-8")
    done = stepgraph("run", "with_saver.py:app", "--input", "{}", "--thread", "t")
    assert "thread t in the graph's own SqliteSaver" in done.err
    assert [path.name for path in folder.glob("*.db")] == ["own.db"]
    assert stepgraph("history", "with_saver.py:app", "--thread", "t", "--json").data[0]["values"] == {"x": 1}


def test_a_saver_in_memory_is_replaced_by_the_file(stepgraph: Command, folder: Path) -> None:
    stepgraph("run", flow("in_memory"), "--input", "{}", "--thread", "t")
    assert (folder / "stepgraph.db").exists()
