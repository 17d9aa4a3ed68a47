"""`langgraph-reflection`: a graph around two graphs, one that writes and one that judges."""

from fake_model import Script, show
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_reflection import create_reflection_graph

writer = Script(tag="w", answers=["a draft", "a better draft"])
critic = Script(tag="c", answers=["too short"])


def write(state: MessagesState):
    return {"messages": [writer.invoke(state["messages"])]}


def judge(state: MessagesState):
    if len(writer.shown) < 2:
        return {"messages": [HumanMessage(critic.invoke(state["messages"]).content, id="j")]}
    return {}


inner = StateGraph(MessagesState).add_node(write).add_edge(START, "write").compile()
outer = StateGraph(MessagesState).add_node(judge).add_edge(START, "judge").compile()
graph = create_reflection_graph(inner, outer, state_schema=MessagesState).compile()
show(graph.invoke({"messages": [HumanMessage("write", id="h")]})["messages"])
