"""One thread through a saver of somebody else: pauses on two levels, Sends, history, forks, edits, deletion."""

import operator
from typing import Annotated

from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]
    number: int


class Inner(TypedDict, total=False):
    log: Annotated[list, operator.add]
    secret: int


def one(state: Inner):
    return {"log": ["one"], "secret": 5}


def two(state: Inner):
    return {"log": [f"two {interrupt('inside?')} {state['secret']}"]}


inner = StateGraph(Inner).add_node(one).add_node(two).add_edge(START, "one").add_edge("one", "two").compile()


def begin(state: State):
    return {"log": ["begin"], "number": 1}


def ask(state: State):
    return {"log": [interrupt("outside?")]}


def work(state):
    return {"log": [f"work {state['part']}"]}


builder = StateGraph(State).add_node(begin).add_node(ask).add_node(work).add_node("inner", inner)
builder.add_edge(START, "begin").add_edge("begin", "ask").add_edge("work", "inner")
builder.add_conditional_edges(
    "ask", lambda state: [Send("work", {"part": part}) for part in range(3)], ["work"]
)


def questions(result):
    return [pause.value for pause in result["__interrupt__"]]


def drive(saver, deletes=True):
    app = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "sync"}}
    print(questions(app.invoke({"number": 0}, config)), app.get_state(config).next)
    print(questions(app.invoke(Command(resume="yes"), config)))
    state = app.get_state(config, subgraphs=True)
    print(state.next, state.tasks[0].state.next, state.tasks[0].state.values)
    print(app.invoke(Command(resume="deep"), config)["log"])
    history = list(app.get_state_history(config))
    print([(state.metadata["source"], state.metadata["step"], state.next) for state in history])
    print(len(list(app.get_state_history(config, limit=2))))
    old = next(state for state in history if state.next == ("ask",))
    print(questions(app.invoke(Command(resume="other"), old.config)))
    app.update_state(config, {"log": ["edited"]}, as_node="begin")
    print(app.get_state(config).values["log"][-1], app.get_state(config).next)
    print(len(list(saver.list(config))) > 5, saver.get_tuple(config).metadata["source"])
    if deletes:
        saver.delete_thread("sync")
        print(app.get_state(config).values)


async def adrive(saver):
    app = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "async"}}
    print(questions(await app.ainvoke({"number": 0}, config)))
    print(questions(await app.ainvoke(Command(resume="yes"), config)))
    print((await app.ainvoke(Command(resume="deep"), config))["log"])
    print(len([state async for state in app.aget_state_history(config)]))
