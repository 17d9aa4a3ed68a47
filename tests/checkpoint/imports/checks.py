"""What must hold for a thread that was imported, whoever wrote the database.

Rules: knows what LangGraph made of the thread, not how that was found out.
"""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint.imports.shapes import SHAPES, Library
from checkpoint.imports.write import config_of, go_on, look
from stepgraph.checkpoint.imports.source import Source
from stepgraph.checkpoint.imports.transfer import import_threads

DIFFERENT: dict[str, dict[str, Any]] = {
    "asking task": {
        "answers": [[1, "TASK 1?", "TASK 2?"]],
        "did": ["ask 1", "ask 2"],
        "next": [],
    },
    "stores nothing inside": {
        "answers": [{"__interrupt__": ["question 'child?'"], "log": ["in", "a"]}],
        "did": [],
        "next": ["child"],
    },
}
"""All questions of a step wait at once here, where it is known who asked them; and a graph that stores nothing asks again."""


def check_goes_on(
    source: Source,
    saver: Any,
    shape: str,
    expected: dict[str, Any],
    *,
    paths: bool = True,
    asynchronous: bool = False,
) -> None:
    """Import a thread, look at it, and go on with it.

    Args:
        source: Where it is.
        saver: Where it goes.
        shape: The program.
        expected: What LangGraph made of it.
        paths: Whether the paths of tasks were stored.
        asynchronous: Whether the runs are awaited.
    """
    if SHAPES[shape].needs:
        pytest.importorskip(SHAPES[shape].needs or "")
    (report,) = import_threads(source, saver, [shape])
    assert not report.problems
    assert report.stored > 0
    lib = Library("stepgraph")
    lib.asynchronous = asynchronous
    graph = SHAPES[shape].build(lib, saver)

    stored, seen = expected["stored"], look(graph, config_of(shape))
    assert seen["values"] == stored["values"]
    assert seen["history"] == stored["history"]
    assert {tuple(pair) for pair in stored["questions"]} <= {tuple(pair) for pair in seen["questions"]}
    if paths or shape != "two questions":  # LangGraph 0.6 shows nothing to be due there
        assert seen["next"] == stored["next"]

    went = go_on(lib, graph, SHAPES[shape], config_of(shape))
    if paths or shape != "asking task":
        expected = {**expected, **DIFFERENT.get(shape, {})}
    assert went == {key: expected[key] for key in went}
