"""A supervisor sends one query to two worker subgraphs at once; a reducer gathers what they hand back.

The workers' output schema holds `results` only: handing back `query` as well would be two writes to a plain field in
one step, which is an error.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import END, START, StateGraph
from stepgraph.types import Command, Send


class SupervisorState(TypedDict):
    query: str
    results: Annotated[list[str], operator.add]
    final_answer: str


class WorkerState(TypedDict):
    query: str
    results: list[str]


class WorkerOutput(TypedDict):
    results: list[str]


def create_worker(name: str) -> Any:
    """A subgraph of one node that signs its answer with its name."""
    builder = StateGraph(WorkerState, output_schema=WorkerOutput)
    builder.add_node("process", lambda state: {"results": [f"{name}: {state['query']}"]})
    builder.add_edge(START, "process")
    builder.add_edge("process", END)
    return builder.compile()


def supervisor(state: SupervisorState) -> Command[Any]:
    """Decide which workers get the query."""
    return Command(
        goto=[
            Send("research", {"query": state["query"]}),
            Send("analysis", {"query": state["query"]}),
        ]
    )


def synthesize(state: SupervisorState) -> dict[str, str]:
    """Combine what the workers found."""
    return {"final_answer": " + ".join(state["results"])}


def build() -> Any:
    """The supervisor's graph, with a saver."""
    builder = StateGraph(SupervisorState)
    builder.add_node("supervisor", supervisor)
    builder.add_node("research", create_worker("研究员"))
    builder.add_node("analysis", create_worker("分析师"))
    builder.add_node("synthesize", synthesize)
    builder.add_edge(START, "supervisor")
    builder.add_edge("research", "synthesize")
    builder.add_edge("analysis", "synthesize")
    builder.add_edge("synthesize", END)
    return builder.compile(checkpointer=InMemorySaver())


def main() -> dict[str, Any]:
    """Ask once."""
    answer: dict[str, Any] = build().invoke({"query": "Q"}, {"configurable": {"thread_id": "1"}})
    return answer


if __name__ == "__main__":
    print(main())
