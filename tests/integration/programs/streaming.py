"""What a run tells while it runs: every mode, several at once, subgraphs, tokens, events."""

import asyncio

from fake_model import Script
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph

quick = Script(answers=["whole"])


def tokens(state: MessagesState):
    model = GenericFakeChatModel(messages=iter([AIMessage("one two three", id="t")]))
    return {"messages": [model.invoke(state["messages"])]}


async def whole(state: MessagesState):
    get_stream_writer()({"progress": 50})
    return {"messages": [await quick.ainvoke(state["messages"])]}


inner = StateGraph(MessagesState).add_node(whole).add_edge(START, "whole").compile()
graph = StateGraph(MessagesState).add_node(tokens).add_node("inner", inner)
graph = graph.add_edge(START, "tokens").add_edge("tokens", "inner").compile(checkpointer=InMemorySaver())
question = {"messages": [HumanMessage("hi", id="q")]}


def told(mode, chunk):
    if mode == "messages":
        message, metadata = chunk
        return type(message).__name__, message.content, metadata["langgraph_node"], metadata["langgraph_step"]
    if mode == "tasks":
        return chunk["name"], sorted(chunk)
    if mode == "checkpoints":
        return chunk["metadata"]["step"], chunk["next"], sorted(chunk)
    if mode == "debug":
        return chunk["type"], chunk["step"]
    if mode == "values":
        return [message.content for message in chunk["messages"]]
    return chunk if mode == "custom" else sorted(chunk)


async def main():
    for mode in ("values", "updates", "messages", "custom", "tasks", "checkpoints", "debug"):
        print("#", mode)
        config = {"configurable": {"thread_id": mode}}
        async for namespace, chunk in graph.astream(question, config, stream_mode=mode, subgraphs=True):
            print([part.split(":")[0] for part in namespace], told(mode, chunk))
    print("# together")
    config = {"configurable": {"thread_id": "together"}}
    async for mode, chunk in graph.astream(question, config, stream_mode=["updates", "messages", "custom"]):
        print(mode, told(mode, chunk))
    print("# events")
    config = {"configurable": {"thread_id": "events"}}
    async for event in graph.astream_events(question, config, version="v2"):
        if event["event"] in ("on_chat_model_stream", "on_chain_start", "on_chat_model_end"):
            print(event["event"], event["name"], event["metadata"].get("langgraph_node"))


asyncio.run(main())
