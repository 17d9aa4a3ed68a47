"""A department is asked inside a subgraph; the whole run waits; the answer is given to the root and reaches the child.

Afterwards the parent decides where to go with a `Command`, and the history shows every step of both runs.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, TypedDict

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import END, START, StateGraph
from stepgraph.types import Command, interrupt


class DepartmentState(TypedDict):
    request: str
    dept_decision: str


class ApprovalState(TypedDict):
    request: str
    dept_decision: str
    final_decision: str
    log: Annotated[list[str], operator.add]


def dept_review(state: DepartmentState) -> dict[str, Any]:
    """Ask a person; the run pauses here until it is resumed."""
    decision = interrupt({"request": state["request"], "question": "部门是否批准此请求？"})
    return {"dept_decision": decision}


def prepare(state: ApprovalState) -> dict[str, Any]:
    """Note the request."""
    return {"log": [f"收到请求: {state['request']}"]}


def final_review(state: ApprovalState) -> Command[Literal["approved", "rejected"]]:
    """Follow the department."""
    if state["dept_decision"] == "approved":
        return Command(update={"final_decision": "approved", "log": ["最终批准"]}, goto="approved")
    return Command(update={"final_decision": "rejected", "log": ["最终拒绝"]}, goto="rejected")


def on_approved(state: ApprovalState) -> dict[str, Any]:
    """Carry the request out."""
    return {"log": ["执行审批通过流程"]}


def on_rejected(state: ApprovalState) -> dict[str, Any]:
    """Tell the person who asked."""
    return {"log": ["通知申请人被拒绝"]}


def build() -> Any:
    """The approval graph with the department as a node."""
    department = StateGraph(DepartmentState)
    department.add_node("review", dept_review)
    department.add_edge(START, "review")
    department.add_edge("review", END)

    builder = StateGraph(ApprovalState)
    builder.add_node("prepare", prepare)
    builder.add_node("dept", department.compile())
    builder.add_node("final_review", final_review)
    builder.add_node("approved", on_approved)
    builder.add_node("rejected", on_rejected)
    builder.add_edge(START, "prepare")
    builder.add_edge("prepare", "dept")
    builder.add_edge("dept", "final_review")
    builder.add_edge("approved", END)
    builder.add_edge("rejected", END)
    return builder.compile(checkpointer=InMemorySaver())


def main(decision: str = "approved") -> dict[str, Any]:
    """Start, look at the paused child, answer, and read the history."""
    graph = build()
    config: Any = {"configurable": {"thread_id": "approval-1"}}
    paused = graph.invoke({"request": "采购10台服务器"}, config)
    child = graph.get_state(config, subgraphs=True).tasks[0].state
    finished = graph.invoke(Command(resume=decision), config)
    return {
        "question": paused["__interrupt__"][0].value,
        "child waits for": child.next,
        "finished": finished,
        "history": [(state.metadata["step"], state.next) for state in graph.get_state_history(config)],
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value}")
