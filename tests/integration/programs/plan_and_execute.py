"""Plan, execute step by step, replan: Pydantic in the state, a reducer, an executor that is a graph of its own."""

import operator
from typing import Annotated, Union

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from pydantic import BaseModel, Field
from typing_extensions import TypedDict


class Plan(BaseModel):
    steps: list[str] = Field(description="what to do, in order")


class Done(BaseModel):
    answer: str


class State(TypedDict):
    task: str
    plan: Plan
    past: Annotated[list[tuple[str, str]], operator.add]
    answer: str


class Work(TypedDict):
    step: str
    notes: Annotated[list[str], operator.add]


def think(state: Work):
    return {"notes": [f"thought of {state['step']}"]}


def act(state: Work):
    return {"notes": [f"did {state['step']}"]}


executor = (
    StateGraph(Work).add_node(think).add_node(act).add_edge(START, "think").add_edge("think", "act").compile()
)


def planner(state: State):
    return {"plan": Plan(steps=[f"{state['task']} {n}" for n in range(1, 4)])}


def agent(state: State):
    step = state["plan"].steps[0]
    result = executor.invoke({"step": step, "notes": []})
    return {"past": [(step, " and ".join(result["notes"]))]}


def decide(state: State) -> Union[Plan, Done]:
    rest = state["plan"].steps[1:]
    return Plan(steps=rest) if rest else Done(answer=f"{len(state['past'])} steps done")


def replan(state: State) -> Command:
    decision = decide(state)
    if isinstance(decision, Done):
        return Command(update={"answer": decision.answer}, goto=END)
    return Command(update={"plan": decision}, goto="agent")


builder = StateGraph(State)
builder.add_node("planner", planner)
builder.add_node("agent", agent)
builder.add_node("replan", replan, destinations=("agent", END))
builder.add_edge(START, "planner")
builder.add_edge("planner", "agent")
builder.add_edge("agent", "replan")
graph = builder.compile()

print(graph.invoke({"task": "dig"}))
for namespace, chunk in graph.stream({"task": "dig"}, stream_mode="updates", subgraphs=True):
    print([part.split(":")[0] for part in namespace], chunk)
print(graph.get_graph(xray=True).draw_mermaid())
