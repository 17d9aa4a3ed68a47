"""Writes the golden files with the real LangGraph: its database of every shape, and what it makes of it by itself.

Run it in an environment that has `langgraph` and its savers, in the directory `tests`:

    python -m checkpoint.imports.write checkpoint/imports/golden
    python -m checkpoint.imports.write checkpoint/imports/golden postgresql://...
    python -m checkpoint.imports.write checkpoint/imports/golden encrypted
    python -m checkpoint.imports.write checkpoint/imports/golden begun      (before 0.3: what it makes of them is no measure)

It writes `langgraph-VERSION-KIND.sql` (a dump of what its saver stored) and `langgraph-VERSION-KIND.json` (per shape: what the
thread looked like, and what came of it when LangGraph went on from there).
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
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


def asked_in(state: Any) -> list[Any]:
    """The questions of a snapshot; old versions show them with their tasks only."""
    return [question for task in state.tasks for question in task.interrupts]


def look(graph: Any, config: dict[str, Any]) -> dict[str, Any]:
    """What a thread looks like to its graph."""
    state = graph.get_state(config)
    return {
        "values": plain(state.values),
        "next": list(state.next),
        "questions": sorted([getattr(i, "id", ""), repr(i.value)] for i in asked_in(state)),
        "history": [[s.metadata["source"], s.metadata["step"]] for s in graph.get_state_history(config)],
    }


def go_on(lib: Library, graph: Any, shape: Shape, config: dict[str, Any]) -> dict[str, Any]:
    """What comes of a thread: the answers of the runs, and what was done in them."""
    lib.did.clear()
    answers = [plain(step(lib, graph, config)) for step in shape.go_on]
    did = sorted(map(str, lib.did))
    return {"answers": answers, "did": did, "next": list(graph.get_state(config).next)}


def shapes() -> dict[str, Shape]:
    """The shapes that the installed LangGraph can run."""
    found = tuple(map(int, version("langgraph").split(".")[:2]))
    return {
        name: shape
        for name, shape in SHAPES.items()
        if not shape.since or found >= tuple(map(int, shape.since.split(".")))
    }


BEGUN = (
    "linear",
    "parallel",
    "both ask",
    "sends",
    "nested",
    "keeps state",
    "child asks, then node",
    "two questions",
    "workflow",
    "task in node",
    "failed",
    "forked",
    "goes round",
    "half joined",
    "sends by command",
    "keeps state below",
)
"""Shapes that old versions can run."""


def begin(saver: Any, only: Sequence[str] | None = None) -> None:
    """Run all shapes with LangGraph up to where they stop, or some of them."""
    for name, shape in shapes().items():
        if only is not None and name not in only:
            continue
        lib = Library("langgraph")
        graph = shape.build(lib, saver)
        for step in shape.begin:
            step(lib, graph, config_of(name))


def finish(saver: Any) -> dict[str, Any]:
    """What LangGraph makes of the threads when it goes on."""
    expected: dict[str, Any] = {}
    for name, shape in shapes().items():
        lib = Library("langgraph")
        graph = shape.build(lib, saver)
        seen = look(graph, config_of(name))
        expected[name] = {"stored": seen, **go_on(lib, graph, shape, config_of(name))}
    return expected


def write_sqlite() -> tuple[list[str], dict[str, Any]]:
    """The statements that make the database as it was stored, and what came of it."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "threads.db")
        with SqliteSaver.from_conn_string(database) as saver:
            begin(saver)
            lines = list(saver.conn.iterdump())
            return lines, finish(saver)


def write_begun() -> list[str]:
    """The statements that make a database of shapes that old versions can run."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(":memory:") as saver:
        begin(saver, BEGUN)
        return list(saver.conn.iterdump())


def write_postgres(url: str) -> tuple[list[str], dict[str, Any]]:
    """The same for an empty database of Postgres."""
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        begin(saver)
        return dump_postgres(saver.conn), finish(saver)


def write_encrypted() -> list[str]:
    """The statements that make a database of one thread, encrypted with the key `0123456789abcdef`."""
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
    from langgraph.checkpoint.sqlite import SqliteSaver

    serializer = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    with sqlite3.connect(":memory:", check_same_thread=False) as connection:
        begin(SqliteSaver(connection, serde=serializer), ("linear",))
        return list(connection.iterdump())


def dump_postgres(connection: Any) -> list[str]:
    """The tables of a database as statements."""
    columns: dict[str, list[tuple[str, str]]] = {}
    sql = (
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
        " WHERE table_schema = 'public' ORDER BY table_name, ordinal_position"
    )
    for row in connection.execute(sql).fetchall():
        columns.setdefault(row["table_name"], []).append((row["column_name"], row["data_type"]))
    lines = []
    for table, known in columns.items():
        lines.append(f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in known)});")
        literals = " || ', ' || ".join(f"quote_nullable({name}) || '::{kind}'" for name, kind in known)
        for row in connection.execute(f"SELECT {literals} AS line FROM {table}").fetchall():
            lines.append(f"INSERT INTO {table} VALUES ({row['line']});")
    return lines


def main() -> None:
    """Write the golden files."""
    target, how = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "sqlite"
    kind = how if how in ("sqlite", "encrypted", "begun") else "postgres"
    expected: dict[str, Any] = {}
    if kind == "encrypted":
        lines = write_encrypted()
    elif kind == "begun":
        lines = write_begun()
    else:
        lines, expected = write_sqlite() if kind == "sqlite" else write_postgres(how)
    name = f"langgraph-{version('langgraph')}-{kind}"
    (target / f"{name}.sql").write_text("\n".join(lines) + "\n")
    if expected:
        (target / f"{name}.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
