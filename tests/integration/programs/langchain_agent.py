"""`langchain.agents.create_agent` with tools: sync, async, streams, events, threads, context."""

import asyncio
from dataclasses import dataclass

from fake_model import Script, call, calls, show
from langchain.agents import AgentState, create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(return_direct=True)
def final(text: str) -> str:
    """Say the last word."""
    return f"final {text}"


@dataclass
class Context:
    user: str


class State(AgentState):
    basket: list[str]


@tool
def put(item: str, runtime: ToolRuntime[Context, State]) -> Command:
    """Put something into the basket."""
    runtime.stream_writer(f"putting {item}")
    runtime.store.put(("items",), item, {"by": runtime.context.user})
    answer = ToolMessage(f"{runtime.context.user} put {item}", tool_call_id=runtime.tool_call_id)
    return Command(update={"basket": [*runtime.state.get("basket", []), item], "messages": [answer]})


question = {"messages": [HumanMessage("hi", id="h")]}
answers = [calls(call("add", "1", a=1, b=2), call("add", "2", a=3, b=4)), "3 and 7"]
agent = create_agent(Script(answers=answers), [add], system_prompt="calculate", name="calculator")
show(agent.invoke(question)["messages"])
agent = create_agent(Script(answers=answers), [add])
show(asyncio.run(agent.ainvoke(question))["messages"])
print(agent.get_graph().draw_mermaid())

answers = [calls(call("add", "1", a=1, b=2)), "three"]  # the order of events of parallel calls is free
agent = create_agent(Script(answers=answers), [add])
for chunk in agent.stream(question, stream_mode="updates"):
    print({node: [type(m).__name__ for m in update["messages"]] for node, update in chunk.items()})
agent = create_agent(Script(answers=answers), [add])
for message, metadata in agent.stream(question, stream_mode="messages"):
    print(type(message).__name__, message.content, metadata["langgraph_node"])
agent = create_agent(Script(answers=answers), [add])
run = agent.stream_events(question, version="v3")
for message in run.messages:
    print(message.node, repr(str(message.text)))
print(sorted(run.output))
agent = create_agent(Script(answers=answers), [add])


async def events():
    async for event in agent.astream_events(question, version="v2"):
        print(event["event"], event["name"])


asyncio.run(events())

agent = create_agent(Script(answers=[calls(call("final", "1", text="x")), "never"]), [final, add])
show(agent.invoke(question)["messages"])

model = Script(
    answers=[calls(call("put", "1", item="milk")), "done", calls(call("put", "2", item="tea")), "done"]
)
store = InMemoryStore()
agent = create_agent(
    model, [put], state_schema=State, context_schema=Context, checkpointer=InMemorySaver(), store=store
)
config = {"configurable": {"thread_id": "1"}}
for user in ("ann", "bob"):
    for mode, chunk in agent.stream(
        question, config, context=Context(user), stream_mode=["custom", "values"]
    ):
        print(mode, chunk if mode == "custom" else (len(chunk["messages"]), chunk.get("basket")))
print(agent.get_state(config).values["basket"], [item.value for item in store.search(("items",))])
