"""Stored bytes: what a saver holds after a conversation, in memory and in a SQLite file; and time to load it again.

In memory: the sum of the bytes objects that the saver holds. SQLite: size of the file after a vacuum. The work is the
same everywhere: one 500-byte item a step, and the state's only large field differs in how it grows.
"""

from __future__ import annotations

import operator
import os
import tempfile
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from benchmarks.engine import Engine, config, schema
from benchmarks.kinds import Bench, Limit, Scenario
from benchmarks.measure import file_bytes, seconds_of, stored_bytes
from benchmarks.scenarios.wide import merge

STEPS = 1000


def item(number: int) -> str:
    return f"{number:0500}"


class AsList(TypedDict):
    items: Annotated[list[str], operator.add]
    limit: int


class AsDict(TypedDict):
    items: Annotated[dict[str, str], merge]
    limit: int


class AsPlain(TypedDict):
    items: list[str]
    limit: int


def list_schema(engine: Engine) -> tuple[Any, Callable[[Any], Any], Any]:
    return AsList, lambda items: [item(len(items))], []


def dict_schema(engine: Engine) -> tuple[Any, Callable[[Any], Any], Any]:
    return AsDict, lambda items: {f"key {len(items)}": item(len(items))}, {}


def plain_schema(engine: Engine) -> tuple[Any, Callable[[Any], Any], Any]:
    return AsPlain, lambda items: [*items, item(len(items))], []


def message_schema(engine: Engine) -> tuple[Any, Callable[[Any], Any], Any]:
    fields = {"items": Annotated[list[Any], engine.add_messages], "limit": int}
    messages = schema("AsMessages", fields)
    try:
        from langchain_core.messages import HumanMessage
    except ImportError:
        return messages, lambda items: [plain_message(len(items))], []
    return messages, lambda items: [HumanMessage(item(len(items)), id=f"message {len(items)}")], []


def plain_message(number: int) -> dict[str, str]:
    return {"role": "user", "content": item(number), "id": f"message {number}"}


def growing(engine: Engine, schema_of: Any, saver: Any) -> Any:
    fields, update, empty = schema_of(engine)

    def append(state: Any) -> dict[str, Any]:
        return {"items": update(state.get("items", empty))}

    def enough(state: Any) -> str:
        return "append" if len(state["items"]) < state["limit"] else "__end__"

    graph = engine.StateGraph(fields)
    graph.add_node("append", append)
    graph.add_edge(engine.START, "append")
    graph.add_conditional_edges("append", enough, ["append", engine.END])
    return graph.compile(checkpointer=saver)


def bytes_in_memory(engine: Engine, schema_of: Any, steps: int) -> float:
    saver = engine.InMemorySaver()
    growing(engine, schema_of, saver).invoke({"items": schema_of(engine)[2], "limit": steps}, config("t"))
    return stored_bytes(saver)


def bytes_in_sqlite(engine: Engine, schema_of: Any, steps: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoints.sqlite")
        with engine.SqliteSaver.from_conn_string(path) as saver:
            growing(engine, schema_of, saver).invoke(
                {"items": schema_of(engine)[2], "limit": steps}, config("t")
            )
        return file_bytes(path)


def total(count: Any, schema_of: Any) -> Any:
    """Bytes after 1,000 steps; in quick mode fewer steps, told as if they were 1,000 of a linear store."""

    def take(bench: Bench, engine: Engine) -> float:
        steps = bench.count(STEPS)
        return float(count(engine, schema_of, steps)) / steps * STEPS

    return take


def four_times(count: Any) -> Any:
    """Bytes after four times as many steps: 4,000 against 1,000; for LangGraph 1,000 against 250."""

    def take(bench: Bench, engine: Engine) -> float:
        steps = bench.count(STEPS) if engine is bench.ours else bench.count(STEPS // 4)
        return float(count(engine, list_schema, 4 * steps) / count(engine, list_schema, steps))

    return take


# ---------------------------------------------------------------- one object in many tasks


class Fan(TypedDict):
    results: Annotated[list[int], operator.add]


def fan_bytes(engine: Engine, saver: Any, size: int) -> None:
    payload = {"text": "x" * size}

    def spread(state: Fan) -> list[Any]:
        return [engine.Send("work", {"number": i, "shared": payload}) for i in range(200)]

    graph = engine.StateGraph(Fan)
    graph.add_node("work", lambda given: {"results": [given["number"]]})
    graph.add_conditional_edges(engine.START, spread, ["work"])
    graph.compile(checkpointer=saver).invoke({"results": []}, config("t"))


def copies(bench: Bench, engine: Engine) -> float:
    """How many copies of a 50 kB object are stored when 200 tasks carry the same one."""
    taken = []
    for size in (0, 50_000):
        saver = engine.InMemorySaver()
        fan_bytes(engine, saver, size)
        taken.append(stored_bytes(saver))
    return (taken[1] - taken[0]) / 50_000


def copies_sqlite(bench: Bench, engine: Engine) -> float:
    taken = []
    for size in (0, 50_000):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "checkpoints.sqlite")
            with engine.SqliteSaver.from_conn_string(path) as saver:
                fan_bytes(engine, saver, size)
            taken.append(file_bytes(path))
    return (taken[1] - taken[0]) / 50_000


# ---------------------------------------------------------------- loading


def load(bench: Bench, engine: Engine) -> float:
    """Time to load 4,000 items stored step by step / stored at once, from a SQLite file just opened."""
    items = bench.count(4000)
    with tempfile.TemporaryDirectory() as folder:
        seconds = []
        for name, given in (("steps", []), ("once", [item(i) for i in range(items - 1)])):
            path = os.path.join(folder, name)
            with engine.SqliteSaver.from_conn_string(path) as saver:
                compiled = growing(engine, list_schema, saver)
                compiled.invoke({"items": given, "limit": items}, config("t"), durability="async")

            def read(path: str = path) -> None:
                with engine.SqliteSaver.from_conn_string(path) as saver:
                    stored = saver.get_tuple(config("t"))
                    assert len(stored.checkpoint["channel_values"]["items"]) == items

            seconds.append(seconds_of(read, bench.samples))
    return seconds[0] / seconds[1]


MB = 1e6
SCENARIOS: list[Scenario] = [
    Limit("store-list", total(bytes_in_memory, list_schema), "MB", 2.6 * MB, 1.9 * MB),
    Limit("store-list-sqlite", total(bytes_in_sqlite, list_schema), "MB", 2.6 * MB, 1.9 * MB),
    Limit("store-messages", total(bytes_in_memory, message_schema), "MB", 3.2 * MB, 2.2 * MB),
    Limit("store-messages-sqlite", total(bytes_in_sqlite, message_schema), "MB", 3.2 * MB, 2.2 * MB),
    Limit("store-dict", total(bytes_in_memory, dict_schema), "MB", 2.6 * MB, 1.9 * MB),
    Limit("store-dict-sqlite", total(bytes_in_sqlite, dict_schema), "MB", 2.6 * MB, 1.9 * MB),
    Limit("store-plain", total(bytes_in_memory, plain_schema), "MB", 3.5 * MB, 2.2 * MB),
    Limit("store-plain-sqlite", total(bytes_in_sqlite, plain_schema), "MB", 3.5 * MB, 2.2 * MB),
    Limit("store-four-times", four_times(bytes_in_memory), "x", 4.5, 4.1),
    Limit("store-four-times-sqlite", four_times(bytes_in_sqlite), "x", 4.5, 4.1),
    Limit("store-copies", copies, "copies", 2, 1.1),
    Limit("store-copies-sqlite", copies_sqlite, "copies", 2, 1.1),
    Limit("load", load, "x", 2, 1.2, compare=False),
]
