"""The demonstration's graph: a purchase that a department has to approve.

The department is a graph of its own, and a node of the whole: it asks a person, and the whole run waits for the answer.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, Final, Literal, TypedDict

from stepgraph import END, START, Command, StateGraph, interrupt

APPROVED: Final = "approved"
REJECTED: Final = "rejected"


class Department(TypedDict):
    """What the department sees: two fields of the whole."""

    request: str
    dept_decision: str


class Approval(TypedDict):
    """What the whole run keeps."""

    request: str
    dept_decision: str
    final_decision: str
    log: Annotated[list[str], operator.add]


def review(state: Department) -> dict[str, Any]:
    """Ask a person; the run stops here until it is resumed with the answer."""
    question = f"Does the department approve: {state['request']}?"
    decision = interrupt({"question": question, "answers": [APPROVED, REJECTED]})
    return {"dept_decision": decision}


def prepare(state: Approval) -> dict[str, Any]:
    """Note the request."""
    return {"log": [f"request received: {state['request']}"]}


def final_review(state: Approval) -> Command[Literal["approved", "rejected"]]:
    """Follow the department, and say where to go."""
    decision: Literal["approved", "rejected"] = APPROVED if state["dept_decision"] == APPROVED else REJECTED
    return Command(update={"final_decision": decision, "log": [f"final decision: {decision}"]}, goto=decision)


def approved(state: Approval) -> dict[str, Any]:
    """Carry the request out."""
    return {"log": ["the order was placed"]}


def rejected(state: Approval) -> dict[str, Any]:
    """Tell the person who asked."""
    return {"log": ["the person who asked was told"]}


def build() -> Any:
    """The whole graph, compiled; whoever runs it says where it is stored."""
    department = StateGraph(Department)
    department.add_node(review)
    department.add_edge(START, "review")
    department.add_edge("review", END)

    whole = StateGraph(Approval)
    whole.add_node(prepare)
    whole.add_node("dept", department.compile(name="dept"))
    whole.add_node(final_review)
    whole.add_node(approved)
    whole.add_node(rejected)
    whole.add_edge(START, "prepare")
    whole.add_edge("prepare", "dept")
    whole.add_edge("dept", "final_review")
    whole.add_edge("approved", END)
    whole.add_edge("rejected", END)
    return whole.compile(name="approval")


graph = build()
