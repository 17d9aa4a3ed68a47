"""What a loop of two nodes compiles to: everything between nodes is a channel.

Printed: each channel with its kind, and each node with the channels that trigger it.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from stepgraph.graph import END, START, StateGraph


class State(TypedDict):
    messages: Annotated[list[str], operator.add]
    count: int


def agent_fn(state: State) -> dict[str, Any]:
    """Say something and count the round."""
    return {"messages": ["a"], "count": state["count"] + 1}


def tool_fn(state: State) -> dict[str, Any]:
    """Answer."""
    return {"messages": ["t"]}


def should_continue(state: State) -> str:
    """Two rounds are enough."""
    return "continue" if state["count"] < 2 else "end"


def build() -> Any:
    """The compiled loop."""
    graph = StateGraph(State)
    graph.add_node("agent", agent_fn)
    graph.add_node("tool", tool_fn)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", should_continue, {"continue": "tool", "end": END})
    graph.add_edge("tool", "agent")
    return graph.compile()


def main() -> dict[str, Any]:
    """The structure, and what a run gives."""
    compiled = build()
    return {
        "channels": {name: type(channel).__name__ for name, channel in compiled.channels.items()},
        "triggers": {name: list(node.triggers) for name, node in compiled.nodes.items()},
        "triggered by": {channel: list(nodes) for channel, nodes in compiled.trigger_to_nodes.items()},
        "result": compiled.invoke({"messages": [], "count": 0}),
    }


if __name__ == "__main__":
    for part, content in main().items():
        print(f"{part}: {content}")
