from __future__ import annotations

from pathlib import Path

from cli.conftest import Command

FLAWED = """
from typing import TypedDict
from stepgraph.graph import START, StateGraph
from stepgraph.types import Command

class State(TypedDict):
    x: str

def jump(state: State):
    return Command(goto="nowhere")

def update(state: State):
    return {"x": "v"}

wrong = StateGraph(State).add_node(jump).add_edge(START, "jump").compile()
sound = StateGraph(State).add_node(update).add_edge(START, "update").compile()
lost = StateGraph(State).add_node(update).add_node("lost", update).add_edge(START, "update").compile()
"""


def test_a_sound_graph_passes(stepgraph: Command, folder: Path) -> None:
    (folder / "flawed_graphs.py").write_text(FLAWED, encoding="utf-8")
    done = stepgraph("check", "flawed_graphs.py:sound")
    assert (done.code, done.out) == (0, "")
    assert "nothing found" in done.err


def test_an_error_is_told_with_its_place_and_fails(stepgraph: Command, folder: Path) -> None:
    (folder / "flawed_graphs.py").write_text(FLAWED, encoding="utf-8")
    done = stepgraph("check", "flawed_graphs.py:wrong")
    assert done.code == 1
    assert "error SG203" in done.out
    assert "flawed_graphs.py:10" in done.out
    assert "1 error" in done.err


def test_warnings_fail_only_if_they_shall(stepgraph: Command, folder: Path) -> None:
    (folder / "flawed_graphs.py").write_text(FLAWED, encoding="utf-8")
    assert stepgraph("check", "flawed_graphs.py:lost").code == 0
    assert stepgraph("check", "flawed_graphs.py:lost", "--strict").code == 1


def test_findings_as_json(stepgraph: Command, folder: Path) -> None:
    (folder / "flawed_graphs.py").write_text(FLAWED, encoding="utf-8")
    [finding] = stepgraph("check", "flawed_graphs.py:wrong", "--json").data
    assert (finding["code"], finding["severity"], finding["at"]) == ("SG203", "error", "")
    assert finding["place"].endswith("flawed_graphs.py:10")


BEFORE = """
from typing import TypedDict
from stepgraph.graph import START, StateGraph
from stepgraph.types import interrupt

class State(TypedDict, total=False):
    x: str

def review(state):
    return {"x": interrupt("ok?")}

graph = StateGraph(State).add_node("NAME", review).add_edge(START, "NAME").compile()
"""


def test_a_thread_of_a_changed_graph_tells_what_is_gone(stepgraph: Command, folder: Path) -> None:
    (folder / "graph_before.py").write_text(BEFORE.replace("NAME", "review"), encoding="utf-8")
    (folder / "graph_after.py").write_text(BEFORE.replace("NAME", "approve"), encoding="utf-8")
    assert stepgraph("run", "graph_before.py:graph", "--thread", "t", "--input", "{}").code == 3
    shown = stepgraph("show", "graph_after.py:graph", "--thread", "t")
    assert (shown.code, "review" in shown.out) == (0, True)
    done = stepgraph("resume", "graph_after.py:graph", "yes", "--thread", "t")
    assert done.code == 1
    assert "rename_node('review', 'approve')" in done.err
    assert done.err.count("go on with") <= 1
