"""What a subgraph's `checkpointer` decides: whether its state lasts over calls, and where it is stored.

The child appends one "x". Its parent runs twice on the same thread. Printed for each choice: the parent's items after
the second run, and the namespaces that its saver then holds (task ids shortened to <id1>, <id2>).
"""

from __future__ import annotations

import operator
import re
from typing import Annotated, Any, TypedDict

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import END, START, StateGraph


class State(TypedDict):
    items: Annotated[list[str], operator.add]


def run(child_checkpointer: Any) -> tuple[list[str], list[str]]:
    """Items after the second run, and the namespaces in the parent's saver."""
    child = StateGraph(State)
    child.add_node("add", lambda state: {"items": ["x"]})
    child.add_edge(START, "add")
    child.add_edge("add", END)

    parent = StateGraph(State)
    parent.add_node("child", child.compile(checkpointer=child_checkpointer))
    parent.add_edge(START, "child")
    parent.add_edge("child", END)

    saver = InMemorySaver()
    graph = parent.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"items": []}, config)
    second = graph.invoke({"items": []}, config)["items"]
    namespaces = sorted(namespace for thread in saver.storage for namespace in saver.storage[thread])
    return second, shorten(namespaces)


def shorten(namespaces: list[str]) -> list[str]:
    """Task ids differ from run to run: number them instead."""
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return ":" + numbers.setdefault(match.group(1), f"<id{len(numbers) + 1}>")

    return [re.sub(r":([0-9a-f-]{36})", number, namespace) for namespace in namespaces]


def main() -> dict[str, tuple[list[str], list[str]]]:
    """One row for each of the four choices."""
    return {
        "None": run(None),
        "True": run(True),
        "False": run(False),
        "its own saver": run(InMemorySaver()),
    }


if __name__ == "__main__":
    for choice, (items, stored) in main().items():
        print(f"{choice:15} {items!s:25} {stored}")
