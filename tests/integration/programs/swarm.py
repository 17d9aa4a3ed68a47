"""`langgraph-swarm`: agents that hand over to each other, and whose turn it is lasts over runs."""

import asyncio

from fake_model import Script, call, calls, show
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph_swarm import SwarmState, add_active_agent_router, create_handoff_tool, create_swarm


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agents(make):
    to_bob = create_handoff_tool(agent_name="Bob", description="ask Bob", name="transfer_to_bob")
    to_alice = create_handoff_tool(agent_name="Alice", name="transfer_to_alice")
    alice = Script(tag="a", answers=[calls(call("transfer_to_bob", "b1")), "alice here"])
    bob = Script(tag="b", answers=["arr", calls(call("transfer_to_alice", "a1")), "bob"])
    return [make(alice, [add, to_bob], name="Alice"), make(bob, [to_alice], name="Bob")]


config = {"configurable": {"thread_id": "1"}}
for make in (create_agent, create_react_agent):
    print("#", make.__name__)
    app = create_swarm(agents(make), default_active_agent="Alice").compile(checkpointer=InMemorySaver())
    for number, text in enumerate(("hi", "again")):
        result = app.invoke({"messages": [HumanMessage(text, id=f"h{number}")]}, config)
        show(result["messages"])
        print(result["active_agent"])
    for state in app.get_state_history(config):
        print(state.metadata["source"], state.metadata["step"], state.next, state.values.get("active_agent"))
print(app.get_graph().draw_mermaid())


async def stream():
    app = create_swarm(agents(create_agent), default_active_agent="Alice").compile()
    question = {"messages": [HumanMessage("hi", id="h")]}
    async for namespace, mode, chunk in app.astream(
        question, stream_mode=["updates", "values"], subgraphs=True
    ):
        print([part.split(":")[0] for part in namespace], mode, sorted(chunk))


asyncio.run(stream())


class State(SwarmState):
    extra: str


builder = StateGraph(State)
for agent in agents(create_agent):
    builder.add_node(agent.name, agent, destinations=("Alice", "Bob"))
add_active_agent_router(builder, route_to=["Alice", "Bob"], default_active_agent="Bob")
print(sorted(builder.compile().invoke({"messages": [HumanMessage("hi", id="h")], "extra": "x"})))
print(START in builder.branches)
