"""A process whose files may grow no further for a while: `python full_disk.py FILE METHOD DURABILITY`, as a disk that is full.

It runs a graph that writes much until storing fails, gets room again, and goes on. What it saw, it prints as JSON.
"""

from __future__ import annotations

import asyncio
import json
import operator
import resource
import sys
from typing import Annotated, Any, TypedDict

from stepgraph.checkpoint.sqlite import AsyncSqliteSaver, SqliteSaver
from stepgraph.graph import END, START, StateGraph

STEPS = 400
ROOM = 250_000
"""Bytes."""
CONFIG: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 2 * STEPS}


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def write(state: State) -> State:
    number = len(state["log"])
    return {"log": [f"{number} " + f"{number:05d}" * 300]}


def numbers(log: list[str]) -> list[int]:
    return [int(line.split()[0]) for line in log]


def allow(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


builder: StateGraph[Any] = StateGraph(State).add_node("write", write).add_edge(START, "write")
builder.add_conditional_edges("write", lambda state: END if len(state["log"]) >= STEPS else "write")


async def run(graph: Any, method: str, durability: str) -> dict[str, Any]:
    async def call(given: Any) -> Any:
        if method == "ainvoke":
            return await graph.ainvoke(given, CONFIG, durability=durability)
        return await asyncio.to_thread(graph.invoke, given, CONFIG, durability=durability)

    seen: dict[str, Any] = {"error": None}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    allow(ROOM)
    try:
        await call({"log": []})
    except Exception as error:
        seen["error"], seen["notes"] = type(error).__name__, getattr(error, "__notes__", [])
    allow(before)
    state = await graph.aget_state(CONFIG)
    seen["kept"] = numbers(state.values.get("log", []))
    seen["end"] = numbers((await call(None if state.next else {"log": []}))["log"])
    return seen


async def main(path: str, method: str, durability: str) -> dict[str, Any]:
    if method == "ainvoke":
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            return await run(builder.compile(saver), method, durability)
    with SqliteSaver.from_conn_string(path) as opened:
        return await run(builder.compile(opened), method, durability)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
