"""Two agents that talk to each other: goto by Command, tools that update the state, a conversation that ends."""

import operator
from typing import Annotated, Literal

from fake_model import Script, call, calls, show
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, create_react_agent, tools_condition
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command


class State(MessagesState):
    rounds: Annotated[int, operator.add]


writer = Script(tag="w", answers=["a draft", "a better draft"])
critic = Script(tag="c", answers=["too short", "good"])


def write(state: State) -> Command[Literal["judge"]]:
    return Command(goto="judge", update={"messages": [writer.invoke(state["messages"])], "rounds": 1})


def judge(state: State) -> Command[Literal["write", "__end__"]]:
    verdict = critic.invoke(state["messages"])
    return Command(goto=END if verdict.content == "good" else "write", update={"messages": [verdict]})


graph = StateGraph(State).add_node(write).add_node(judge).add_edge(START, "write").compile()
result = graph.invoke({"messages": [HumanMessage("write", id="h")]})
show(result["messages"])
print(result["rounds"])


class Shop(MessagesState):
    basket: Annotated[list[str], operator.add]


@tool
def buy(item: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Put something into the basket."""
    return Command(
        update={"basket": [item], "messages": [ToolMessage(f"bought {item}", tool_call_id=tool_call_id)]}
    )


@tool
def count(state: Annotated[dict, InjectedState], store: Annotated[object, InjectedStore()]) -> str:
    """Count what is in the basket."""
    store.put(("count",), "last", {"n": len(state["basket"])})
    return f"{len(state['basket'])} things"


@tool
def broken(x: int) -> int:
    """Fails."""
    raise ValueError("broken")


def shop(handle):
    model = Script(
        answers=[
            calls(call("buy", "1", item="milk"), call("buy", "2", item="tea")),
            calls(call("count", "3"), call("broken", "4", x=1), call("nothing", "5")),
            "done",
        ]
    )
    builder = StateGraph(Shop).add_node("agent", lambda s: {"messages": [model.invoke(s["messages"])]})
    builder.add_node("tools", ToolNode([buy, count, broken], handle_tool_errors=handle))
    builder.add_edge(START, "agent").add_conditional_edges("agent", tools_condition).add_edge(
        "tools", "agent"
    )
    return builder.compile(store=InMemoryStore())


result = shop(True).invoke({"messages": [HumanMessage("shop", id="h")], "basket": []})
show(result["messages"])
print(result["basket"])
try:
    shop(False).invoke({"messages": [HumanMessage("shop", id="h")], "basket": []})
except ValueError as error:
    print(error)

model = Script(answers=[calls(call("broken", "1", x=2)), "sorry"])
agent = create_react_agent(
    model, ToolNode([broken], handle_tool_errors="it broke"), prompt="help", checkpointer=InMemorySaver()
)
show(agent.invoke({"messages": [("user", "try")]}, {"configurable": {"thread_id": "1"}})["messages"])
