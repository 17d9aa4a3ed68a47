"""`ag-ui-langgraph`: a graph as an agent of the AG-UI protocol: text, tool calls, state, a pause and its answer."""

import asyncio

from ag_ui.core import RunAgentInput, UserMessage
from ag_ui_langgraph import LangGraphAgent
from fake_model import Script, call, calls
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


class State(MessagesState):
    mood: str


async def answer(state: State):
    model = GenericFakeChatModel(messages=iter([AIMessage("one two", id="t1")]))
    return {"messages": [await model.ainvoke(state["messages"])], "mood": "good"}


def ask(state: State):
    return {"mood": interrupt("which mood?")}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def run(graph, thread, text, **forwarded):
    agent = LangGraphAgent(name="test", graph=graph)
    request = RunAgentInput(
        thread_id=thread,
        run_id="r1",
        state={},
        messages=[UserMessage(id="u1", role="user", content=text)] if text else [],
        tools=[],
        context=[],
        forwarded_props=forwarded,
    )
    async for event in agent.run(request):
        kind = str(event.type.value)
        if kind != "RAW":
            parts = (
                getattr(event, name, None)
                for name in ("step_name", "delta", "name", "tool_call_name", "value")
            )
            print(kind, [part for part in parts if part is not None])


graph = StateGraph(State).add_node(answer).add_node(ask).add_edge(START, "answer").add_edge("answer", "ask")
graph = graph.compile(checkpointer=InMemorySaver())
asyncio.run(run(graph, "1", "hi"))
print("# resumed")
asyncio.run(run(graph, "1", None, command={"resume": "great"}))
print(graph.get_state({"configurable": {"thread_id": "1"}}).values["mood"])
print("# agent")
agent = create_agent(
    Script(answers=[calls(call("add", "1", a=1, b=2)), "three"]), [add], checkpointer=InMemorySaver()
)
asyncio.run(run(agent, "2", "add"))
