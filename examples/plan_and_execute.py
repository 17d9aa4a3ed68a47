"""Plan a trip, carry out the plan step by step in an executor subgraph, and plan anew when a step fails.

The executor has a state of its own; a function translates between it and the trip's state. The "tools" are tables, and
the first plan asks for a flight that is sold out, so that one run shows the whole circle:

    planner_node -> execute_step -> check_step_result -> execute_step | replan | final_response
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, TypedDict

from stepgraph.graph import END, START, StateGraph

FLIGHTS = {"train to Kyoto": "seat 12A, 9:30", "hotel in Kyoto": "room 4, two nights"}
"""What can be booked; a flight to Kyoto cannot."""


class PlanStep(TypedDict):
    step_id: int
    task: str
    status: str


class TravelState(TypedDict):
    user_request: str
    plan_steps: list[PlanStep]
    current_step_index: int
    step_results: list[str]
    plan_status: str
    execution_status: str
    step_error: str | None
    final_answer: str
    history: Annotated[list[str], operator.add]


class ExecutorState(TypedDict):
    current_step: PlanStep
    tool_results: list[str]
    step_status: str
    step_error: str | None


# ---------------------------------------------------------------- executor: a graph for one step of the plan


def prepare_step(state: ExecutorState) -> dict[str, Any]:
    """Take the step in hand."""
    return {"current_step": {**state["current_step"], "status": "running"}}


def call_tools(state: ExecutorState) -> dict[str, Any]:
    """Look up what can be booked for this step."""
    booked = FLIGHTS.get(state["current_step"]["task"])
    return {"tool_results": [] if booked is None else [booked]}


def verify_step(state: ExecutorState) -> dict[str, Any]:
    """Say whether the step was carried out."""
    task = state["current_step"]["task"]
    if not state["tool_results"]:
        return {"step_status": "failed", "step_error": f"nothing free: {task}"}
    return {"step_status": "done", "step_error": None}


def build_executor_subgraph() -> Any:
    """Prepare, call the tools, verify."""
    executor = StateGraph(ExecutorState)
    executor.add_node("prepare_step", prepare_step)
    executor.add_node("call_tools", call_tools)
    executor.add_node("verify_step", verify_step)
    executor.add_edge(START, "prepare_step")
    executor.add_edge("prepare_step", "call_tools")
    executor.add_edge("call_tools", "verify_step")
    executor.add_edge("verify_step", END)
    return executor.compile()


executor_graph = build_executor_subgraph()


# ---------------------------------------------------------------- the trip


def build_plan_steps(tasks: list[str]) -> list[PlanStep]:
    """Number the tasks of a plan."""
    return [{"step_id": i, "task": task, "status": "pending"} for i, task in enumerate(tasks, 1)]


def planner_node(state: TravelState) -> dict[str, Any]:
    """A first plan for the request."""
    destination = state["user_request"].rsplit(" ", 1)[-1]
    steps = build_plan_steps([f"flight to {destination}", f"hotel in {destination}"])
    return {
        "plan_steps": steps,
        "current_step_index": 0,
        "step_results": [],
        "plan_status": "ready",
        "history": [f"planned {len(steps)} steps"],
    }


def execute_step(state: TravelState) -> dict[str, Any]:
    """Give the current step to the executor and translate what comes back."""
    index = state["current_step_index"]
    sub_output = executor_graph.invoke(
        {
            "current_step": state["plan_steps"][index],
            "tool_results": [],
            "step_status": "running",
            "step_error": None,
        }
    )
    return convert_executor_output_to_parent_update(state, sub_output)


def convert_executor_output_to_parent_update(state: TravelState, output: Any) -> dict[str, Any]:
    """The trip's update for one carried out or failed step."""
    index = state["current_step_index"]
    steps = [dict(step) for step in state["plan_steps"]]
    steps[index]["status"] = output["step_status"]
    done = output["step_status"] == "done"
    return {
        "plan_steps": steps,
        "current_step_index": index + 1 if done else index,
        "step_results": state["step_results"] + output["tool_results"],
        "execution_status": "ok" if done else "recoverable_failed",
        "step_error": output["step_error"],
        "history": [f"{steps[index]['task']}: {output['step_status']}"],
    }


def check_step_result(state: TravelState) -> dict[str, Any]:
    """Note what went wrong, if anything did."""
    return {"history": [state["step_error"]]} if state["step_error"] else {}


def replan(state: TravelState) -> dict[str, Any]:
    """Replace the step that failed: where there is no flight there may be a train."""
    index = state["current_step_index"]
    steps = [dict(step) for step in state["plan_steps"]]
    steps[index] = {
        **steps[index],
        "task": str(steps[index]["task"]).replace("flight", "train"),
        "status": "pending",
    }
    return {
        "plan_steps": steps,
        "execution_status": "ok",
        "step_error": None,
        "history": [f"planned anew from step {index + 1}"],
    }


def final_response(state: TravelState) -> dict[str, Any]:
    """Tell what was booked."""
    return {"final_answer": "; ".join(state["step_results"])}


def route_next_step(state: TravelState) -> Literal["execute_step", "replan", "final_response"]:
    """After each step: plan anew after a failure, go on while steps are left, else answer."""
    if state.get("execution_status") == "recoverable_failed" or state.get("plan_status") == "invalid":
        return "replan"
    if state["current_step_index"] < len(state["plan_steps"]):
        return "execute_step"
    return "final_response"


def build() -> Any:
    """The trip's graph."""
    builder = StateGraph(TravelState)
    builder.add_node("planner_node", planner_node)
    builder.add_node("execute_step", execute_step)
    builder.add_node("check_step_result", check_step_result)
    builder.add_node("replan", replan)
    builder.add_node("final_response", final_response)
    builder.add_edge(START, "planner_node")
    builder.add_edge("planner_node", "execute_step")
    builder.add_edge("execute_step", "check_step_result")
    builder.add_conditional_edges("check_step_result", route_next_step)
    builder.add_edge("replan", "execute_step")
    builder.add_edge("final_response", END)
    return builder.compile()


def main() -> dict[str, Any]:
    """Book a trip to Kyoto."""
    out: dict[str, Any] = build().invoke({"user_request": "a weekend in Kyoto", "history": []})
    return out


if __name__ == "__main__":
    trip = main()
    print("\n".join(trip["history"]))
    print(trip["final_answer"])
