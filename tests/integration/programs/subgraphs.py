"""Graphs in graphs: as nodes, called by nodes, with their own state, streams, pauses and commands to their parent."""

import operator
from typing import Annotated

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict


class Parent(TypedDict, total=False):
    shared: str
    log: Annotated[list[str], operator.add]


class Child(TypedDict, total=False):
    shared: str
    private: str
    log: Annotated[list[str], operator.add]


class Stranger(TypedDict):
    number: int


def private(state: Child):
    return {"private": "secret", "log": ["private"]}


def asks(state: Child):
    return {"shared": f"{state['shared']} + {state['private']} + {interrupt('go on?')}", "log": ["asked"]}


child = StateGraph(Child).add_node(private).add_node(asks)
child = child.add_edge(START, "private").add_edge("private", "asks").compile()
stranger = (
    StateGraph(Stranger).add_node("double", lambda s: {"number": s["number"] * 2}).add_edge(START, "double")
)
stranger = stranger.compile()


def translate(state: Parent):
    return {"log": [f"doubled {stranger.invoke({'number': len(state['log'])})['number']}"]}


def leave(state: Child):
    return Command(graph=Command.PARENT, goto="last", update={"log": ["handed over"]})


leaver = StateGraph(Child).add_node(leave).add_edge(START, "leave").compile()
builder = StateGraph(Parent)
builder.add_node("child", child)
builder.add_node(translate)
builder.add_node("leaver", leaver)
builder.add_node("last", lambda s: {"log": ["last"]})
builder.add_edge(START, "child").add_edge("child", "translate").add_edge("translate", "leaver")
graph = builder.compile(checkpointer=InMemorySaver())


def plain(namespace):
    return [part.split(":")[0] for part in namespace]


config = {"configurable": {"thread_id": "1"}}
for namespace, chunk in graph.stream({"shared": "x"}, config, subgraphs=True):
    print(plain(namespace), {k: v for k, v in chunk.items() if k != "__interrupt__"})
state = graph.get_state(config, subgraphs=True)
print(state.next, state.tasks[0].state.values, state.tasks[0].state.next)
graph.update_state(state.tasks[0].state.config, {"private": "edited"})
for namespace, mode, chunk in graph.stream(
    Command(resume="yes"), config, subgraphs=True, stream_mode=["updates", "custom"]
):
    print(plain(namespace), mode, chunk)
print(graph.get_state(config).values)
print([name for name, _ in graph.get_subgraphs(recurse=True)])


class Counter(TypedDict):
    items: Annotated[list[str], operator.add]


def counting(checkpointer):
    inner = StateGraph(Counter).add_node("add", lambda s: {"items": ["x"]}).add_edge(START, "add")
    inner = inner.compile(checkpointer=checkpointer)
    outer = StateGraph(Counter).add_node("call", lambda s: {"items": inner.invoke({"items": []})["items"]})
    return outer.add_edge(START, "call").compile(checkpointer=InMemorySaver())


for checkpointer in (None, True, False):
    outer = counting(checkpointer)
    for _ in range(2):
        result = outer.invoke({"items": []}, {"configurable": {"thread_id": "1"}})
    print(checkpointer, result)
