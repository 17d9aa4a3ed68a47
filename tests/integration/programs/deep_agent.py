"""`deepagents`: files, agents below agents, a person in the loop, a store behind the files."""

import asyncio

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend, StoreBackend
from fake_model import Script, call, calls, show
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

question = {"messages": [HumanMessage("go", id="h")]}
config = {"configurable": {"thread_id": "1"}}


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"found {what}"


def files(result):
    return {name: file["content"] for name, file in sorted(result.get("files", {}).items())}


print("# files")
answers = [
    calls(call("write_file", "f1", file_path="/a.txt", content="one\ntwo"), call("look", "l1", what="cats")),
    calls(call("edit_file", "f2", file_path="/a.txt", old_string="two", new_string="three")),
    calls(
        call("read_file", "f3", file_path="/a.txt"),
        call("ls", "f4", path="/"),
        call("grep", "f5", pattern="one"),
    ),
    "done",
]
agent = create_deep_agent(
    Script(answers=answers), [look], system_prompt="be deep", checkpointer=InMemorySaver()
)
result = agent.invoke(question, config)
show(result["messages"])
print(files(result))
print(len(list(agent.get_state_history(config))), agent.get_state(config).next)
result = agent.invoke({"messages": [HumanMessage("more", id="h2")]}, config)
print(files(result), [message.content for message in result["messages"]][-2:])
print(files(agent.get_state(config).values))

print("# agents below")
researcher = {
    "name": "researcher",
    "description": "finds things",
    "system_prompt": "find",
    "tools": [look],
    "model": Script(
        tag="r",
        answers=[
            calls(
                call("look", "l1", what="dogs"),
                call("write_file", "w1", file_path="/dogs.txt", content="dogs"),
            ),
            "dogs found",
        ],
    ),
}
answers = [calls(call("task", "k1", description="find dogs", subagent_type="researcher")), "all found"]
agent = create_deep_agent(Script(answers=answers), subagents=[researcher])


async def stream():
    async for namespace, chunk in agent.astream(question, stream_mode="updates", subgraphs=True):
        print([part.split(":")[0] for part in namespace], sorted(chunk))


asyncio.run(stream())
researcher["model"].shown.clear()
agent = create_deep_agent(Script(answers=answers), subagents=[researcher])
result = agent.invoke(question)
print(files(result), [message.content for message in result["messages"]])

print("# a person")
answers = [
    calls(call("look", "l1", what="x"), call("write_file", "w1", file_path="/b.txt", content="b")),
    "end",
]
agent = create_deep_agent(
    Script(answers=answers),
    [look],
    interrupt_on={"look": True, "write_file": True},
    checkpointer=InMemorySaver(),
)
paused = agent.invoke(question, config)
print([request["name"] for request in paused["__interrupt__"][0].value["action_requests"]])
decisions = [{"type": "approve"}, {"type": "reject", "message": "no"}]
result = agent.invoke(Command(resume={"decisions": decisions}), config)
show(result["messages"])
print(files(result))

print("# a store behind the files")
store = InMemoryStore()
backend = CompositeBackend(
    default=StateBackend(), routes={"/memories/": StoreBackend(namespace=lambda _: ("files",))}
)
answers = [
    calls(
        call("write_file", "w1", file_path="/memories/m.txt", content="kept"),
        call("write_file", "w2", file_path="/s.txt", content="state"),
    ),
    calls(call("ls", "l1", path="/memories/"), call("read_file", "r1", file_path="/memories/m.txt")),
    "end",
]
agent = create_deep_agent(Script(answers=answers), backend=backend, store=store)
result = asyncio.run(agent.ainvoke(question))
show(result["messages"])
print(files(result), [(item.namespace, item.key, item.value["content"]) for item in store.search(())])
