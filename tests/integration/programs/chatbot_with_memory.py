"""A chatbot that remembers a conversation by its thread, sync and async, and trims what it sends."""

import asyncio

from fake_model import Script, show
from langchain_core.messages import HumanMessage, RemoveMessage, SystemMessage, trim_messages
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

model = Script(answers=["hello Ann", "your name is Ann", "bye"])
trimmer = trim_messages(
    max_tokens=3, strategy="last", token_counter=len, start_on="human", include_system=True
)


def chatbot(state: MessagesState):
    messages = trimmer.invoke([SystemMessage("be kind"), *state["messages"]])
    return {"messages": [model.invoke(messages)]}


def forget(state: MessagesState):
    return {"messages": [RemoveMessage(id=m.id) for m in state["messages"][:-4]]}


builder = StateGraph(MessagesState)
builder.add_node("chatbot", chatbot)
builder.add_node(forget)
builder.add_edge(START, "chatbot")
builder.add_conditional_edges(
    "chatbot", lambda s: "forget" if len(s["messages"]) > 4 else END, ["forget", END]
)
builder.add_edge("forget", END)
graph = builder.compile(checkpointer=MemorySaver())

config = {"configurable": {"thread_id": "ann"}}
show(graph.invoke({"messages": [HumanMessage("hi, I am Ann", id="1")]}, config)["messages"])
show(graph.invoke({"messages": [{"role": "user", "content": "my name?", "id": "2"}]}, config)["messages"])
show(asyncio.run(graph.ainvoke({"messages": [("user", "bye")]}, config))["messages"])
print([len(messages) for messages in model.shown])
print(graph.get_state(config).next, graph.get_state(config).metadata["step"])
print(graph.get_state({"configurable": {"thread_id": "other"}}).values)
print([(s.metadata["source"], s.metadata["step"], s.next) for s in graph.get_state_history(config)])
