"""Three ways to connect a subgraph: who hands the data over differs.

1. The compiled graph is a node: keys of the same name go in and come out, folded by the parent's reducer.
2. A function calls it and translates both ways: neither schema knows the other.
3. A node of the child hands control to the parent with `Command(graph=Command.PARENT)`, and updates the parent's keys.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from stepgraph.graph import END, START, StateGraph
from stepgraph.types import Command


class ParentState(TypedDict):
    query: str
    findings: Annotated[list[str], operator.add]
    current: str


class ResearchState(TypedDict):
    query: str
    findings: Annotated[list[str], operator.add]
    scratch: str


class Summary(TypedDict):
    query: str
    summary: list[str]


def parent_of(node: Any, after: str | None = None) -> Any:
    """A parent whose only real work is `node`; `reviewer` signs what it gets."""
    parent = StateGraph(ParentState)
    parent.add_node("research", node)
    parent.add_node(
        "reviewer", lambda state: {"findings": [f"reviewed for {state.get('current', 'nobody')}"]}
    )
    parent.add_edge(START, "research")
    if after is not None:
        parent.add_edge("research", after)
    parent.add_edge("reviewer", END)
    return parent.compile()


def as_node() -> dict[str, Any]:
    """1: `findings` crosses, `scratch` stays inside."""
    child = StateGraph(ResearchState)
    child.add_node("search", lambda state: {"findings": [f"found: {state['query']}"], "scratch": "private"})
    child.add_edge(START, "search")
    child.add_edge("search", END)
    out: dict[str, Any] = parent_of(child.compile(), END).invoke({"query": "q", "findings": ["given"]})
    return out


def by_function() -> dict[str, Any]:
    """2: the child says `summary`, the parent wants `findings`."""
    child = StateGraph(Summary)
    child.add_node("summarize", lambda state: {"summary": [f"summary of {state['query']}"]})
    child.add_edge(START, "summarize")
    child.add_edge("summarize", END)
    research = child.compile()

    def call_research(state: ParentState) -> dict[str, Any]:
        result = research.invoke({"query": state["query"]})
        return {"findings": result["summary"]}

    out: dict[str, Any] = parent_of(call_research, END).invoke({"query": "q", "findings": []})
    return out


def by_handover() -> dict[str, Any]:
    """3: the child decides that the reviewer is next."""

    def handoff(state: ResearchState) -> Command[Any]:
        return Command(goto="reviewer", graph=Command.PARENT, update={"current": "review"})

    child = StateGraph(ResearchState)
    child.add_node("handoff", handoff)
    child.add_edge(START, "handoff")
    out: dict[str, Any] = parent_of(child.compile()).invoke({"query": "q", "findings": []})
    return out


def main() -> dict[str, dict[str, Any]]:
    """The parent's final state for each connection."""
    return {"as a node": as_node(), "by a function": by_function(), "by handover": by_handover()}


if __name__ == "__main__":
    for connection, state in main().items():
        print(f"{connection}: {state}")
