"""Map with Send, reduce with a reducer, in parallel and in order; a deferred node; a conflict."""

import asyncio
import operator
from typing import Annotated

from langgraph.errors import InvalidUpdateError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite, Send
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    topic: str
    subjects: list[str]
    jokes: Annotated[list[str], operator.add]
    best: str


class Subject(TypedDict):
    subject: str


def subjects(state: State):
    return {"subjects": [f"{state['topic']} {n}" for n in range(4)]}


async def joke(state: Subject):
    await asyncio.sleep(0)
    return {"jokes": [f"a joke about {state['subject']}"]}


def best(state: State):
    return {"best": max(state["jokes"]), "jokes": Overwrite(sorted(state["jokes"], reverse=True))}


builder = StateGraph(State)
builder.add_node(subjects)
builder.add_node(joke)
builder.add_node(best, defer=True)
builder.add_edge(START, "subjects")
builder.add_conditional_edges(
    "subjects", lambda s: [Send("joke", {"subject": x}) for x in s["subjects"]], ["joke"]
)
builder.add_edge("joke", "best")
builder.add_edge("best", END)
graph = builder.compile()


async def main():
    print(await graph.ainvoke({"topic": "cats"}, {"max_concurrency": 2}))
    async for chunk in graph.astream({"topic": "dogs"}, stream_mode="values"):
        print(sorted(chunk))


asyncio.run(main())


class Narrow(TypedDict):
    value: int


narrow = StateGraph(Narrow).add_node("a", lambda s: {"value": 1}).add_node("b", lambda s: {"value": 2})
narrow.add_edge(START, "a").add_edge(START, "b")
try:
    narrow.compile().invoke({"value": 0})
except InvalidUpdateError as error:
    print(type(error).__name__, "value" in str(error))
