"""Writes the golden files with the real LangGraph: its database of every shape, and what it makes of it by itself.

Run it in an environment that has `langgraph` and its savers, in the directory `tests`:

    python -m checkpoint.imports.write checkpoint/golden

It writes `langgraph-VERSION.sql` (a dump of what its SQLite saver stored) and `langgraph-VERSION.json` (per shape: what
the thread looked like, and what came of it when LangGraph went on with a copy).
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from checkpoint.imports.shapes import SHAPES, Library, Shape


def config_of(name: str) -> dict[str, Any]:
    """The thread of a shape."""
    return {"configurable": {"thread_id": name}}


def plain(value: Any) -> Any:
    """What a run answered, as JSON can hold it: questions as what they ask."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if type(value) in (str, int, float, bool, type(None)):
        return value
    if hasattr(value, "value") and hasattr(value, "id"):
        return f"question {value.value!r}"
    return repr(value)


def look(graph: Any, config: dict[str, Any]) -> dict[str, Any]:
    """What a thread looks like to its graph."""
    state = graph.get_state(config)
    return {
        "values": plain(state.values),
        "next": list(state.next),
        "questions": sorted([i.id, repr(i.value)] for i in state.interrupts),
        "history": [[s.metadata["source"], s.metadata["step"]] for s in graph.get_state_history(config)],
    }


def go_on(lib: Library, graph: Any, shape: Shape, config: dict[str, Any]) -> dict[str, Any]:
    """What comes of a thread: the answers of the runs, and what was done in them."""
    lib.did.clear()
    answers = [plain(step(lib, graph, config)) for step in shape.go_on]
    did = sorted(map(str, lib.did))
    return {"answers": answers, "did": did, "next": list(graph.get_state(config).next)}


def write(database: Path) -> dict[str, Any]:
    """Run all shapes with LangGraph up to where they stop; answers what it makes of a copy."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    expected: dict[str, Any] = {}
    with SqliteSaver.from_conn_string(str(database)) as saver:
        for name, shape in SHAPES.items():
            lib = Library("langgraph")
            graph = shape.build(lib, saver)
            for step in shape.begin:
                step(lib, graph, config_of(name))
    copy = database.with_suffix(".copy")
    shutil.copy(database, copy)
    with SqliteSaver.from_conn_string(str(copy)) as saver:
        for name, shape in SHAPES.items():
            lib = Library("langgraph")
            graph = shape.build(lib, saver)
            seen = look(graph, config_of(name))
            expected[name] = {"stored": seen, **go_on(lib, graph, shape, config_of(name))}
    copy.unlink()
    return expected


def main() -> None:
    """Write the golden files."""
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "threads.db"
        expected = write(database)
        connection = sqlite3.connect(database)
        lines = "\n".join(connection.iterdump())
        connection.close()
    name = f"langgraph-{version('langgraph')}"
    (target / f"{name}.sql").write_text(lines + "\n")
    (target / f"{name}.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
