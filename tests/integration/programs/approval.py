"""A person approves, edits or rejects: interrupts, several at once, breakpoints, time travel, edited state."""

import operator
from typing import Annotated, Literal

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    draft: str
    log: Annotated[list[str], operator.add]


def write(state: State):
    return {"draft": "dear all", "log": ["written"]}


def review(state: State) -> Command[Literal["send", "write"]]:
    decision = interrupt({"question": "send it?", "draft": state["draft"]})
    if decision["type"] == "reject":
        return Command(goto="write", update={"log": ["rejected"]})
    return Command(
        goto="send", update={"draft": decision.get("draft", state["draft"]), "log": [decision["type"]]}
    )


def send(state: State):
    return {"log": [f"sent {state['draft']!r}"]}


builder = StateGraph(State).add_node(write).add_node(review).add_node(send)
builder.add_edge(START, "write").add_edge("write", "review").add_edge("send", END)
graph = builder.compile(checkpointer=InMemorySaver())

config = {"configurable": {"thread_id": "1"}}
paused = graph.invoke({}, config)
print(paused["__interrupt__"][0].value, graph.get_state(config).next)
print([chunk for chunk in graph.stream(Command(resume={"type": "reject"}), config)][:-1])
print(graph.get_state(config).tasks[0].interrupts[0].value)
print(graph.invoke(Command(resume={"type": "edit", "draft": "hi"}), config))

history = list(graph.get_state_history(config))
first = [state for state in history if state.next == ("review",)][-1]
print(first.metadata["step"], first.values)
forked = graph.update_state(first.config, {"draft": "changed"}, as_node="write")
print(graph.invoke(None, forked)["__interrupt__"][0].value)
print(graph.invoke(Command(resume={"type": "approve"}), config)["log"])


def ask(name):
    def node(state: State):
        return {"log": [f"{name} said {interrupt(name)}"]}

    return node


both = (
    StateGraph(State)
    .add_node("a", ask("ann"))
    .add_node("b", ask("bob"))
    .add_edge(START, "a")
    .add_edge(START, "b")
)
both = both.compile(checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "2"}}
questions = both.invoke({}, config)["__interrupt__"]
print(sorted(question.value for question in questions))
answers = {question.id: question.value.upper() for question in questions}
print(sorted(both.invoke(Command(resume=answers), config)["log"]))

stops = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["send"], interrupt_after=["write"])
config = {"configurable": {"thread_id": "3"}}
stops.invoke({}, config)
print(stops.get_state(config).next)
stops.invoke(None, config)
stops.invoke(Command(resume={"type": "approve"}), config)
print(stops.get_state(config).next)
print(stops.invoke(None, config)["log"])
