"""LangChain's human-in-the-loop middleware: approve, edit, reject, several calls at once, sync and async."""

import asyncio

from fake_model import Script, call, calls, show
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

question = {"messages": [HumanMessage("mail", id="h")]}


@tool
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"found {what}"


def agent():
    first = calls(
        call("send_mail", "1", to="bob"), call("look", "2", what="x"), call("send_mail", "3", to="eve")
    )
    people = HumanInTheLoopMiddleware(
        interrupt_on={"send_mail": {"allowed_decisions": ["approve", "edit", "reject"]}, "look": False},
        description_prefix="please look",
    )
    return create_agent(
        Script(answers=[first, "done"]), [send_mail, look], checkpointer=InMemorySaver(), middleware=[people]
    )


decisions = [
    [{"type": "approve"}, {"type": "approve"}],
    [{"type": "edit", "edited_action": {"name": "send_mail", "args": {"to": "ann"}}}, {"type": "approve"}],
    [{"type": "reject", "message": "no"}, {"type": "approve"}],
]
config = {"configurable": {"thread_id": "1"}}
for each in decisions:
    graph = agent()
    paused = graph.invoke(question, config)
    print(paused["__interrupt__"][0].value, graph.get_state(config).next)
    show(graph.invoke(Command(resume={"decisions": each}), config)["messages"])


async def main():
    graph = agent()
    async for mode, chunk in graph.astream(question, config, stream_mode=["updates", "messages"]):
        print(mode, sorted(chunk) if mode == "updates" else type(chunk[0]).__name__)
    async for chunk in graph.astream(
        Command(resume={"decisions": decisions[0]}), config, stream_mode="updates"
    ):
        print(sorted(chunk))
    print((await graph.aget_state(config)).next)


asyncio.run(main())
graph = agent()
graph.invoke(question, config)
try:
    graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
except ValueError as error:
    print(error)
