"""Graphs that the tests of the command line run. A module of its own, as a person's program would be."""

from __future__ import annotations

import operator
import os
import time
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.config import get_stream_writer
from stepgraph.graph import END, START, StateGraph
from stepgraph.runtime import Runtime
from stepgraph.types import interrupt


class Log(TypedDict, total=False):
    name: str
    log: Annotated[list[str], operator.add]


def _chain(*nodes: Any) -> StateGraph[Any, Any, Any, Any]:
    builder = StateGraph(Log)
    builder.add_sequence(nodes)
    builder.add_edge(START, nodes[0].__name__)
    builder.add_edge(nodes[-1].__name__, END)
    return builder


def first(state: Log) -> Log:
    return {"log": ["first"]}


def second(state: Log) -> Log:
    return {"log": ["second"]}


chain = _chain(first, second)
compiled = chain.compile()
in_memory = chain.compile(checkpointer=InMemorySaver())


def factory() -> Any:
    return chain


async def async_factory(config: dict[str, Any]) -> Any:
    return _chain(first, second).compile(name=f"made with {sorted(config)}")


def needs_much(one: Any, other: Any) -> None:
    """A function that cannot be called from the command line."""


def returns_text() -> str:
    return "no graph"


def raises() -> None:
    raise ValueError("no key in the environment")


number = 7


def ask_name(state: Log) -> Log:
    return {"log": [f"name {interrupt('your name?')!r}"]}


def ask_age(state: Log) -> Log:
    return {"log": [f"age {interrupt({'question': 'your age?'})!r}"]}


two_questions = StateGraph(Log)
two_questions.add_node(ask_name)
two_questions.add_node(ask_age)
two_questions.add_edge(START, "ask_name")
two_questions.add_edge(START, "ask_age")
one_question = _chain(ask_name, second)


def fails(state: Log) -> Log:
    if "mended" in os.environ.get("FLOWS", ""):
        return {"log": ["mended"]}
    raise ValueError("the service said no")


failing = _chain(first, fails)


def waits(state: Log) -> Log:
    """Says that it is there, and waits for a file to appear before it goes on."""
    started, released = os.environ["FLOWS_STARTED"], os.environ["FLOWS_RELEASED"]
    with open(started, "a", encoding="utf-8") as file:
        file.write("x")
    while not os.path.exists(released):
        time.sleep(0.01)
    return {"log": ["waited"]}


slow = _chain(first, waits, second)


def talks(state: Log) -> Log:
    print("printed by a node")
    get_stream_writer()({"progress": 50})
    return {"log": ["talked"]}


talking = _chain(talks)


@dataclass
class Settings:
    language: str = "en"


def greets(state: Log, runtime: Runtime[Settings]) -> Log:
    return {"log": [f"hello in {runtime.context.language}"]}


with_context = StateGraph(Log, context_schema=Settings)
with_context.add_node(greets)
with_context.add_edge(START, "greets")


def again(state: Log) -> Log:
    return {"log": ["again"]}


endless = StateGraph(Log)
endless.add_node(again)
endless.add_edge(START, "again")
endless.add_edge("again", "again")
